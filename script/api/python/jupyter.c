// SPDX-License-Identifier: MIT
// Cells in Python and other languages: the text goes to a Jupyter kernel, and what that says comes
// below the cell. A kernel belongs to the run as Lua's state does: it is started by the first cell
// that needs it, keeps its variables, and ends with us. Nothing of it is in the journal, so a
// resumed run does each of its cells again.
//
//   start ──loop_call──> begin: session ── lines of JSON ── firesteel-jupyter ── the kernel
//     ▲                             │
//     └── its end, a question, <────┘     (script/jupyter/bridge.h has the lines)
//         or a call: `import firesteel` in Python asks for a function of our own API, which the
//         cell's thread does for it (core.hooks.serve)
//
// session.h has the parts. All of a session belongs to the loop's thread.
#include "base/mem.h"
#include "base/os/env.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/python/cell.h"
#include "script/api/python/followed.h"
#include "script/api/python/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Its environment: as after `activate` where it is that of a virtual environment.
static char **environment(call *c, const struct spec *spec)
{
    char **env = call_lasting_env(c);
    const char *ours = call_paths(c)->python;
    if (ours && spec_is_python(spec)) {
        const char *path = env_get((const char *const *)env, "PYTHONPATH");
        AUTO_FREE char *all = str_fmt("%s%s%s", ours, path ? ":" : "", path ? path : "");
        AUTO_FREE char *number = str_fmt("%d", CALLS_FD);
        env = env_set(env, "PYTHONPATH", all);
        env = env_set(env, "FIRESTEEL_CALLS", number);
    }
    if (spec->bin) {
        const char *path = env_get((const char *const *)env, "PATH");
        AUTO_FREE char *first = str_fmt("%s%s%s", spec->bin, path ? ":" : "", path ? path : "");
        env = env_set(env, "PATH", first);
        env = env_set(env, "VIRTUAL_ENV", spec->prefix);
    }
    for (char **more = spec->env; *more; more++) {
        size_t n = strcspn(*more, "=");
        AUTO_FREE char *name = mem_strndup(*more, n);
        env = env_set(env, name, *more + n + ((*more)[n] == '='));
    }
    return env;
}

static int find_spec(const struct call_paths *paths, const char *cwd, const char *const *env,
    const char *kernel, bool wish, const char *language, struct spec *spec, err *e)
{
    struct spec_places places = {.env = env, .cwd = cwd, .notebook_dir = paths->notebook_dir};
    if (paths->jupyter)
        return spec_find(&places, kernel, wish, language, spec, e);
    return err_set(e, ERR_NOT_FOUND,
        "cells in %s need firesteel-jupyter, which is not here: build firesteel with libzmq "
        "(Debian: libzmq3-dev)",
        language ? language : "other languages");
}

int jupyter_find(const struct call_paths *paths, const char *cwd, const char *const *env,
    const char *kernel, bool wish, const char *language, err *e)
{
    CLEANUP(spec_done) struct spec spec = {0};
    return find_spec(paths, cwd, env, kernel, wish, language, &spec, e);
}

int jupyter_spec_of(call *c, const cJSON *args, struct spec *spec, err *e)
{
    return find_spec(call_paths(c), call_cwd(c), call_env(c), json_str(args, "kernel"),
        json_bool_or(args, "wish", false), json_str(args, "language"), spec, e);
}

struct hub *jupyter_hub(call *c)
{
    return call_shared(c, "jupyter", hub_make, hub_drop, NULL);
}

// All is borrowed but what run_done frees.
static struct run new_run(call *c, const struct spec *spec, const cJSON *args)
{
    struct run r = {.call = c,
        .hub = jupyter_hub(c),
        .spec = spec,
        .code = json_str_or(args, "code", ""),
        .environment = json_get(args, "env"),
        .env = environment(c, spec)};
    r.refusing = mem_strdup(env_get((const char *const *)r.env, "KUBECONFIG"));
    return r;
}

static void run_done(struct run *r)
{
    cJSON_Delete(r->value);
    cJSON_Delete(r->error);
    cJSON_Delete(r->info);
    cJSON_Delete(r->wanted);
    cJSON_Delete(r->served);
    strv_free(r->env);
    free(r->kubeconfig);
    free(r->refusing);
    free(r->question);
    free(r->refusal);
}

static bool speaks_of_clusters(const char *code)
{
    static const char *const words[] = {
        "kubectl", "kubernetes", "KUBECONFIG", "helm", "spark-submit", "k8s://", "argo "};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(code, words[i]))
            return true;
    return false;
}

// The kubeconfig for the cell's programs, if they may have one.
static int grant(struct run *r, err *e)
{
    bool granted = call_has_cluster(r->call, false), asks = !granted && !r->hub->granted &&
                                                            !call_is_headless(r->call) &&
                                                            speaks_of_clusters(r->code);
    if (!granted && !asks && !r->hub->granted)
        return 0;
    AUTO_FREE char *text = followed_text(r->call, e);
    if (!text)
        return -1;
    if (*text && (granted || r->hub->granted || call_has_cluster(r->call, true)))
        r->kubeconfig = STEAL(text);
    r->hub->granted = r->hub->granted || (asks && r->kubeconfig);
    return 0;
}

static int cell_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    CLEANUP(spec_done) struct spec spec = {0};
    if (jupyter_spec_of(c, args, &spec, e) < 0)
        return -1;
    CLEANUP(run_done) struct run r = new_run(c, &spec, args);
    if (spec_is_python(&spec)) {
        free(r.hub->python);
        r.hub->python = mem_strdup(spec.name);
    }
    int done = grant(&r, e);
    if (done == 0)
        done = cell_run(&r, e);
    cell_note_names(&r);
    if (done == 0)
        done = cell_pass_environment(&r, e);
    r.hub->used = r.hub->used || r.opened;
    r.hub->clients = r.hub->clients || (r.hub->used && json_bool_or(r.value, "client", false));
    if (done == 0 && (r.opened || r.hub->clients)) {
        *result = cJSON_CreateObject();
        json_set_bool(*result, CELL_USED, true);
    }
    return done;
}

// Values for cells in Lua, and from them: by the kernel that the cells in Python have.
static int exchange_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    CLEANUP(spec_done) struct spec spec = {0};
    if (find_spec(call_paths(c), call_cwd(c), call_env(c), jupyter_hub(c)->python, true, "python",
            &spec, e) < 0)
        return -1;
    CLEANUP(run_done) struct run r = new_run(c, &spec, args);
    r.expression = json_str_or(args, "expression", "None");
    int done = cell_run(&r, e);
    *result = STEAL(r.value);
    return done;
}

// Its variables are in no journal. What it called is there; what its programs did to a cluster is
// not.
static int cell_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    return json_bool_or(recorded, CELL_USED, false) ? VERDICT_REPEAT : VERDICT_AGAIN;
}

static void cell_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("run a cell in %s", json_str_or(args, "language", "another language"));
}

const struct binding jupyter_bindings[] = {
    {.name = "jupyter.cell",
        .effect = EFFECT_LOCAL,
        .start = cell_start,
        .around = true,
        .verify = cell_verify,
        .describe = cell_describe},
    {.name = "jupyter.exchange", .effect = EFFECT_PURE, .start = exchange_start},
    {.name = "jupyter.names", .effect = EFFECT_PURE, .start = jupyter_names},
    {.name = "jupyter.variables", .effect = EFFECT_PURE, .start = jupyter_variables},
    {0},
};
