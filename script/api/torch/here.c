// SPDX-License-Identifier: MIT
// torch.here: runs a Python script on ranks of this machine.
//
//   python3 launch.py SCRIPT ARGS     TORCH_RUN={"nodes", "nproc", "restarts", "tell": 3}
//     stdout, stderr → the cell's output, a training's progress, history and metrics
//     3 → {"event": "failed", "rank", "why"}
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/core/process.h"
#include "script/api/torch/output.h"
#include "script/embed.h"

#include <string.h>

extern const struct lua_source torch_sources[]; // launch.py

struct here {
    call *call;
    const cJSON *args;
    char *folder;            // of launch.py, and of a function's script
    char *launcher, *script; // paths; a script of the notebook's folder as it was named
    struct torch_output output;
};

static char *written(struct here *h, const char *name, const char *text, err *e)
{
    AUTO_FREE char *path = path_join(h->folder, name);
    return path_update(path, text, strlen(text), 0600, e) ? NULL : STEAL(path);
}

static int prepare(struct here *h, err *e)
{
    const char *script = json_str_or(h->args, "script", ""), *source = json_str(h->args, "source");
    AUTO_FREE char *path = path_join(call_cwd(h->call), script);
    if (!source && !path_exists(path))
        return err_set(
            e, ERR_NOT_FOUND, "torch.run: there is no file %s in the working folder", script);
    h->folder = call_temp(h->call, "torch", NULL, e);
    if (!h->folder)
        return -1;
    h->launcher = written(h, "launch.py", torch_sources[0].text, e);
    h->script = source ? written(h, script, source, e) : mem_strdup(script);
    return h->launcher && h->script ? 0 : -1;
}

static void done(struct here *h)
{
    call_drop_temp(h->call, h->folder);
    free(h->folder);
    free(h->launcher);
    free(h->script);
}

static const char **command_line(const struct here *h)
{
    const cJSON *words = json_get(h->args, "words");
    const char **argv = mem_array((size_t)cJSON_GetArraySize(words) + 4, sizeof *argv);
    int n = 0;
    argv[n++] = json_str_or(h->args, "python", "python3");
    argv[n++] = h->launcher;
    argv[n++] = h->script;
    for (const cJSON *w = words ? words->child : NULL; w; w = w->next)
        argv[n++] = cJSON_IsString(w) ? w->valuestring : "";
    return argv;
}

static char **environment(const struct here *h)
{
    char **env = strv_dup(call_env(h->call));
    const cJSON *v, *extra = json_get(h->args, "env");
    cJSON_ArrayForEach(v, extra)
    {
        env = env_set(env, v->string, cJSON_GetStringValue(v));
    }
    if (json_str(h->args, "source")) { // a function imports what stands beside the notebook
        const char *was = env_get((const char *const *)env, "PYTHONPATH");
        AUTO_FREE char *path = str_fmt("%s%s%s", call_cwd(h->call), was ? ":" : "", was ? was : "");
        env = env_set(env, "PYTHONPATH", path);
    }
    AUTO_JSON *run = cJSON_Duplicate(json_get(h->args, "run"), true);
    json_set_int(run, "tell", REPORTS_FD);
    AUTO_FREE char *text = json_to_str(run);
    return env_set(env, "TORCH_RUN", text);
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct here *h = arg;
    torch_output_bytes(&h->output, fd, bytes, n);
}

static void on_report(void *arg, const char *bytes, size_t n)
{
    struct here *h = arg;
    reports_bytes(&h->output.reports, bytes, n);
}

static int check_exit(const struct here *h, const struct process_result *r, err *e)
{
    const char *script = json_str_or(h->args, "name", "");
    if (r->code == 0 || !json_bool_or(h->args, "check", true))
        return 0;
    if (h->output.failed)
        return err_set(e, ERR_FAILED, "torch.run: %s: %s", script, h->output.failed);
    if (r->signal)
        return err_set(e, ERR_FAILED, "torch.run: %s was ended by signal %d (%s)", script,
            r->signal, strsignal(r->signal));
    return err_set(e, ERR_FAILED, "torch.run: %s could not be started (exit code %d): %s", script,
        r->code, str_short_line(buf_cstr(&r->output), 300).text);
}

// The script's own digest, those of files that go with it, and of its declared inputs.
static cJSON *hash_inputs(call *c, const cJSON *args)
{
    cJSON *files = cJSON_CreateObject();
    if (!json_str(args, "source")) {
        AUTO_JSON *script = cJSON_CreateArray();
        cJSON_AddItemToArray(script, cJSON_CreateString(json_str_or(args, "script", "")));
        process_hash_files(c, files, call_cwd(c), script);
    }
    process_hash_files(c, files, call_cwd(c), json_get(args, "inputs"));
    process_record_inputs(c, NULL, files);
    return files;
}

static int run(struct here *h, cJSON *result, err *e)
{
    AUTO_FREE const char **argv = command_line(h);
    char **env = environment(h);
    struct process_spec spec = {.argv = argv,
        .env = (const char *const *)env,
        .cwd = call_cwd(h->call),
        .output = on_output,
        .grace_ms = 6000,
        .extra_fd = REPORTS_FD,
        .extra = on_report,
        .arg = h};
    struct process_result r;
    torch_output_open(&h->output, h->call);
    int failed = process_run(h->call, &spec, &r, e);
    strv_free(env);
    if (!failed)
        failed = check_exit(h, &r, e);
    if (!failed) {
        json_set_int(result, "code", r.code);
        if (r.signal)
            json_set_int(result, "signal", r.signal);
    }
    torch_output_close(&h->output, result);
    buf_done(&r.output);
    return failed;
}

static int start(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct here h = {.call = c, .args = args};
    AUTO_JSON *files = hash_inputs(c, args); // before it runs: somebody may edit them
    AUTO_JSON *made = cJSON_CreateObject();
    int64_t began = clock_mono();
    int failed = prepare(&h, e);
    if (!failed)
        failed = run(&h, made, e);
    done(&h);
    if (failed)
        return -1;
    process_hash_files(c, files, call_cwd(c), json_get(args, "outputs"));
    json_set(made, "files", STEAL(files));
    json_set(
        made, "seconds", cJSON_CreateNumber((double)(clock_mono() - began) / (double)CLOCK_SEC));
    *result = STEAL(made);
    return 0;
}

static int verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    int verdict = process_verify(c, call_cwd(c), recorded, false);
    if (verdict == VERDICT_YES)
        cJSON_Delete(hash_inputs(c, args)); // the cell has them as inputs, as when it ran
    return verdict;
}

static void describe(call *c, const cJSON *args, struct about *about)
{
    const cJSON *run = json_get(args, "run");
    long long ranks = json_int_or(run, "nodes", 1) * json_int_or(run, "nproc", 1);
    about->what = str_fmt("run %s on %lld rank%s here", json_str_or(args, "name", "a script"),
        ranks, ranks == 1 ? "" : "s");
}

// torch.launcher: the text of launch.py, for pods.
static int launcher(call *c, const cJSON *args, cJSON **result, err *e)
{
    *result = cJSON_CreateString(torch_sources[0].text);
    return 0;
}

const struct binding torch_bindings[] = {
    {.name = "torch.here",
        .effect = EFFECT_LOCAL,
        .said = said_output,
        .start = start,
        .verify = verify,
        .describe = describe},
    {.name = "torch.launcher", .effect = EFFECT_PURE, .start = launcher},
    {0},
};
