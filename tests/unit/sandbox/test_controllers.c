// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/nodes/jobindex.h"
#include "k8s/sandbox/nodes/jobplan.h"
#include "k8s/sandbox/spark/sparkpod.h"
#include "k8s/sandbox/spark/sparkstate.h"
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

static struct job_plan decide(const char *job, struct job_counts counts, int64_t seconds)
{
    AUTO_JSON *j = parse(job);
    return job_decide(j, &counts, seconds * CLOCK_SEC);
}

TEST(job_makes_as_many_pods_as_it_may)
{
    const char *job = "{\"spec\": {\"completions\": 5, \"parallelism\": 2}}";
    CHECK_INT(decide(job, (struct job_counts){0}, 1).create, 2);
    CHECK_INT(decide(job, (struct job_counts){.active = 1, .succeeded = 1}, 1).create, 1);
    CHECK_INT(decide(job, (struct job_counts){.active = 1, .succeeded = 4}, 1).create, 0);
    CHECK_STR(decide(job, (struct job_counts){.succeeded = 5}, 1).finish, "Complete");
    CHECK_INT(decide(job, (struct job_counts){.active = 3}, 1).remove, 1);
}

TEST(job_waits_longer_after_each_failure_then_gives_up)
{
    const char *job = "{\"spec\": {\"completions\": 1, \"backoffLimit\": 2}}";
    struct job_counts c = {.failed = 1, .last_failure = 100 * CLOCK_SEC};
    CHECK_INT(decide(job, c, 101).create, 0);
    CHECK_INT(decide(job, c, 101).look_at, 110 * CLOCK_SEC);
    CHECK_INT(decide(job, c, 110).create, 1);
    c.failed = 2;
    CHECK_INT(decide(job, c, 110).look_at, 120 * CLOCK_SEC);
    c.failed = 3;
    CHECK_STR(decide(job, c, 110).reason, "BackoffLimitExceeded");
}

TEST(job_counts_restarts_in_place)
{
    const char *job = "{\"spec\": {\"completions\": 1, \"backoffLimit\": 2, \"template\": "
                      "{\"spec\": {\"restartPolicy\": \"OnFailure\"}}}}";
    CHECK(!decide(job, (struct job_counts){.active = 1, .restarts = 1}, 1).finish);
    CHECK_STR(decide(job, (struct job_counts){.active = 1, .restarts = 2}, 1).finish, "Failed");
}

TEST(job_ends_at_its_deadline_and_rests_when_suspended)
{
    const char *job = "{\"spec\": {\"completions\": 1, \"activeDeadlineSeconds\": 5},"
                      " \"status\": {\"startTime\": \"1970-01-01T00:00:10Z\"}}";
    CHECK_INT(decide(job, (struct job_counts){.active = 1}, 12).look_at, 15 * CLOCK_SEC);
    CHECK_STR(decide(job, (struct job_counts){.active = 1}, 15).reason, "DeadlineExceeded");
    struct job_plan plan = decide(
        "{\"spec\": {\"completions\": 3, \"suspend\": true}}", (struct job_counts){.active = 2}, 1);
    CHECK(plan.suspend);
    CHECK_INT(plan.remove, 2);
    CHECK_INT(plan.create, 0);
}

TEST(job_of_a_work_queue_adds_nothing_after_a_success)
{
    const char *job = "{\"spec\": {\"parallelism\": 3}}";
    CHECK_INT(decide(job, (struct job_counts){0}, 1).create, 3);
    CHECK_INT(decide(job, (struct job_counts){.active = 1, .succeeded = 1}, 1).create, 0);
    CHECK_STR(decide(job, (struct job_counts){.succeeded = 3}, 1).finish, "Complete");
}

TEST(an_indexed_job_knows_which_indexes_are_done)
{
    AUTO_JSON *job =
        parse("{\"metadata\": {\"name\": \"j\"}, \"spec\": {\"completions\": 9}, "
              "\"status\": {\"completedIndexes\": \"-9223372036854775807-0,2-3,7,99-\"}}");
    AUTO_JSON *active = parse("{\"metadata\": {\"annotations\": "
                              "{\"batch.kubernetes.io/job-completion-index\": \"1\"}}}");
    AUTO_JSON *failed = parse("{\"metadata\": {\"annotations\": "
                              "{\"batch.kubernetes.io/job-completion-index\": \"4\"}}, "
                              "\"status\": {\"phase\": \"Failed\"}}");
    struct jobindex x;
    jobindex_init(&x, job);
    jobindex_add(&x, active);
    jobindex_add(&x, failed);
    CHECK_INT(jobindex_succeeded(&x), 4);
    CHECK_INT(jobindex_take(&x), 4);
    CHECK_INT(jobindex_take(&x), 5);
    json_set_str(json_object_at(active, "status"), "phase", "Succeeded");
    jobindex_add(&x, active);
    AUTO_BUF text = {0};
    jobindex_text(&x, &text);
    CHECK_STR(buf_cstr(&text), "0-3,7");
    jobindex_done(&x);
}

#define APP(more)                                                                                  \
    "{\"metadata\": {\"name\": \"mnist\", \"namespace\": \"default\", \"uid\": \"u\"}, \"spec\": " \
    "{\"type\": \"Python\", \"image\": \"firesteel/mnist\", \"mainApplicationFile\": "             \
    "\"local:///opt/firesteel/spark.py\", \"arguments\": [\"trainer.lua\", \"--epochs=1\"], "      \
    "\"driver\": {\"memory\": \"1g\", \"serviceAccount\": \"spark\"}, \"executor\": "              \
    "{\"instances\": 2, \"cores\": 3, \"memory\": \"512m\"}" more "}"

static const struct spark_launch launch = {.submission_id = "s",
    .app_selector = "spark-ab",
    .name_hash = "00ff00ff00ff00ff",
    .secret = "mnist-launch",
    .port = 7000,
    .worker = "/opt/firesteel/firesteel-worker",
    .spark_submit = "/opt/spark/bin/spark-submit"};

static const char *env_of(const cJSON *pod, const char *name)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_path(pod, "spec.containers[0].env"))
    {
        if (str_eq(json_str(entry, "name"), name))
            return json_str_or(entry, "value", "(by reference)");
    }
    return NULL;
}

TEST(spark_driver_pod)
{
    err e = {0};
    AUTO_JSON *app = parse(APP("}"));
    AUTO_JSON *pod = spark_driver_pod(app, &launch, &e);
    CHECK_OK(pod != NULL, e);
    CHECK_STR(object_name(pod), "mnist-driver");
    CHECK_STR(object_controller_uid(pod), "u");
    CHECK_STR(object_label(pod, "spark-role"), "driver");
    CHECK_STR(object_label(pod, "sparkoperator.k8s.io/app-name"), "mnist");
    CHECK_STR(object_annotation(pod, SPARK_MODE), "processes");
    CHECK_STR(json_path_str(pod, "spec.containers[0].name"), "spark-kubernetes-driver");
    CHECK_STR(json_path_str(pod, "spec.containers[0].args[1]"), "--epochs=1");
    CHECK_STR(json_path_str(pod, "spec.serviceAccountName"), "spark");
    CHECK_STR(env_of(pod, "FIRESTEEL_EXECUTORS"), "2");
    CHECK_STR(env_of(pod, "FIRESTEEL_EXECUTOR_CORES"), "3");
    CHECK_STR(env_of(pod, "FIRESTEEL_SECRET"), "(by reference)");
    // 1 GiB and 40 % of it: 1024 + 409
    CHECK_STR(json_path_str(pod, "spec.containers[0].resources.limits.memory"), "1433Mi");
}

TEST(spark_executor_pod)
{
    err e = {0};
    AUTO_JSON *app = parse(APP(", \"gpu\": {\"name\": \"nvidia.com/gpu\", \"quantity\": 0}}"));
    AUTO_JSON *driver = parse("{\"metadata\": {\"name\": \"mnist-driver\", \"uid\": \"d\"}}");
    AUTO_JSON *pod = spark_executor_pod(app, driver, &launch, 2, &e);
    CHECK_OK(pod != NULL, e);
    CHECK_STR(object_name(pod), "mnist-00ff00ff00ff00ff-exec-2");
    CHECK_STR(object_controller_uid(pod), "d");
    CHECK_STR(object_label(pod, "spark-exec-id"), "2");
    CHECK_STR(json_path_str(pod, "spec.containers[0].args[0]"), "--executor");
    CHECK_STR(json_path_str(pod, "spec.containers[0].args[1]"), "127.0.0.1:7000");
    // 512 MiB and the smallest overhead; no GPU, since none was requested
    CHECK_STR(json_path_str(pod, "spec.containers[0].resources.limits.memory"), "896Mi");
    CHECK_INT(cJSON_GetArraySize(json_path(pod, "spec.containers[0].resources.limits")), 1);
}

TEST(spark_other_main_files_go_to_spark_submit)
{
    err e = {0};
    AUTO_JSON *app = parse(APP("}"));
    json_set_str(json_object_at(app, "spec"), "mainApplicationFile", "local:///app/pi.py");
    AUTO_JSON *pod = spark_driver_pod(app, &launch, &e);
    CHECK_OK(pod != NULL, e);
    CHECK_STR(object_annotation(pod, SPARK_MODE), "spark-submit");
    CHECK_STR(json_path_str(pod, "spec.containers[0].command[0]"), "/opt/spark/bin/spark-submit");
    CHECK_STR(json_path_str(pod, "spec.containers[0].args[1]"), "local[*]");
    CHECK_STR(json_path_str(pod, "spec.containers[0].args[4]"), "--driver-memory");
    CHECK_STR(json_path_str(pod, "spec.containers[0].args[6]"), "/app/pi.py");
    CHECK_STR(json_path_str(pod, "spec.containers[0].args[7]"), "trainer.lua");
}

#define DRIVER(phase, state)                                                                       \
    "{\"status\": {\"phase\": \"" phase "\", \"containerStatuses\": [{\"name\": "                  \
    "\"spark-kubernetes-driver\", \"state\": " state "}]}}"

TEST(spark_driver_container_decides_before_its_pod)
{
    AUTO_JSON *three =
        parse(DRIVER("Running", "{\"terminated\": {\"exitCode\": 3, \"reason\": \"Error\"}}"));
    AUTO_JSON *zero = parse(DRIVER("Running", "{\"terminated\": {\"exitCode\": 0}}"));
    AUTO_JSON *runs = parse(DRIVER("Running", "{\"running\": {}}"));
    AUTO_JSON *none = parse("{\"status\": {\"phase\": \"Failed\"}}");
    CHECK_INT(spark_driver_state(three), DRIVER_FAILED);
    CHECK_INT(spark_driver_state(zero), DRIVER_SUCCEEDED);
    CHECK_INT(spark_driver_state(runs), DRIVER_RUNNING);
    CHECK_INT(spark_driver_state(NULL), DRIVER_MISSING);
    AUTO_FREE char *why = spark_driver_error(three), *missing = spark_driver_error(none);
    CHECK_STR(why, "driver container failed with ExitCode: 3, Reason: Error");
    CHECK_STR(missing, "driver container status missing");
}

static bool retries(const char *policy, int attempts, enum spark_state s, int64_t *due)
{
    AUTO_FREE char *text = str_fmt("{\"spec\": {\"restartPolicy\": %s}, \"status\": {"
                                   "\"executionAttempts\": %d, \"submissionAttempts\": %d, "
                                   "\"lastSubmissionAttemptTime\": \"1970-01-01T00:01:40Z\"}}",
        policy, attempts, attempts);
    AUTO_JSON *app = parse(text);
    return spark_should_retry(app, s, due);
}

TEST(spark_retries_as_often_as_allowed)
{
    int64_t due = 0;
    CHECK(!retries("{\"type\": \"Never\"}", 1, SPARK_FAILING, &due));
    CHECK(!retries("{\"type\": \"OnFailure\"}", 1, SPARK_FAILING, &due)); // no default
    const char *two =
        "{\"type\": \"OnFailure\", \"onFailureRetries\": 2, \"onFailureRetryInterval\": 10}";
    CHECK(retries(two, 2, SPARK_FAILING, &due));
    CHECK_INT(due, 120 * CLOCK_SEC);
    CHECK(!retries(two, 3, SPARK_FAILING, &due));
    CHECK(!retries(two, 1, SPARK_SUCCEEDING, &due));
    CHECK(retries("{\"type\": \"Always\"}", 9, SPARK_SUCCEEDING, &due));
}

TEST(spark_restarts_for_edits_that_matter)
{
    AUTO_JSON *a = parse("{\"spec\": {\"image\": \"x\", \"suspend\": true}}");
    AUTO_JSON *b = parse("{\"spec\": {\"image\": \"x\", \"timeToLiveSeconds\": 9}}");
    AUTO_JSON *c = parse("{\"spec\": {\"image\": \"y\"}}");
    CHECK(!spark_needs_restart(a, b));
    CHECK(spark_needs_restart(b, c));
}

int main(void)
{
    return tap_run();
}
