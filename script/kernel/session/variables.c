// SPDX-License-Identifier: MIT
#include "script/kernel/session/variables.h"

#include "base/json/secret.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/session/running.h"

#include <stdlib.h>
#include <string.h>

#define LUA "lua"

// A client's question while its parts are on their way; the client may be gone when they are here.
struct look {
    kernel *kernel;
    int64_t peer;
    cJSON *message;
    cJSON *rows, *notes; // of the reply
    cJSON *one;          // the value that was asked for alone; NULL: none yet
    int64_t more;
    err why;
    int waits; // for so many parts
};

// The names of Lua, and of all other languages.
static char *key_of(bool lua, const char *name)
{
    return str_fmt("%c%s", lua ? 'l' : 'k', name);
}

// Most executions after one another are of few cells.
static size_t cell_number(kernel *k, const char *id)
{
    size_t n = strv_len(k->setters);
    for (size_t i = n; i-- > 0;)
        if (str_eq(k->setters[i], id))
            return i;
    k->setters = strv_add(k->setters, id);
    return n;
}

void variables_note(kernel *k, const execution *x)
{
    const cJSON *name;
    if (!k->variables) {
        k->variables = hashmap_new();
        k->setters = mem_array(1, sizeof *k->setters);
    }
    cJSON_ArrayForEach(name, json_get(x->used, "writes"))
    {
        AUTO_FREE char *key = key_of(x->plan.kind != PLAN_KERNEL, name->string);
        hashmap_set(k->variables, key, strlen(key), cell_number(k, x->turn.cell));
    }
}

size_t variables_count(const kernel *k)
{
    return k->variables ? hashmap_count(k->variables) : 0;
}

void variables_done(kernel *k)
{
    hashmap_free(k->variables);
    strv_free(k->setters);
}

static const char *setter_of(const kernel *k, bool lua, const char *name)
{
    AUTO_FREE char *key = key_of(lua, name);
    size_t number;
    bool known = k->variables && hashmap_get(k->variables, key, strlen(key), &number);
    return known ? k->setters[number] : NULL;
}

static void look_free(struct look *l)
{
    cJSON_Delete(l->message);
    cJSON_Delete(l->rows);
    cJSON_Delete(l->notes);
    cJSON_Delete(l->one);
    free(l);
}

// What a variable with a secret's name holds is told to nobody.
static void hide(cJSON *value, const char *name, const char *member)
{
    if (secret_name(name))
        json_set_str(value, member, SECRET_TOLD);
}

static void finish(struct look *l)
{
    const char *name = json_str(l->message, "name");
    peer *p = server_peer(l->kernel->server, l->peer);
    if (--l->waits > 0)
        return;
    cJSON *reply = l->one ? STEAL(l->one) : cJSON_CreateObject();
    if (name) {
        hide(reply, name, "text");
    } else {
        json_set(reply, "variables", STEAL(l->rows));
        json_set(reply, "notes", STEAL(l->notes));
        json_set_int(reply, "more", l->more);
    }
    mask_json(port_mask(l->kernel->effects->spec.port), reply);
    if (p && l->why.code)
        server_refuse(p, l->message, &l->why);
    else if (p)
        server_reply(p, l->message, STEAL(reply));
    cJSON_Delete(reply);
    look_free(l);
}

static void note(struct look *l, const char *of, const char *language, const char *why)
{
    cJSON *one = cJSON_CreateObject();
    json_set_str(one, "of", of);
    json_set_str(one, "language", language);
    json_set_str(one, "why", why);
    cJSON_AddItemToArray(l->notes, one);
}

static void add_rows(struct look *l, const char *of, const char *language, const cJSON *told)
{
    const cJSON *row;
    l->more += json_int_or(told, "more", 0);
    cJSON_ArrayForEach(row, json_get(told, "rows"))
    {
        const char *name = json_str_or(row, "name", "");
        cJSON *copy = cJSON_Duplicate(row, true);
        json_set_str(copy, "of", of);
        json_set_str(copy, "language", language);
        json_set_str(copy, "cell", setter_of(l->kernel, str_eq(of, LUA), name));
        hide(copy, name, "preview");
        cJSON_AddItemToArray(l->rows, copy);
    }
}

static void take_one(struct look *l, const cJSON *told)
{
    const char *why = told ? json_str(told, "why") : "no answer came in time; try again";
    if (why)
        err_set(&l->why, told ? ERR_NOT_FOUND : ERR_UNAVAILABLE, "%s", why);
    else
        l->one = cJSON_Duplicate(told, true);
}

static void on_lua(void *arg, const cJSON *told)
{
    struct look *l = arg;
    if (json_str(l->message, "name"))
        take_one(l, told);
    else if (told)
        add_rows(l, LUA, "Lua", told);
    else
        note(l, LUA, "Lua", "no answer came in time");
    finish(l);
}

static void on_kernels(void *arg, const cJSON *told, const err *why)
{
    struct look *l = arg;
    const cJSON *one;
    if (json_str(l->message, "name") && !why)
        take_one(l, told);
    else if (why)
        l->why = *why;
    cJSON_ArrayForEach(one, json_get(told, "kernels"))
    {
        const char *of = json_str_or(one, "kernel", ""), *refused = json_str(one, "why"),
                   *language = json_str_or(one, "language", "");
        if (refused)
            note(l, of, language, refused);
        else
            add_rows(l, of, language, one);
    }
    finish(l);
}

// Of Lua, between its cells.
static void ask_lua(struct look *l)
{
    kernel *k = l->kernel;
    const char *name = json_str(l->message, "name"), *why = NULL;
    cJSON *args = cJSON_CreateObject();
    json_set_str(args, "name", name);
    struct interp_question question = {"variables", args, on_lua, l};
    l->waits++;
    if (running_busy(k))
        why = "a cell runs, told after it";
    else if (!interp_ask(k->interp, question))
        why = "another question is being answered";
    if (!why)
        return;
    cJSON_Delete(args);
    if (name)
        err_set(&l->why, ERR_UNAVAILABLE, "%s", why);
    else
        note(l, LUA, "Lua", why);
    finish(l);
}

static void ask_kernels(struct look *l)
{
    cJSON *args = cJSON_CreateObject();
    json_set_str(args, "name", json_str(l->message, "name"));
    json_set_str(args, "kernel", json_str(l->message, "of"));
    l->waits++;
    if (lookups_ask(l->kernel->lookups, "jupyter.variables", args, on_kernels, l, &l->why) < 0)
        finish(l);
}

int variables_look(kernel *k, peer *p, const cJSON *m, err *e)
{
    const char *name = json_str(m, "name"), *of = json_str(m, "of");
    if (k->stopping)
        return err_set(e, ERR_UNAVAILABLE, "the run is over");
    if (name && !of)
        return err_set(e, ERR_USAGE, "whose %s? `of` says it: lua, or the name of a kernel", name);
    struct look *l = mem_alloc(sizeof *l);
    *l = (struct look){.kernel = k,
        .peer = server_number(p),
        .message = cJSON_Duplicate(m, true),
        .rows = cJSON_CreateArray(),
        .notes = cJSON_CreateArray(),
        .waits = 1};
    if (!name || str_eq(of, LUA))
        ask_lua(l);
    if (!name || !str_eq(of, LUA))
        ask_kernels(l);
    finish(l);
    return 1;
}
