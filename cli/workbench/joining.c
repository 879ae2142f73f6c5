// SPDX-License-Identifier: MIT
#include "cli/workbench/joining.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// Of the terminal: they name agents, tickets and clusters that may go with it.
static const char *const names[] = {"SSH_AUTH_SOCK", "KRB5CCNAME", "KUBECONFIG"};

int joining_keep(struct cli *cli, const char **duration, int64_t *ns, err *e)
{
    const char *usual = cli_getenv(cli, "FIRESTEEL_KEEP");
    *duration = cli->keep ? cli->keep : usual ? usual : "24h";
    int result = duration_parse(*duration, ns, e);
    return result < 0 ? err_wrap(e, cli->keep ? "--keep" : "FIRESTEEL_KEEP") : 0;
}

cJSON *joining_greeting(struct cli *cli, err *e)
{
    cJSON *greeting = cJSON_CreateObject();
    cJSON *terminal = json_object_at(greeting, "terminal");
    cJSON *environment = json_object_at(terminal, "environment");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = cli_getenv(cli, names[i]);
        json_set(environment, names[i], value ? cJSON_CreateString(value) : cJSON_CreateNull());
    }
    AUTO_FREE char *kubeconfig = cli_kubeconfig(cli, cli->cwd);
    json_set_str(terminal, "kubeconfig", kubeconfig);
    const char *duration;
    int64_t ns;
    if (cli->keep && joining_keep(cli, &duration, &ns, e) == 0)
        json_set_int(greeting, "lifetime_ms", ns / CLOCK_MS);
    return greeting;
}

static void add_all(cJSON *wants, const char *name, char **texts)
{
    for (cJSON *list = texts && *texts ? json_array_at(wants, name) : NULL; list && *texts; texts++)
        cJSON_AddItemToArray(list, cJSON_CreateString(*texts));
}

cJSON *joining_wants(struct cli *cli, const struct wanted *w, err *e)
{
    cJSON *wants = cJSON_CreateObject();
    size_t bytes = 0;
    AUTO_FREE char *kubeconfig =
        w->kubeconfig ? cli_kubeconfig_list(w->kubeconfig, cli->cwd) : NULL;
    add_all(wants, "parameters", w->parameters);
    add_all(wants, "protect", w->protect);
    json_set_str(wants, "context", w->context);
    json_set_str(wants, "namespace", w->namespace_);
    json_set_str(wants, "kubeconfig", kubeconfig);
    json_set_str(wants, "registry", w->registry);
    if (w->sandbox)
        json_set_bool(wants, "sandbox", true);
    if (w->memory && cli_size(w->memory, &bytes, e) == 0)
        json_set_int(wants, "memory", (int64_t)bytes);
    if (wants->child)
        return wants;
    cJSON_Delete(wants);
    return NULL;
}

static void join_texts(buf *out, const cJSON *texts)
{
    const cJSON *text;
    cJSON_ArrayForEach(text, texts)
    {
        buf_fmt(out, "%s%s", text == texts->child ? "" : ", ", text->valuestring);
    }
}

char *joining_difference(const struct kernel *k, const cJSON *wants)
{
    AUTO_BUF all = {0};
    if (k->refused)
        return str_fmt("its version is another one, so it cannot be joined: %s", k->refused);
    if (wants && !k->differs)
        return mem_strdup("its version is an older one, which cannot say whether it has what was "
                          "asked for");
    join_texts(&all, k->differs);
    return all.len ? buf_take(&all) : NULL;
}

char *joining_words(const struct kernel *k, const char *differs)
{
    enum { HASH = 4 }; // by which the workbench names runs
    AUTO_BUF words = {0};
    size_t n = strlen(k->run);
    buf_fmt(&words, "joined %s", k->run + (n > HASH ? n - HASH : 0));
    if (differs)
        buf_fmt(&words, " without %s;", differs);
    if (k->unused >= 0) {
        buf_str(&words, differs ? " idle for " : ", idle for ");
        duration_age(&words, k->unused * CLOCK_MS);
    }
    if (k->holds)
        buf_fmt(&words, ": %s", k->holds);
    if (k->release && !str_eq(k->release, FIRESTEEL_VERSION))
        buf_fmt(&words, "; its version is %s, this one's is %s: 00 restarts it", k->release,
            FIRESTEEL_VERSION);
    return buf_take(&words);
}
