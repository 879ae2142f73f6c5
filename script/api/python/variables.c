// SPDX-License-Identifier: MIT
// The variables of the kernels of Jupyter. In Python our own module tells them (firesteel._vars);
// of other languages nobody does.
#include "base/mem.h"
#include "base/str.h"
#include "script/api/python/asked.h"
#include "script/api/python/names.h"

#include <stdlib.h>

#define TARGET "firesteel.variables" // of the comm that answers while a cell runs

struct listing {
    const struct hub *hub;
    cJSON *kernels; // [{kernel, language, path, python}]
};

static void list(loop_pending *pending, void *arg)
{
    struct listing *l = arg;
    for (const struct session *s = l->hub->sessions; s; s = s->next) {
        cJSON *one = cJSON_CreateObject();
        json_set_str(one, "kernel", s->name);
        json_set_str(one, "language", s->language);
        json_set_str(one, "path", s->path);
        json_set_bool(one, "python", s->is_python);
        cJSON_AddItemToArray(l->kernels, one);
    }
    loop_call_finish(pending);
}

static void stop(loop_pending *pending, void *arg)
{
}

// The request for user expressions, and what a comm gets instead; `wish` is for firesteel._vars.
static struct asked question(const struct hub *hub, const char *path, const cJSON *wish)
{
    AUTO_FREE char *json = json_to_str(wish);
    AUTO_JSON *quoted = cJSON_CreateString(json);
    AUTO_FREE char *literal = json_to_str(quoted);
    AUTO_FREE char *expression = str_fmt("__import__('firesteel._vars')._vars.told(%s)", literal);
    struct asked a = {.hub = hub,
        .path = path,
        .type = "execute_request",
        .content = session_execute("", true),
        .meanwhile_type = "comm_open",
        .meanwhile = cJSON_CreateObject()};
    json_set_str(json_object_at(a.content, "user_expressions"), "value", expression);
    json_set_str(a.meanwhile, "target_name", TARGET);
    json_set_str(json_object_at(a.meanwhile, "data"), "wish", json);
    return a;
}

static int ask(call *c, const cJSON *kernel, const cJSON *wish, cJSON **told, err *e)
{
    if (!json_bool_or(kernel, "python", false))
        return err_set(e, ERR_NOT_FOUND,
            "kernels for %s do not tell their variables; a cell can (ls.str() in R, declare -p in "
            "bash)",
            json_str_or(kernel, "language", "other languages"));
    struct asked a = question(jupyter_hub(c), json_str_or(kernel, "path", ""), wish);
    if (asked_ask(c, &a, e) < 0)
        return -1;
    bool by_comm = a.to_subshell;
    const cJSON *value = json_path(a.reply, "user_expressions.value");
    const cJSON *data = by_comm ? a.reply : json_get(json_get(value, "data"), "application/json");
    const char *why = json_str_or(data, "why",
        data ? NULL : json_str_or(value, "evalue", "its Python has no module firesteel"));
    if (why)
        err_set(e, ERR_NOT_FOUND, "%s", why);
    else
        *told = cJSON_Duplicate(data, true);
    cJSON_Delete(a.reply);
    return *told ? 0 : -1;
}

static void add_all(call *c, const cJSON *kernel, cJSON *out)
{
    err e = {0};
    cJSON *told = NULL;
    AUTO_JSON *wish = cJSON_CreateObject();
    if (ask(c, kernel, wish, &told, &e) < 0)
        told = cJSON_CreateObject();
    if (e.code)
        json_set_str(told, "why", e.text);
    json_set_str(told, "kernel", json_str(kernel, "kernel"));
    json_set_str(told, "language", json_str(kernel, "language"));
    cJSON_AddItemToArray(out, told);
}

static int tell_one(call *c, const cJSON *kernels, const cJSON *args, cJSON **result, err *e)
{
    const char *wanted = json_str(args, "kernel"), *name = json_str(args, "name");
    const cJSON *kernel;
    AUTO_JSON *wish = cJSON_CreateObject();
    json_set_str(wish, "name", name);
    cJSON_ArrayForEach(kernel, kernels)
    {
        if (str_eq(json_str(kernel, "kernel"), wanted))
            return ask(c, kernel, wish, result, e);
    }
    return err_set(e, ERR_NOT_FOUND, "no cell has started a kernel %s", wanted ? wanted : "");
}

int jupyter_variables(call *c, const cJSON *args, cJSON **result, err *e)
{
    static const struct loop_call_ops ops = {.start = list, .cancel = stop};
    AUTO_JSON *kernels = cJSON_CreateArray();
    struct listing l = {jupyter_hub(c), kernels};
    if (loop_call(call_loop(c), NULL, &ops, &l, 0, e) < 0)
        return -1;
    if (json_str(args, "name"))
        return tell_one(c, kernels, args, result, e);
    cJSON *all = json_array_at(*result = cJSON_CreateObject(), "kernels");
    const cJSON *kernel;
    cJSON_ArrayForEach(kernel, kernels)
    {
        add_all(c, kernel, all);
    }
    return 0;
}
