// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/sandbox/nodes/podlog.h"
#include "k8s/sandbox/nodes/podstatus.h"
#include "k8s/sandbox/store/object.h"
#include "tests/support/tap.h"

static cJSON *parse(const char *text)
{
    err e = {0};
    cJSON *j = json_parse(text, strlen(text), &e);
    if (!j)
        tap_fail(__FILE__, __LINE__, "%s", e.text);
    return j;
}

static cJSON *new_pod(const char *policy)
{
    AUTO_FREE char *text = str_fmt("{\"spec\": {\"restartPolicy\": \"%s\"}}", policy);
    return parse(text);
}

static const struct container_state creating = {.name = "a", .reason = "ContainerCreating"},
                                    running = {.name = "b",
                                        .phase = CONTAINER_RUNNING,
                                        .ready = true,
                                        .started = CLOCK_SEC},
                                    completed = {.name = "c",
                                        .phase = CONTAINER_TERMINATED,
                                        .end = {.reason = "Completed"}},
                                    failed = {.name = "d",
                                        .phase = CONTAINER_TERMINATED,
                                        .end = {.exit_code = 3, .reason = "Error"}},
                                    looping = {.name = "e",
                                        .reason = "CrashLoopBackOff",
                                        .has_last = true,
                                        .last = {.exit_code = 1, .reason = "Error"}};

static const char *phase(const char *policy, const struct container_state *init, size_t init_n,
    struct container_state a, struct container_state b)
{
    AUTO_JSON *pod = new_pod(policy);
    struct container_state both[] = {a, b};
    struct pod_states s = {init, both, init_n, 2};
    return podstatus_phase(pod, &s);
}

TEST(phase_follows_the_containers)
{
    CHECK_STR(phase("Never", NULL, 0, creating, running), "Pending");
    CHECK_STR(phase("Never", NULL, 0, running, running), "Running");
    CHECK_STR(phase("Never", NULL, 0, running, failed), "Running");
    CHECK_STR(phase("Never", NULL, 0, completed, completed), "Succeeded");
    CHECK_STR(phase("Never", NULL, 0, completed, failed), "Failed");
    CHECK_STR(phase("OnFailure", NULL, 0, completed, failed), "Running");
    CHECK_STR(phase("Always", NULL, 0, completed, completed), "Running");
    CHECK_STR(phase("Always", NULL, 0, looping, running), "Running");
}

TEST(phase_waits_for_init_containers)
{
    CHECK_STR(phase("Never", &running, 1, creating, creating), "Pending");
    CHECK_STR(phase("Never", &failed, 1, creating, creating), "Failed");
    CHECK_STR(phase("Always", &failed, 1, creating, creating), "Pending");
    CHECK_STR(phase("Always", &completed, 1, running, running), "Running");
}

static cJSON *build(const char *policy, struct container_state main, int64_t now)
{
    AUTO_JSON *pod = new_pod(policy);
    struct pod_states s = {NULL, &main, 0, 1};
    return podstatus_build(pod, &s, NULL, NULL, CLOCK_SEC, now);
}

TEST(status_of_a_failed_container)
{
    AUTO_JSON *status = build("Never", failed, 9 * CLOCK_SEC);
    CHECK_STR(json_str(status, "phase"), "Failed");
    CHECK_INT(
        json_int_or(json_path(status, "containerStatuses[0].state.terminated"), "exitCode", 0), 3);
    CHECK_STR(json_path_str(status, "containerStatuses[0].state.terminated.reason"), "Error");
    CHECK_STR(json_str(status, "podIP"), "127.0.0.1");
    AUTO_JSON *whole = cJSON_CreateObject();
    json_set(whole, "status", cJSON_Duplicate(status, true));
    CHECK_STR(json_str(object_condition(whole, "Ready"), "reason"), "PodFailed");
    CHECK_STR(json_str(object_condition(whole, "Initialized"), "status"), "True");
}

TEST(status_of_a_waiting_container_names_it)
{
    AUTO_JSON *whole = cJSON_CreateObject();
    json_set(whole, "status", build("Never", creating, CLOCK_SEC));
    const cJSON *ready = object_condition(whole, "ContainersReady");
    CHECK_STR(json_str(ready, "reason"), "ContainersNotReady");
    CHECK_STR(json_str(ready, "message"), "containers with unready status: [a]");
    CHECK_STR(json_path_str(whole, "status.containerStatuses[0].state.waiting.reason"),
        "ContainerCreating");
}

TEST(status_keeps_transition_times)
{
    AUTO_JSON *pod = new_pod("Always");
    struct pod_states s = {NULL, &running, 0, 1};
    json_set(pod, "status", podstatus_build(pod, &s, NULL, NULL, CLOCK_SEC, 10 * CLOCK_SEC));
    json_set(pod, "status", podstatus_build(pod, &s, NULL, NULL, CLOCK_SEC, 20 * CLOCK_SEC));
    CHECK_STR(
        json_str(object_condition(pod, "Ready"), "lastTransitionTime"), "1970-01-01T00:00:10Z");
    s.main = &looping;
    json_set(pod, "status", podstatus_build(pod, &s, NULL, NULL, CLOCK_SEC, 30 * CLOCK_SEC));
    CHECK_STR(
        json_str(object_condition(pod, "Ready"), "lastTransitionTime"), "1970-01-01T00:00:30Z");
    CHECK_INT(json_int_or(json_path(pod, "status.containerStatuses[0].lastState.terminated"),
                  "exitCode", 0),
        1);
}

static char *read_log(const char *path)
{
    AUTO_BUF text = {0};
    path_read(path, &text, 0, NULL);
    return mem_strdup(buf_cstr(&text));
}

TEST(log_lines_are_stamped_and_parts_marked)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "main.1");
    podlog *log = podlog_open(path, 0, &e);
    CHECK_OK(log != NULL, e);
    podlog_write(log, 1, "one\ntw", 6, CLOCK_SEC);
    podlog_write(log, 2, "oops\n", 5, CLOCK_SEC); // the same time: stamps still grow
    podlog_write(log, 1, "o\nrest", 6, CLOCK_SEC * 2);
    podlog_close(log, CLOCK_SEC * 3);
    AUTO_FREE char *text = read_log(path);
    CHECK_STR(text, "1970-01-01T00:00:01.000000000Z stdout F one\n"
                    "1970-01-01T00:00:01.000000001Z stderr F oops\n"
                    "1970-01-01T00:00:02.000000000Z stdout F two\n"
                    "1970-01-01T00:00:03.000000000Z stdout P rest\n");
}

TEST(log_is_bounded)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "main.1"), *old = str_fmt("%s.1", path);
    podlog *log = podlog_open(path, 200, &e);
    CHECK_OK(log != NULL, e);
    for (int i = 0; i < 100; i++)
        podlog_write(log, 1, "0123456789\n", 11, i * CLOCK_SEC);
    podlog_close(log, 100 * CLOCK_SEC);
    AUTO_FREE char *now = read_log(path), *before = read_log(old);
    CHECK(strlen(now) <= 200 && strlen(before) <= 200);
    CHECK_HAS(now, "T00:01:39");
    CHECK_HAS(before, "stdout F 0123456789");
}

int main(void)
{
    return tap_run();
}
