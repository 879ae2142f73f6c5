// SPDX-License-Identifier: MIT
// hvd.elsewhere: runs a function that a cell has packed where an engine's plan says
// (script/api/hvd/hvd.lua has the contract).
//
//   plan ──> a gang (script/api/engines/gang.h) with a Secret of function and secret
//   driver's log ──> output · marked lines: progress, the results · Spark's information: a folded
//   log
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/core/kept.h"
#include "script/api/core/notes.h"
#include "script/api/engines/follow.h"
#include "script/api/hvd/result.h"
#include "script/api/spark/lines.h"
#include "script/api/trainer/reports.h"
#include "script/kernel/effects/binding.h"

#include <string.h>
#include <sys/random.h>

enum { SECRET_BYTES = 32, FUNCTION_MOST = 1000 * 1000 };
static const int64_t LAST_LINES = 5 * CLOCK_SEC; // for the log of a driver that has ended
static const struct gang_words hvd_words = {.what = "hvd.run",
    .prefix = "hvd",
    .kind = "hvd job",
    .late = "the driver",
    .remedy =
        "Please check that you have enough resources to run all Horovod processes. You may need to "
        "increase the start_timeout parameter if your resources are allocated on-demand."};

struct job {
    struct gang gang;
    call *call;
    struct reports reports;
    struct hvd_result told;
    struct kept output;
    struct spark_lines lines; // of a driver that Spark has started
    display *log;             // all that it prints; NULL: it has no lines of Spark
    struct follow follow;
    bool driver_failed;
};

static int fill_secret(struct job *j, cJSON *secret, err *e)
{
    uint8_t bytes[SECRET_BYTES];
    AUTO_BUF hex = {0};
    const char *packed = json_str_or(j->gang.args, "packed", "");
    size_t n = strlen(packed) / 4 * 3;
    if (n > FUNCTION_MOST)
        return err_set(e, ERR_LIMIT,
            "hvd.run: the function with its arguments has %zu kB, and a Secret holds %d: put what "
            "is large into the image or a volume",
            n / 1000, FUNCTION_MOST / 1000);
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_set(e, ERR_IO, "there is no randomness for the job's secret");
    for (size_t i = 0; i < sizeof bytes; i++)
        buf_fmt(&hex, "%02x", bytes[i]);
    call_secret(j->call, buf_cstr(&hex));
    json_set_str(json_object_at(secret, "data"), "function", packed);
    json_set_str(json_object_at(secret, "stringData"), "secret", buf_cstr(&hex));
    return 0;
}

static int prepare(struct job *j, err *e)
{
    cJSON *secret = gang_secret(&j->gang);
    if (fill_secret(j, secret, e)) {
        cJSON_Delete(secret);
        return -1;
    }
    const char *log = json_str(j->gang.plan, "log");
    if (log && !(j->log = call_log(j->call, log, true, e))) {
        cJSON_Delete(secret);
        return -1;
    }
    AUTO_FREE char *notes = notes_of_function(j->call, json_str_or(j->gang.args, "packed", ""));
    return gang_prepare(&j->gang, secret, notes, e);
}

// ---- the driver's log, on the loop's thread

static void on_event(void *arg, const cJSON *event)
{
    struct job *j = arg;
    hvd_result_event(&j->told, event);
    if (j->told.whole || j->told.damage.code)
        follow_finish(&j->follow);
}

static void show_line(struct job *j, const char *stream, const char *text, size_t n)
{
    kept_add(&j->output, text, n);
    call_output(j->call, stream, text, n);
}

static void on_spark_line(void *arg, const struct spark_line *line)
{
    struct job *j = arg;
    display_text(j->log, line->text, line->n);
    if (!line->folded)
        show_line(j, "stdout", line->text, line->n);
}

static void on_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct job *j = arg;
    AUTO_JSON *event = kind == LOG_LINE ? training_line(text, n) : NULL;
    if (event) {
        reports_event(&j->reports, event);
        return;
    }
    AUTO_BUF line = {0};
    buf_add(&line, text, n);
    buf_char(&line, '\n');
    if (kind == LOG_LINE && j->log)
        spark_lines_feed(&j->lines, line.data, line.len, on_spark_line, j);
    else
        show_line(j, kind == LOG_LINE ? "stdout" : "stderr", line.data, line.len);
}

// ---- looks, on the call's thread

// The driver's pod has ended: what it said last is awaited.
static void see_driver(struct job *j, const cJSON *pod)
{
    const char *phase = json_path_str(pod, "status.phase");
    bool failed = str_eq(phase, "Failed");
    if (!failed && !str_eq(phase, "Succeeded"))
        return;
    j->driver_failed = failed;
    follow_drain(&j->follow, LAST_LINES);
}

static void look(void *arg)
{
    struct job *j = arg;
    err e = {0};
    AUTO_JSON *pods = gang_pods(&j->gang);
    cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        if (gang_is_main(&j->gang, pod))
            see_driver(j, pod);
    }
    if (gang_look(&j->gang, pods, false, NULL, &e) && !j->follow.ended)
        follow_fail(&j->follow, &e);
}

// ---- the call

static void close_job(struct job *j)
{
    AUTO_BUF rest = {0};
    kept_take(&j->output, &rest);
    spark_lines_done(&j->lines);
    reports_done(&j->reports);
    hvd_result_done(&j->told);
    gang_done(&j->gang);
}

// Why the driver's pod has failed, when it said nothing itself.
static void explain_driver(struct job *j, err *e)
{
    AUTO_BUF reason = {0};
    AUTO_JSON *pods = gang_pods(&j->gang);
    cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        if (gang_is_main(&j->gang, pod) && !reason.len)
            gang_explain(&j->gang, pod, &reason);
    }
    err_set(e, ERR_FAILED, "hvd.run: the driver has failed%s%s", reason.len ? ": " : "",
        str_short(buf_cstr(&reason), 800).text);
}

static int judge(struct job *j, const char *output, err *e)
{
    if (j->told.whole)
        return 0;
    AUTO_FREE char *words = reports_last_words(output);
    if (words)
        return err_set(e, ERR_FAILED, "hvd.run: %s", words);
    if (j->follow.failure.code)
        return err_set(e, j->follow.failure.code, "%s", j->follow.failure.text);
    if (j->driver_failed) {
        explain_driver(j, e);
        return -1;
    }
    return hvd_result_check(&j->told, e);
}

static int run(struct job *j, cJSON **result, err *e)
{
    AUTO_BUF output = {0};
    int64_t begun = clock_mono();
    if (gang_make(&j->gang, e))
        return -1;
    int done = follow_run(&j->follow, e);
    double seconds = (double)(clock_mono() - begun) / (double)CLOCK_SEC;
    uint64_t left_out = kept_take(&j->output, &output);
    if (done || judge(j, buf_cstr(&output), e))
        return -1;
    *result = gang_record(&j->gang, e);
    if (!*result)
        return -1;
    AUTO_FREE char *packed = hvd_result_text(&j->told);
    json_set_str(*result, "packed", packed);
    call_said(*result, "output", buf_cstr(&output), left_out);
    json_set(*result, "seconds", cJSON_CreateNumber(seconds));
    const training *t = j->reports.training;
    json_set(*result, "metrics", cJSON_Duplicate(training_metrics(t), true));
    json_set(*result, "history", cJSON_Duplicate(training_history(t), true));
    return 0;
}

static void leave(void *arg)
{
    struct job *j = arg;
    if (j->log)
        display_close(j->log, NULL);
}

static int start(call *c, const cJSON *args, cJSON **result, err *e)
{
    static const struct follow_ops ops = {.line = on_line, .look = look, .leave = leave};
    struct job j = {.call = c, .follow = {.gang = &j.gang, .ops = &ops, .arg = &j}};
    j.output.most = KEPT_DATA;
    j.reports =
        (struct reports){.call = c, .training = training_new(), .other = on_event, .arg = &j};
    int done = gang_open(&j.gang, c, &hvd_words, args, e);
    if (done == 0)
        done = prepare(&j, e);
    if (done == 0) {
        done = run(&j, result, e);
        follow_leave(&j.follow);
        reports_close(&j.reports);
        gang_remove(&j.gang, done == 0);
    }
    close_job(&j);
    return done;
}

static void describe(call *c, const cJSON *args, struct about *about)
{
    long long ranks = json_int_or(args, "np", 1);
    char *what = str_fmt("run a function on %lld rank%s by %s", ranks, ranks == 1 ? "" : "s",
        json_str_or(args, "says", "pods"));
    gang_describe(c, args, hvd_words.kind, what, about);
}

const struct binding hvd_k8s_bindings[] = {
    {.name = "hvd.elsewhere",
        .effect = EFFECT_CLUSTER,
        .said = said_output,
        .announces = true,
        .start = start,
        .verify = hvd_result_verify,
        .find = gang_find,
        .undo = gang_undo,
        .describe = describe},
    {0},
};
