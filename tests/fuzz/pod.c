// SPDX-License-Identifier: MIT
// Pods, Jobs and applications that the API has accepted, and what a node makes of them: volumes,
// environment, command line, states. Nothing is written outside of the pod's folder.
#include "base/str.h"
#include "k8s/sandbox/api/objects/defaults.h"
#include "k8s/sandbox/api/objects/schema.h"
#include "k8s/sandbox/api/objects/validate.h"
#include "k8s/sandbox/nodes/jobplan.h"
#include "k8s/sandbox/nodes/launch.h"
#include "k8s/sandbox/nodes/podstatus.h"
#include "k8s/sandbox/nodes/volumes.h"
#include "k8s/sandbox/spark/sparkpod.h"
#include "k8s/sandbox/spark/sparkstate.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <string.h>

static const cJSON *look_up(void *arg, const char *kind, const char *name)
{
    const cJSON *o;
    cJSON_ArrayForEach(
        o, (const cJSON *)arg) if (str_eq(json_str(o, "kind"), kind) &&
                                   str_eq(json_path_str(o, "metadata.name"), name)) return o;
    return NULL;
}

static bool is_valid(const struct kind *k, cJSON *o)
{
    cJSON *causes = NULL;
    struct schema_report report;
    json_set_str(o, "kind", k->kind);
    schema_check(schema_of(k), o, true, &report);
    bool ok = cJSON_GetArraySize(report.mistyped) == 0;
    schema_report_done(&report);
    if (ok) {
        defaults_set(NULL, k, o, NULL);
        validate(k, o, NULL, &causes);
    }
    err e;
    ok = ok && cJSON_GetArraySize(causes) == 0 && validate_spark(k, o, &e);
    cJSON_Delete(causes);
    return ok;
}

static void launch(const cJSON *pod, const cJSON *container, const char *dir, void *objects)
{
    static const char *const bwrap[] = {"/bin/bwrap", NULL};
    static struct runtime bare = {.program = (char *)"/bin/sandbox"},
                          full = {.program = (char *)"/bin/sandbox", .bwrap = bwrap};
    podimage image = {.ref = (char *)"host", .state = PULL_DONE, .is_host = true};
    int cpu = 0;
    AUTO_FREE char *run = path_join(dir, "run");
    for (int i = 0; i < 2; i++) {
        struct launch_input in = {.pod = pod,
            .container = container,
            .runtime = i ? &full : &bare,
            .image = &image,
            .lookup = look_up,
            .arg = objects,
            .pod_dir = dir,
            .run_dir = run,
            .next_cpu = &cpu};
        struct launch out = {0};
        err e;
        if (launch_prepare(&in, &out, &e) == LAUNCH_OK && (!out.command || !out.command[0]))
            abort();
        launch_done(&out);
    }
}

static void check_outside(void)
{
    DIR *d = opendir(fuzz_folder());
    for (struct dirent *entry; d && (entry = readdir(d));)
        if (*entry->d_name != '.' && !str_eq(entry->d_name, "pod"))
            abort();
    closedir(d);
}

static void run_pod(cJSON *pod, cJSON *objects)
{
    AUTO_FREE char *dir = path_join(fuzz_folder(), "pod");
    const cJSON *container;
    err e;
    if (path_make_dirs(dir, 0700, &e) != 0)
        abort();
    if (volumes_make(pod, dir, look_up, objects, &e) == 0)
        cJSON_ArrayForEach(container, json_path(pod, "spec.containers"))
            launch(pod, container, dir, objects);
    check_outside();
    if (path_remove(dir, &e) != 0)
        abort();
    struct container_state state = {.name = "c", .id = "", .image = "i", .image_id = ""};
    struct pod_states states = {.main = &state, .main_n = 1};
    podstatus_phase(pod, &states);
    cJSON_Delete(podstatus_build(pod, &states, NULL, NULL, 1, 2));
}

static void run_job(const cJSON *job, const cJSON *pod)
{
    struct job_counts counts = {0};
    job_count(&counts, pod);
    struct job_plan plan = job_decide(job, &counts, 1000);
    if (plan.create < 0 || plan.remove < 0)
        abort();
}

static void run_application(const cJSON *app, const cJSON *pod)
{
    struct spark_launch l = {"id", "spark-1", "hash", "secret", "/worker", "/submit", 7000};
    int64_t due;
    err e;
    AUTO_JSON *driver = spark_driver_pod(app, &l, &e);
    if (driver)
        cJSON_Delete(spark_executor_pod(app, driver, &l, 1, &e));
    spark_driver_state(pod);
    free(spark_driver_error(pod));
    spark_executor_state(pod);
    spark_should_retry(app, spark_state_of(app), &due);
    spark_needs_restart(app, pod);
}

// On two lines: a pod, a Job or an application; and the objects to which it refers.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data, *line = n ? memchr(text, '\n', n) : NULL;
    size_t first = line ? (size_t)(line - text) : n;
    AUTO_JSON *o = json_parse(text, first, NULL);
    AUTO_JSON *objects = line ? json_parse(line + 1, n - first - 1, NULL) : NULL;
    if (!cJSON_IsObject(o))
        return 0;
    AUTO_FREE char *kind = mem_strdup(json_str_or(o, "kind", ""));
    const struct kind *k = str_eq(kind, "Job")                ? KIND(JOBS)
                           : str_eq(kind, "SparkApplication") ? KIND(SPARKAPPLICATIONS)
                                                              : KIND(PODS);
    if (!is_valid(k, o))
        return 0;
    if (k == KIND(PODS))
        run_pod(o, objects);
    else if (k == KIND(JOBS))
        run_job(o, objects);
    else
        run_application(o, objects);
    return 0;
}
