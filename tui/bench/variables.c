// SPDX-License-Identifier: MIT
// The variables of cells, as a table (:vars). The kernel is asked when it is opened and after each
// cell, as long as the table is on top. The table is a display of the workbench itself, a peek.
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/views.h"

#include <stdio.h>
#include <string.h>

enum { HERE = -1 }; // number of the display; the kernel's are above 0
#define TABLE "application/vnd.firesteel.table+json"

static bool is_looked_at(const bench *b)
{
    return table_display(b->top) == HERE;
}

// "9.5Mi", as tables order sizes.
static void add_bytes(cJSON *cells, const cJSON *variable)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    double bytes = (double)json_int_or(variable, "bytes", -1);
    size_t unit = 0;
    char words[32] = "";
    while (bytes >= 1024 && unit + 1 < ARRAY_LEN(units)) {
        bytes /= 1024;
        unit++;
    }
    if (bytes >= 0)
        snprintf(words, sizeof words, "%.*f%s", unit && bytes < 10 ? 1 : 0, bytes, units[unit]);
    cJSON_AddItemToArray(cells, cJSON_CreateString(words));
}

static void add_text(cJSON *cells, const cJSON *variable, const char *member)
{
    cJSON_AddItemToArray(cells, cJSON_CreateString(json_str_or(variable, member, "")));
}

static void add_cell(const bench *b, cJSON *cells, const cJSON *variable)
{
    AUTO_BUF name = {0};
    size_t i;
    if (slot_by_id(b, json_str(variable, "cell"), &i))
        slot_name(b, i, &name);
    cJSON_AddItemToArray(cells, cJSON_CreateString(buf_cstr(&name)));
}

static char *uid_of(const cJSON *variable)
{
    return str_fmt("%s %s", json_str_or(variable, "of", ""), json_str_or(variable, "name", ""));
}

static bool has_several(const cJSON *variables)
{
    const cJSON *one, *first = variables ? variables->child : NULL;
    cJSON_ArrayForEach(one, variables)
    {
        if (!str_eq(json_str(one, "of"), json_str(first, "of")))
            return true;
    }
    return false;
}

static void add_row(const bench *b, cJSON *rows, const cJSON *variable, bool several)
{
    AUTO_FREE char *uid = uid_of(variable);
    cJSON *row = cJSON_CreateObject();
    json_set_str(row, "uid", uid);
    json_set_str(row, "name", json_str(variable, "name"));
    cJSON *cells = json_array_at(row, "cells");
    add_text(cells, variable, "name");
    add_text(cells, variable, "type");
    add_text(cells, variable, "shape");
    add_bytes(cells, variable);
    add_text(cells, variable, "preview");
    add_cell(b, cells, variable);
    if (several)
        add_text(cells, variable, "of");
    cJSON_AddItemToArray(rows, row);
}

// What is not shown, and why.
static char *title_of(const bench *b)
{
    AUTO_BUF title = {0};
    const cJSON *note;
    buf_fmt(&title, "variables%s", b->variables.all ? ", all" : "");
    cJSON_ArrayForEach(note, b->variables.notes)
    {
        buf_fmt(&title, "  %s: %s", json_str_or(note, "of", ""), json_str_or(note, "why", ""));
    }
    return buf_take(&title);
}

static cJSON *table_of(const bench *b)
{
    static const char *const columns[] = {"NAME", "TYPE", "SHAPE", "BYTES", "VALUE", "CELL", "IN"},
                             *const keep[] = {"NAME", "TYPE", "VALUE"};
    bool several = has_several(b->variables.rows);
    AUTO_FREE char *title = title_of(b);
    cJSON *table = cJSON_CreateObject();
    int n = (int)ARRAY_LEN(columns) - !several;
    json_set(table, "columns", cJSON_CreateStringArray(columns, n));
    json_set(table, "keep", cJSON_CreateStringArray(keep, (int)ARRAY_LEN(keep)));
    json_set_str(table, "title", title);
    json_set_str(table, "enter", "variable");
    json_set_bool(table, "natural", true);
    json_set_int(table, "more", b->variables.more);
    cJSON *rows = json_array_at(table, "rows");
    const cJSON *variable;
    cJSON_ArrayForEach(variable, b->variables.rows)
    {
        if (b->variables.all || !json_bool_or(variable, "hidden", false))
            add_row(b, rows, variable, several);
    }
    return table;
}

static void show(bench *b)
{
    bool is_new = !bench_display(b, HERE);
    AUTO_JSON *event = message_new(is_new ? MESSAGE_display : MESSAGE_update);
    json_set_int(event, "id", HERE);
    json_set_str(event, "cell", "");
    json_set_bool(event, "live", true);
    json_set(json_object_at(event, "data"), TABLE, table_of(b));
    json_set_str(json_object_at(event, "data"), "text/plain", "variables");
    peeks_event(b, event);
    if (is_looked_at(b))
        b->top->ops->heard(b->top, event);
    b->dirty = true;
}

static bool has_note(const cJSON *notes, const char *of)
{
    const cJSON *note;
    cJSON_ArrayForEach(note, notes)
    {
        if (str_eq(json_str(note, "of"), of))
            return true;
    }
    return false;
}

// Those of a language that tells nothing now stay as they were.
static void take(bench *b, const cJSON *reply)
{
    cJSON *rows = cJSON_Duplicate(json_get(reply, "variables"), true), *old = b->variables.rows;
    cJSON *notes = cJSON_Duplicate(json_get(reply, "notes"), true);
    const cJSON *row;
    cJSON_ArrayForEach(row, old)
    {
        if (has_note(notes, json_str(row, "of")))
            cJSON_AddItemToArray(rows, cJSON_Duplicate(row, true));
    }
    cJSON_Delete(old);
    cJSON_Delete(b->variables.notes);
    b->variables.rows = rows;
    b->variables.notes = notes;
    b->variables.more = json_int_or(reply, "more", 0);
}

static void ask(bench *b);

static void on_told(bench *b, void *arg, const cJSON *reply)
{
    const struct view_ops *from = arg; // the view on top when it was opened; NULL: it is open
    b->variables.asked = false;
    if (!json_bool_or(reply, "ok", false) || !cJSON_IsArray(json_get(reply, "variables"))) {
        const char *why = json_str(json_get(reply, "error"), "message");
        bench_complain(b, "%s", why ? why : "the kernel has gone");
        return;
    }
    take(b, reply);
    if (from && b->top->ops != from)
        return;
    if (from && !is_looked_at(b)) {
        show(b);
        bench_hush(b);
        table_push_peek(b, HERE, cJSON_CreateObject());
    } else if (is_looked_at(b)) {
        show(b);
    }
    if (b->variables.again)
        ask(b);
}

static void ask(bench *b)
{
    b->variables.again = b->variables.asked;
    if (b->variables.asked || !is_looked_at(b) || !b->client)
        return;
    b->variables.asked = true;
    remote_ask(b, message_new(MESSAGE_variables), on_told, NULL);
}

void variables_open(bench *b)
{
    if (!remote_ready(b, false))
        return;
    if (is_looked_at(b)) {
        ask(b);
        return;
    }
    b->variables.all = false;
    b->variables.asked = true;
    remote_ask(b, message_new(MESSAGE_variables), on_told, (void *)b->top->ops);
}

void variables_hear(bench *b, const cJSON *event)
{
    const char *state = json_str_or(event, "state", "");
    if (!event)
        cJSON_Delete(STEAL(b->variables.rows)); // another kernel
    bool ends = str_eq(state, "ok") || str_eq(state, "failed") || str_eq(state, "cancelled");
    if (is_looked_at(b) && (!event || (str_eq(json_str(event, "type"), "state") && ends)))
        ask(b);
}

static const cJSON *find(const bench *b, const char *uid)
{
    const cJSON *variable;
    cJSON_ArrayForEach(variable, b->variables.rows)
    {
        AUTO_FREE char *its = uid_of(variable);
        if (str_eq(its, uid))
            return variable;
    }
    return NULL;
}

static void on_one(bench *b, void *arg, const cJSON *reply)
{
    AUTO_FREE char *name = arg;
    AUTO_FREE char *title = str_fmt("%s  %s", name, json_str_or(reply, "kind", ""));
    if (!json_bool_or(reply, "ok", false))
        bench_complain(
            b, "%s", json_str_or(json_get(reply, "error"), "message", "the kernel has gone"));
    else if (is_looked_at(b))
        page_push_peek(b, 0, title, json_str_or(reply, "text", ""));
}

void variables_enter(bench *b, const char *uid)
{
    const cJSON *variable = find(b, uid);
    if (!variable || !remote_ready(b, false))
        return;
    cJSON *m = message_new(MESSAGE_variables);
    json_set_str(m, "name", json_str(variable, "name"));
    json_set_str(m, "of", json_str(variable, "of"));
    remote_ask(b, m, on_one, mem_strdup(json_str(variable, "name")));
}

void variables_go_to(bench *b, const char *uid)
{
    const cJSON *variable = find(b, uid);
    const char *id = json_str(variable, "cell");
    if (!slot_by_id(b, id, NULL)) {
        bench_say(b, "no cell that is still here has set %s", json_str_or(variable, "name", "it"));
        return;
    }
    view_pop(b->top);
    bench_select(b, id);
}

void variables_turn(bench *b)
{
    b->variables.all = !b->variables.all;
    show(b);
    bench_say(b, b->variables.all
                     ? "with functions, modules, classes and names that begin with _"
                     : "without functions, modules, classes and names that begin with _");
}

void variables_free(bench *b)
{
    cJSON_Delete(b->variables.rows);
    cJSON_Delete(b->variables.notes);
}
