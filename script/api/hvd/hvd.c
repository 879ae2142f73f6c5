// SPDX-License-Identifier: MIT
// hvd.here: runs a function that a cell has packed on ranks of this machine, as firesteel-worker
// runs a trainer file.
//
//   firesteel-worker --function -      FIRESTEEL_EVENTS=3, FIRESTEEL_NP=np
//     0 ← the packed function          1, 2 → the cell's output, by rank
//     3 → progress, epochs; at the end the ranks' results
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/str.h"
#include "script/api/core/notes.h"
#include "script/api/core/process.h"
#include "script/api/hvd/result.h"
#include "script/api/trainer/reports.h"
#include "script/kernel/effects/binding.h"

#include <sched.h>
#include <string.h>

enum { RANKS_MOST = 4096 };

static void on_event(void *arg, const cJSON *event)
{
    hvd_result_event(arg, event);
}

static int check_args(call *c, const cJSON *args, err *e)
{
    int64_t np = json_int_or(args, "np", 0);
    if (!call_paths(c)->worker)
        return err_set(
            e, ERR_NOT_FOUND, "firesteel-worker is not there; it belongs beside firesteel-kernel");
    if (np < 1 || np > RANKS_MOST)
        return err_set(
            e, ERR_USAGE, "hvd.run: np must be from 1 to %d, got %lld", RANKS_MOST, (long long)np);
    return 0;
}

// "rank 2 failed: Train:5: boom"
static int check_exit(const struct process_result *r, err *e)
{
    if (r->code == 0)
        return 0;
    if (r->signal)
        return err_set(e, ERR_FAILED, "hvd.run: its driver was ended by signal %d (%s)", r->signal,
            strsignal(r->signal));
    AUTO_FREE char *why = reports_last_words(buf_cstr(&r->output));
    return err_set(e, ERR_FAILED, "hvd.run: %s%s", why ? why : "its driver ended with exit code ",
        why                                ? ""
        : str_eq(buf_cstr(&r->output), "") ? "?"
                                           : "an error (its output says why)");
}

static char **environment(call *c, const cJSON *args)
{
    char **env = reports_environment(c, json_int_or(args, "np", 1), json_get(args, "env"));
    int64_t seconds = json_int_or(args, "start_timeout", 0);
    AUTO_FREE char *timeout = seconds ? str_fmt("%lld", (long long)seconds) : NULL;
    if (timeout)
        env = env_set(env, "HOROVOD_SPARK_START_TIMEOUT", timeout);
    if (json_str(args, "timeline"))
        env = env_set(env, "HOROVOD_TIMELINE", json_str(args, "timeline"));
    AUTO_FREE char *notes = notes_of_function(c, json_str_or(args, "packed", ""));
    return notes ? env_set(env, "FIRESTEEL_NOTES", notes) : env;
}

static cJSON *result_of(
    const struct process_result *r, const struct reports *reports, const struct hvd_result *told)
{
    cJSON *result = cJSON_CreateObject();
    AUTO_FREE char *packed = hvd_result_text(told);
    json_set_str(result, "packed", packed);
    call_said(result, "output", buf_cstr(&r->output), r->left_out);
    json_set(result, "metrics", cJSON_Duplicate(training_metrics(reports->training), true));
    json_set(result, "history", cJSON_Duplicate(training_history(reports->training), true));
    return result;
}

static int start(call *c, const cJSON *args, cJSON **result, err *e)
{
    AUTO_BUF packed = {0};
    const char *text = json_str_or(args, "packed", "");
    if (check_args(c, args, e) || base64_decode(&packed, text, strlen(text), e))
        return -1;
    struct hvd_result told = {0};
    struct reports reports = {.call = c,
        .training = training_new(),
        .began = clock_wall(),
        .other = on_event,
        .arg = &told};
    const char *argv[] = {call_paths(c)->worker, "--function", "-", NULL};
    char **env = environment(c, args);
    struct process_spec spec = {.argv = argv,
        .env = (const char *const *)env,
        .cwd = call_cwd(c),
        .data = true,
        .input = packed.data,
        .input_n = packed.len,
        .extra_fd = REPORTS_FD,
        .extra = reports_bytes,
        .arg = &reports};
    struct process_result r;
    int64_t begun = clock_mono();
    process_record_program(c, argv[0]);
    int done = process_run(c, &spec, &r, e);
    strv_free(env);
    reports_close(&reports);
    if (done == 0)
        done = check_exit(&r, e);
    if (done == 0)
        done = hvd_result_check(&told, e);
    if (done == 0)
        *result = result_of(&r, &reports, &told);
    if (done == 0)
        json_set(*result, "seconds",
            cJSON_CreateNumber((double)(clock_mono() - begun) / (double)CLOCK_SEC));
    buf_done(&r.output);
    reports_done(&reports);
    hvd_result_done(&told);
    return done;
}

static void describe(call *c, const cJSON *args, struct about *about)
{
    about->what =
        str_fmt("run a function on %lld ranks here", (long long)json_int_or(args, "np", 1));
}

// hvd.cores: how many ranks there are here when nobody says it.
static int cores(call *c, const cJSON *args, cJSON **result, err *e)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    *result = cJSON_CreateNumber(n);
    return 0;
}

const struct binding hvd_bindings[] = {
    {.name = "hvd.here",
        .effect = EFFECT_LOCAL,
        .said = said_output,
        .start = start,
        .verify = hvd_result_verify,
        .describe = describe},
    {.name = "hvd.cores", .effect = EFFECT_PURE, .start = cores},
    {0},
};
