// SPDX-License-Identifier: MIT
// torch.elsewhere: runs a Python script on nodes where an engine's plan says.
//
//   plan ──> a gang (script/api/engines/gang.h) with a Secret of the script and launch.py
//   logs of all pods ──> output · marked lines: which rank has failed
//   the plan's main object ──> the end
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/engines/follow.h"
#include "script/api/torch/output.h"

#include <string.h>

static const int64_t LAST_LINES = 5 * CLOCK_SEC; // for the logs of a job that has ended
static const int64_t OTHERS = 3 * CLOCK_SEC;     // to fail, too, when a rank has
static const struct gang_words torch_words = {.what = "torch.run",
    .prefix = "torch",
    .kind = "torch job",
    .late = "the nodes",
    .remedy = "start_timeout = \"30m\" waits longer."};

struct job {
    struct gang gang;
    struct torch_output output;
    struct follow follow;
    int64_t linger; // ns for the last lines
    int64_t lost;   // when a rank had failed for good; not each engine ends the others
};

static void on_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct job *j = arg;
    bool error = kind != LOG_LINE || (n > 0 && *text == '[' && memmem(text, n, "]<stderr>:", 10));
    torch_output_line(&j->output, error ? "stderr" : "stdout", text, n);
}

// A script may say nothing for long: its nodes have started when all their pods run.
static bool have_started(const struct gang *g, const cJSON *pods)
{
    const cJSON *pod;
    int n = 0;
    bool has_main = false;
    cJSON_ArrayForEach(pod, pods)
    {
        const char *phase = json_path_str(pod, "status.phase");
        if (!phase || str_eq(phase, "Pending") || str_eq(phase, "Unknown"))
            return false;
        has_main |= gang_is_main(g, pod);
        n++;
    }
    return has_main && n >= (int)json_int_or(g->args, "nodes", 1);
}

// Ranks that have lost their peer are not waited for.
static void look(void *arg)
{
    struct job *j = arg;
    struct follow *f = &j->follow;
    struct state state = {0};
    err e = {0};
    if (f->ended) {
        follow_drain(f, j->linger);
        return;
    }
    AUTO_JSON *pods = gang_pods(&j->gang);
    if (have_started(&j->gang, pods))
        j->gang.began = true;
    bool failed = gang_look(&j->gang, pods, true, &state, &e) != 0;
    if (j->output.lost && !j->lost)
        j->lost = clock_mono();
    bool late = j->lost && clock_mono() - j->lost > OTHERS;
    if (!failed && !late && state.outcome != OUTCOME_GOOD)
        return;
    if (failed && !f->failure.code)
        f->failure = e;
    j->linger = late ? 0 : LAST_LINES; // the others print on
    follow_drain(f, j->linger);
}

// ---- the call

static int prepare(struct job *j, err *e)
{
    cJSON *secret = gang_secret(&j->gang);
    json_set(secret, "data", cJSON_Duplicate(json_get(j->gang.args, "files"), true));
    return gang_prepare(&j->gang, secret, NULL, e);
}

// A container that was ended from outside (out of memory, evicted) could not say what its ranks
// did.
static bool is_ended_from_outside(const cJSON *pod)
{
    const cJSON *statuses = json_path(pod, "status.containerStatuses"), *s;
    if (!str_eq(json_path_str(pod, "status.phase"), "Failed"))
        return false;
    if (json_path_str(pod, "status.reason"))
        return true;
    cJSON_ArrayForEach(s, statuses)
    {
        const char *reason = json_path_str(s, "state.terminated.reason");
        if (reason && !str_eq(reason, "Error") && !str_eq(reason, "Completed"))
            return true;
    }
    return false;
}

static bool explain_pods(struct job *j, buf *reason)
{
    AUTO_JSON *pods = gang_pods(&j->gang);
    cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        if (!reason->len && is_ended_from_outside(pod))
            gang_explain(&j->gang, pod, reason);
    }
    cJSON_ArrayForEach(pod, pods)
    {
        bool failed = str_eq(json_path_str(pod, "status.phase"), "Failed");
        if (!reason->len && !j->output.failed && failed)
            gang_explain(&j->gang, pod, reason);
    }
    return reason->len > 0;
}

static int judge(struct job *j, err *e)
{
    AUTO_BUF reason = {0};
    const char *name = json_str_or(j->gang.args, "name", "the script");
    if (!j->follow.failure.code && !j->output.lost)
        return 0;
    if (j->follow.failure.code == ERR_TIMEOUT)
        return err_set(e, ERR_TIMEOUT, "%s", j->follow.failure.text);
    if (explain_pods(j, &reason))
        return err_set(e, ERR_FAILED, "torch.run: %s: %s", name, buf_cstr(&reason));
    if (j->output.failed)
        return err_set(e, ERR_FAILED, "torch.run: %s: %s", name, j->output.failed);
    return err_set(e, j->follow.failure.code, "%s", j->follow.failure.text);
}

static int run(struct job *j, cJSON **result, err *e)
{
    int64_t begun = clock_mono();
    if (gang_make(&j->gang, e) || follow_run(&j->follow, e) || judge(j, e))
        return -1;
    *result = gang_record(&j->gang, e);
    if (!*result)
        return -1;
    json_set_int(*result, "code", 0);
    json_set(
        *result, "seconds", cJSON_CreateNumber((double)(clock_mono() - begun) / (double)CLOCK_SEC));
    return 0;
}

static int start(call *c, const cJSON *args, cJSON **result, err *e)
{
    static const struct follow_ops ops = {.line = on_line, .look = look};
    struct job j = {.follow = {.gang = &j.gang, .ops = &ops, .arg = &j}};
    torch_output_open(&j.output, c);
    int done = gang_open(&j.gang, c, &torch_words, args, e);
    if (done == 0)
        done = prepare(&j, e);
    if (done == 0) {
        done = run(&j, result, e);
        follow_leave(&j.follow);
        gang_remove(&j.gang, done == 0);
    }
    torch_output_close(&j.output, *result);
    gang_done(&j.gang);
    return done;
}

// The script and its arguments are those of the record: what they gave then they would give again.
static int verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    const char *output = json_str_or(recorded, "output", "");
    if (json_int_or(recorded, "code", -1) != 0)
        return VERDICT_NO;
    call_output(c, "stdout", output, strlen(output));
    return VERDICT_YES;
}

static void describe(call *c, const cJSON *args, struct about *about)
{
    long long nodes = json_int_or(args, "nodes", 1);
    char *what = str_fmt("run %s on %lld node%s by %s", json_str_or(args, "name", "a script"),
        nodes, nodes == 1 ? "" : "s", json_str_or(args, "says", "pods"));
    gang_describe(c, args, torch_words.kind, what, about);
}

const struct binding torch_k8s_bindings[] = {
    {.name = "torch.elsewhere",
        .effect = EFFECT_CLUSTER,
        .said = said_output,
        .announces = true,
        .start = start,
        .verify = verify,
        .find = gang_find,
        .undo = gang_undo,
        .describe = describe},
    {0},
};
