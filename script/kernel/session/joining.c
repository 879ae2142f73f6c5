// SPDX-License-Identifier: MIT
#include "script/kernel/session/joining.h"

#include "base/json/secret.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/session/running.h"
#include "script/notebook/params.h"

#include <string.h>

static void add(cJSON *texts, char *text)
{
    cJSON_AddItemToArray(texts, cJSON_CreateString(text));
    free(text);
}

// Compares a requested parameter with its value here. Values of secrets are not shown.
static void compare_value(const kernel *k, const struct param *p, const char *option, cJSON *texts)
{
    const cJSON *has = json_get(k->parameters, p->name);
    if (json_equal(has, p->value))
        return;
    bool hides = secret_name(p->name) || !has;
    AUTO_FREE char *shown = hides ? NULL : param_text(has);
    add(texts, hides ? str_fmt("-p %s: it has another value", p->name)
                     : str_fmt("-p %s: it has %s", option, shown));
}

static void compare_parameter(const kernel *k, const char *option, cJSON *texts)
{
    struct params all = {0};
    err e = {0};
    AUTO_FREE char *name = mem_strndup(option, strcspn(option, "="));
    if (params_find(document_notebook(k->document), &all, &e) < 0 ||
        params_give(&all, option, &e) < 0)
        add(texts, str_fmt("-p %s: %s", name, e.text));
    for (size_t i = 0; i < all.n && !e.code; i++)
        if (str_eq(all.list[i].name, name))
            compare_value(k, &all.list[i], option, texts);
    params_done(&all);
}

static void compare_text(const cJSON *wants, const char *name, const char *has, cJSON *texts)
{
    const char *wanted = json_str(wants, name);
    if (!wanted || str_eq(wanted, has))
        return;
    add(texts, has ? str_fmt("--%s %s: it has %s", name, wanted, has)
                   : str_fmt("--%s %s: it has none", name, wanted));
}

// Compares the cluster, which the kernel was given by name or has found in its kubeconfig.
static void compare_cluster(const kernel *k, const cJSON *wants, cJSON *texts)
{
    const struct kernel_options *o = k->options;
    const struct surroundings *around = atomic_load(&k->effects->around);
    AUTO_JSON *at = place_known(k->effects->place);
    const char *context = o->cluster.context ? o->cluster.context : json_str(at, "context");
    const char *ns = o->cluster.namespace_ ? o->cluster.namespace_ : json_str(at, "namespace");
    bool sandboxed = effects_in_sandbox(k->effects);
    if (sandboxed)
        context = "its sandbox";
    compare_text(wants, "context", context, texts);
    compare_text(wants, "namespace", ns, texts);
    compare_text(
        wants, "kubeconfig", sandboxed ? "that of its sandbox" : around->kubeconfig, texts);
    compare_text(wants, "registry", o->cluster.registry, texts);
    if (json_bool_or(wants, "sandbox", false) && !sandboxed)
        add(texts, mem_strdup("--sandbox: it has none"));
}

static bool protects(const kernel *k, const char *pattern)
{
    for (const char *const *p = k->options->protect; p && *p; p++)
        if (str_eq(*p, pattern))
            return true;
    return false;
}

cJSON *joining_differs(const kernel *k, const cJSON *wants)
{
    if (!wants)
        return NULL;
    cJSON *texts = cJSON_CreateArray();
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(wants, "parameters"))
    {
        if (cJSON_IsString(item))
            compare_parameter(k, item->valuestring, texts);
    }
    compare_cluster(k, wants, texts);
    int64_t memory = json_int_or(wants, "memory", 0), has = (int64_t)k->options->memory;
    if (memory && memory != has)
        add(texts, str_fmt("--memory: it has %lldM", (long long)(has >> 20)));
    cJSON_ArrayForEach(item, json_get(wants, "protect"))
    {
        if (cJSON_IsString(item) && !protects(k, item->valuestring))
            add(texts, str_fmt("--protect %s: it does not protect these", item->valuestring));
    }
    return texts;
}

void joining_keep_terminal(kernel *k, const cJSON *terminal)
{
    if (!terminal)
        return;
    cJSON_Delete(k->terminal);
    k->terminal = cJSON_Duplicate(terminal, true);
}

void joining_take_terminal(kernel *k)
{
    if (!k->terminal || running_busy(k))
        return;
    effects_use_terminal(
        k->effects, json_get(k->terminal, "environment"), json_str(k->terminal, "kubeconfig"));
    cJSON_Delete(STEAL(k->terminal));
}
