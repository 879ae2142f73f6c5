// SPDX-License-Identifier: MIT
#include "script/kernel/session/past.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/mask/mask.h"

#include <string.h>

void parameters_done(struct parameters *p)
{
    cJSON_Delete(p->values);
    cJSON_Delete(p->given);
}

// A value in the form that -p takes.
static char *spelled(const cJSON *value)
{
    return cJSON_IsString(value) ? mem_strdup(value->valuestring)
           : cJSON_IsNull(value) ? mem_strdup("nil")
                                 : json_to_str(value);
}

static bool is_given(const struct kernel_options *o, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *p = o->parameters; p && *p; p++)
        if (strncmp(*p, name, n) == 0 && (*p)[n] == '=')
            return true;
    return false;
}

int past_give(const struct kernel_options *o, struct params *params, err *e)
{
    const cJSON *value;
    cJSON_ArrayForEach(value, json_get(o->past, "given"))
    {
        AUTO_FREE char *text = spelled(value);
        AUTO_FREE char *assignment =
            params->open ? params_assignment(params, value) : str_fmt("%s=%s", value->string, text);
        if (is_given(o, value->string))
            continue;
        if (strstr(text, MASK_TEXT))
            return err_set(e, ERR_USAGE,
                "the journal hides the value of parameter %s: give it again with -p %s=…",
                value->string, value->string);
        params_give(params, assignment, NULL);
    }
    return 0;
}

static void add(buf *out, const char *name, const char *now, const char *was)
{
    buf_fmt(out, "%s%s %s", out->len ? ", " : "", name, now);
    if (was && !str_eq(now, was))
        buf_fmt(out, " (was %s)", was);
}

static void add_parameter(buf *out, const cJSON *now, const cJSON *was)
{
    AUTO_FREE char *text = spelled(now), *before = was ? spelled(was) : NULL;
    AUTO_FREE char *name = str_fmt("%s =", now->string);
    add(out, name, text, before);
}

char *past_message(const struct kernel_options *o, const struct parameters *now)
{
    AUTO_BUF out = {0};
    const cJSON *value;
    cJSON_ArrayForEach(value, now->values)
    {
        const cJSON *was = json_get(json_get(o->past, "parameters"), value->string);
        if (json_get(now->given, value->string) || (was && !json_equal(was, value)))
            add_parameter(&out, value, was);
    }
    bool was_sandbox = json_bool_or(o->past_cluster, "sandbox", false);
    const char *context = json_str(o->past_cluster, "context");
    const char *ns = json_str(o->past_cluster, "namespace");
    if (o->sandbox)
        buf_fmt(&out, "%sa new private sandbox", out.len ? ", " : "");
    else if (o->cluster.context)
        add(&out, "context", o->cluster.context, was_sandbox ? "a private sandbox" : context);
    if (!o->sandbox && o->cluster.namespace_)
        add(&out, "namespace", o->cluster.namespace_, was_sandbox ? NULL : ns);
    const char *registry = json_str(o->past, "registry");
    if (o->cluster.registry && !str_eq(o->cluster.registry, registry))
        add(&out, "registry", o->cluster.registry, registry);
    const char *kernel = json_str(o->past, "kernel");
    if (o->kernel && !str_eq(o->kernel, kernel))
        add(&out, "kernel", o->kernel, kernel);
    return out.len ? str_fmt("goes on with %s", buf_cstr(&out)) : NULL;
}
