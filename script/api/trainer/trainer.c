// SPDX-License-Identifier: MIT
// trainer.run: runs firesteel-worker with a trainer file. The worker's events become live progress
// and the result's metrics.
//
//   firesteel-worker trainer.lua ARGS     FIRESTEEL_EVENTS=3, FIRESTEEL_NP=np
//     stdout, stderr → the cell's output
//     3 → {"event": "progress" | "epoch" | "evaluate", …} lines → display, history, metrics
#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/core/notes.h"
#include "script/api/core/process.h"
#include "script/api/trainer/reports.h"
#include "script/kernel/effects/binding.h"

#include <string.h>

enum { RANKS_MOST = 4096 };

static const char **command_line(const char *worker, const cJSON *args)
{
    const cJSON *words = json_get(args, "args");
    const char **argv = mem_array((size_t)cJSON_GetArraySize(words) + 3, sizeof *argv);
    int n = 0;
    argv[n++] = worker;
    argv[n++] = json_str(args, "script");
    for (const cJSON *w = words ? words->child : NULL; w; w = w->next)
        argv[n++] = cJSON_IsString(w) ? w->valuestring : "";
    return argv;
}

static int check_args(call *c, const cJSON *args, err *e)
{
    const char *script = json_str(args, "script");
    int64_t np = json_int_or(args, "np", 1);
    if (!call_paths(c)->worker)
        return err_set(
            e, ERR_NOT_FOUND, "firesteel-worker is not there; it belongs beside firesteel-kernel");
    if (np < 1 || np > RANKS_MOST)
        return err_set(e, ERR_USAGE, "trainer.run: np must be from 1 to %d, got %lld", RANKS_MOST,
            (long long)np);
    AUTO_FREE char *path = path_join(call_cwd(c), script);
    if (!path_exists(path))
        return err_set(
            e, ERR_NOT_FOUND, "trainer.run: there is no file %s in the working folder", script);
    return 0;
}

static int check_exit(const cJSON *args, struct process_result *r, err *e)
{
    if (r->code == 0 || !json_bool_or(args, "check", true))
        return 0;
    if (r->signal)
        return err_set(e, ERR_FAILED, "%s was ended by signal %d (%s)", json_str(args, "script"),
            r->signal, strsignal(r->signal));
    AUTO_FREE char *why = reports_last_words(buf_cstr(&r->output));
    if (why)
        return err_set(
            e, ERR_FAILED, "%s exited with %d: %s", json_str(args, "script"), r->code, why);
    return err_set(e, ERR_FAILED,
        "%s exited with %d (its output says why; check = false allows it)",
        json_str(args, "script"), r->code);
}

// The trainer's own hash, and those of its declared inputs.
static cJSON *hash_inputs(call *c, const cJSON *args)
{
    cJSON *files = cJSON_CreateObject();
    AUTO_JSON *script = cJSON_CreateArray();
    cJSON_AddItemToArray(script, cJSON_CreateString(json_str(args, "script")));
    process_hash_files(c, files, call_cwd(c), script);
    process_hash_files(c, files, call_cwd(c), json_get(args, "inputs"));
    process_record_inputs(c, NULL, files);
    return files;
}

// files: those of script and inputs; taken.
static cJSON *job_result(
    call *c, const cJSON *args, const struct process_result *r, struct reports *p, cJSON *files)
{
    cJSON *result = cJSON_CreateObject();
    json_set_int(result, "code", r->code);
    if (r->signal)
        json_set_int(result, "signal", r->signal);
    call_said(result, "output", buf_cstr(&r->output), r->left_out);
    json_set(result, "metrics", cJSON_Duplicate(training_metrics(p->training), true));
    json_set(result, "history", cJSON_Duplicate(training_history(p->training), true));
    process_hash_files(c, files, call_cwd(c), json_get(args, "outputs"));
    json_set(result, "files", files);
    json_set(result, "seconds",
        cJSON_CreateNumber((double)(clock_wall() - p->began) / (double)CLOCK_SEC));
    return result;
}

static int trainer_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    if (check_args(c, args, e) < 0)
        return -1;
    struct reports p = {.call = c, .training = training_new(), .began = clock_wall()};
    AUTO_FREE const char **argv = command_line(call_paths(c)->worker, args);
    AUTO_JSON *files = hash_inputs(c, args); // hash before running: somebody may edit them
    AUTO_FREE char *told = notes_of_trainer(c, args, files);
    char **env = reports_environment(c, json_int_or(args, "np", 1), json_get(args, "env"));
    env = env_set(env, "FIRESTEEL_NOTES", told);
    struct process_spec spec = {.argv = argv,
        .env = (const char *const *)env,
        .cwd = call_cwd(c),
        .data = true,
        .extra_fd = REPORTS_FD,
        .extra = reports_bytes,
        .arg = &p};
    struct process_result r;
    process_record_program(c, argv[0]);
    int done = process_run(c, &spec, &r, e);
    strv_free(env);
    reports_close(&p);
    if (done == 0)
        done = check_exit(args, &r, e);
    if (done == 0)
        *result = job_result(c, args, &r, &p, STEAL(files));
    buf_done(&r.output);
    reports_done(&p);
    return done;
}

static int trainer_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    int verdict = process_verify(c, call_cwd(c), recorded, false);
    if (verdict == VERDICT_YES) {
        cJSON_Delete(hash_inputs(c, args)); // the cell has them as inputs, as when it ran
        process_record_program(c, call_paths(c)->worker);
    }
    return verdict;
}

static void trainer_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("train with %s", json_str_or(args, "script", "a trainer"));
}

const struct binding trainer_bindings[] = {
    {.name = "trainer.run",
        .effect = EFFECT_LOCAL,
        .said = said_output,
        .start = trainer_start,
        .verify = trainer_verify,
        .describe = trainer_describe},
    {0},
};
