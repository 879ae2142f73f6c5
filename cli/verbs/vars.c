// SPDX-License-Identifier: MIT
// firesteel vars: what the variables of a living kernel hold.
#include "base/json/tabletext.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/kernels.h"
#include "cli/options.h"
#include "cli/say.h"
#include "script/protocol/client.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATIENCE_MS = 15000 };

struct asking {
    loop *loop;
    client *client;
    const char *name, *of; // one alone; of: whose; NULL: it is looked for. NULL: all of them
    cJSON *reply;          // the last one; NULL: none came
};

static void on_event(void *arg, message_type type, const cJSON *message)
{
}

static void on_closed(void *arg, const err *reason)
{
    loop_stop(((struct asking *)arg)->loop);
}

static void on_timeout(void *arg)
{
    loop_stop(((struct asking *)arg)->loop);
}

// Whose variable of this name there is; NULL: nobody's.
static const char *owner_of(const cJSON *variables, const char *name)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, variables)
    {
        if (str_eq(json_str(one, "name"), name))
            return json_str(one, "of");
    }
    return NULL;
}

static void ask(struct asking *a);

static void on_reply(void *arg, const cJSON *reply)
{
    struct asking *a = arg;
    bool listed = a->name && !a->of;
    cJSON_Delete(a->reply);
    a->reply = cJSON_Duplicate(reply, true);
    if (listed)
        a->of = owner_of(json_get(a->reply, "variables"), a->name);
    if (listed && a->of) {
        a->of = mem_strdup(a->of); // the reply goes
        ask(a);
    } else {
        loop_stop(a->loop);
    }
}

static void ask(struct asking *a)
{
    cJSON *m = message_new(MESSAGE_variables);
    if (a->name && a->of) {
        json_set_str(m, "name", a->name);
        json_set_str(m, "of", a->of);
    }
    client_request(a->client, m, on_reply, a);
}

// The kernel's answer, new; NULL and the error.
static cJSON *look(const struct kernel *k, const char *name, err *e)
{
    static const struct client_ops ops = {.event = on_event, .closed = on_closed};
    ERR_GUARD(e);
    struct asking a = {.name = name};
    a.loop = loop_new(e);
    if (!a.loop)
        return NULL;
    a.client = client_connect(a.loop, k->socket, &ops, &a, e);
    if (a.client) {
        loop_timer *timer = loop_timer_new(a.loop, on_timeout, &a);
        client_hello_looking(a.client);
        ask(&a);
        loop_timer_start(timer, PATIENCE_MS, 0);
        loop_run(a.loop);
        client_free(a.client);
        loop_timer_free(timer);
        if (!a.reply)
            err_set(e, ERR_TIMEOUT, "%s does not answer", k->run);
    }
    loop_free(a.loop);
    const cJSON *error = json_get(a.reply, "error");
    bool missing = name && !a.of && a.reply && !error;
    if (error)
        err_set(e, ERR_FAILED, "%s", json_str_or(error, "message", "?"));
    else if (missing)
        err_set(e, ERR_NOT_FOUND, "%s has no variable %s", k->run, name);
    free((char *)a.of);
    if (e->code)
        cJSON_Delete(STEAL(a.reply));
    return a.reply;
}

static void add_row(cJSON *rows, const cJSON *variable)
{
    AUTO_FREE char *bytes = json_get(variable, "bytes")
                                ? str_fmt("%lld", (long long)json_int_or(variable, "bytes", 0))
                                : mem_strdup("");
    const char *cells[] = {json_str_or(variable, "name", ""), json_str_or(variable, "of", ""),
        json_str_or(variable, "type", ""), json_str_or(variable, "shape", ""), bytes,
        json_str_or(variable, "preview", "")};
    cJSON_AddItemToArray(rows, cJSON_CreateStringArray(cells, (int)ARRAY_LEN(cells)));
}

static void print_table(const cJSON *reply, bool all)
{
    static const char *const columns[] = {"NAME", "IN", "TYPE", "SHAPE", "BYTES", "VALUE"};
    AUTO_JSON *table = cJSON_CreateObject();
    AUTO_BUF text = {0};
    json_set(table, "columns", cJSON_CreateStringArray(columns, (int)ARRAY_LEN(columns)));
    cJSON *rows = json_array_at(table, "rows");
    const cJSON *one;
    cJSON_ArrayForEach(one, json_get(reply, "variables"))
    {
        if (all || !json_bool_or(one, "hidden", false))
            add_row(rows, one);
    }
    tabletext_print(table, 0, &text);
    say(stdout, "%s", buf_cstr(&text));
    cJSON_ArrayForEach(one, json_get(reply, "notes"))
    {
        say(stderr, "%s: %s\n", json_str_or(one, "of", "?"), json_str_or(one, "why", "?"));
    }
}

static void print_json(const cJSON *reply, bool one)
{
    AUTO_JSON *out = cJSON_CreateObject();
    static const char *const members[][3] = {
        {"variables", "notes", "more"}, {"kind", "text", NULL}};
    for (size_t i = 0; i < 3 && members[one][i]; i++)
        json_set(out, members[one][i], cJSON_Duplicate(json_get(reply, members[one][i]), true));
    AUTO_FREE char *text = cJSON_Print(out);
    say(stdout, "%s\n", text);
}

static int vars(struct cli *cli, const char *run, const char *name, bool all, bool json)
{
    struct kernels kernels;
    err e = {0};
    if (kernels_find(cli, &kernels, &e) < 0)
        return cli_error(cli, &e);
    const struct kernel *k = kernels_get(&kernels, run, &e);
    if (k && k->refused)
        err_set(&e, ERR_FAILED, "%s: %s", k->run, k->refused);
    AUTO_JSON *reply = k && !e.code ? look(k, name, &e) : NULL;
    kernels_done(&kernels);
    if (!reply)
        return cli_error(cli, &e);
    if (json)
        print_json(reply, name != NULL);
    else if (name)
        say(stdout, "%s\n", json_str_or(reply, "text", ""));
    else
        print_table(reply, all);
    return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    bool all = false;
    const char *output = NULL;
    const struct option options[] = {
        {"all", 'a', NULL, "functions, modules, classes and names that begin with _, too",
            .given = &all},
        {"output", 'o', "FORMAT", "json: for programs, with the cell that has set each name",
            .text = &output},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &vars_verb, options, argc, argv, &rest, &code) == 0) {
        size_t n = rest ? strv_len(rest) : 0;
        if (n > 2)
            code = cli_usage(cli, &vars_verb, "one kernel, and one name at a time");
        else if (output && !str_eq(output, "json"))
            code = cli_usage(cli, &vars_verb, "-o %s: there is json", output);
        else
            code = vars(cli, n ? rest[0] : NULL, n > 1 ? rest[1] : NULL, all, output != NULL);
    }
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb vars_verb = {
    .name = "vars",
    .summary = "show what the variables of a living kernel hold",
    .usage =
        "[RUN [NAME]] [-a] [-o json]\n\nRUN is a name from `firesteel ls`, its beginning or "
        "end; without it, the only one. With NAME the value is printed whole (64 KiB at most).",
    .run = run,
};
