// SPDX-License-Identifier: MIT
#include "script/kernel/effects/rows.h"

#include "base/json/rowset.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/protocol/message.h"

#include <stdlib.h>
#include <string.h>

struct row {
    cJSON *about;          // NULL: the table's one
    bool has_name, has_ns; // else they are "" here
    char uid[];            // and after its end name and namespace
};

struct table {
    int64_t display;
    char *cell;
    cJSON *actions, *about;
    struct row **rows; // sorted by uid
    size_t n, cap;
    struct table *next;
};

struct rows {
    struct table *tables;
};

rows *rows_new(void)
{
    return mem_alloc(sizeof(rows));
}

static struct row *row_new(const cJSON *from)
{
    const char *uid = json_str(from, "uid"), *name = json_str(from, "name"),
               *ns = json_str(from, "namespace");
    const cJSON *about = json_get(from, "about");
    AUTO_BUF words = {0};
    buf_add(&words, uid, strlen(uid) + 1);
    buf_add(&words, name ? name : "", name ? strlen(name) + 1 : 1);
    buf_add(&words, ns ? ns : "", ns ? strlen(ns) + 1 : 1);
    struct row *r = mem_alloc(sizeof *r + words.len);
    *r = (struct row){.about = about ? cJSON_Duplicate(about, true) : NULL,
        .has_name = name != NULL,
        .has_ns = ns != NULL};
    memcpy(r->uid, words.data, words.len);
    return r;
}

static void row_free(struct row *r)
{
    cJSON_Delete(r->about);
    free(r);
}

static const char *name_of(const struct row *r)
{
    return r->uid + strlen(r->uid) + 1;
}

static const char *ns_of(const struct row *r)
{
    return name_of(r) + strlen(name_of(r)) + 1;
}

static void drop_contents(struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        row_free(t->rows[i]);
    free(STEAL(t->rows));
    t->n = t->cap = 0;
    cJSON_Delete(STEAL(t->actions));
    cJSON_Delete(STEAL(t->about));
}

static void table_free(struct table *t)
{
    drop_contents(t);
    free(t->cell);
    free(t);
}

void rows_free(rows *r)
{
    while (r && r->tables) {
        struct table *t = r->tables;
        r->tables = t->next;
        table_free(t);
    }
    free(r);
}

static struct table *find(const rows *r, int64_t display)
{
    struct table *t = r->tables;
    while (t && t->display != display)
        t = t->next;
    return t;
}

// The place of the uid, or the place where it would be inserted.
static size_t position(const struct table *t, const char *uid, bool *there)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(t->rows[middle]->uid, uid) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *there = low < t->n && str_eq(t->rows[low]->uid, uid);
    return low;
}

static void change_row(struct table *t, const cJSON *row)
{
    const char *uid = json_str(row, "uid");
    bool there, deleted = json_bool_or(row, "deleted", false);
    if (!uid)
        return;
    size_t at = position(t, uid, &there);
    if (there)
        row_free(t->rows[at]);
    if (there && deleted)
        memmove(&t->rows[at], &t->rows[at + 1], (--t->n - at) * sizeof *t->rows);
    if (deleted || (!there && t->n >= ROWSET_TABLE))
        return;
    if (!there) {
        if (t->n == t->cap) {
            t->cap = t->cap ? 2 * t->cap : 16;
            t->rows = mem_resize(t->rows, t->cap, sizeof *t->rows);
        }
        memmove(&t->rows[at + 1], &t->rows[at], (t->n++ - at) * sizeof *t->rows);
    }
    t->rows[at] = row_new(row);
}

static void change_rows(struct table *t, const cJSON *list)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, list)
    {
        change_row(t, row);
    }
}

// The part of a bundle that lists actions; NULL if none does.
static const cJSON *table_of(const cJSON *data)
{
    const cJSON *part;
    cJSON_ArrayForEach(part, data)
    {
        if (cJSON_IsArray(json_get(part, "actions")))
            return part;
    }
    return NULL;
}

static void take_whole(struct table *t, const cJSON *table)
{
    const cJSON *about = json_get(table, "about");
    drop_contents(t);
    t->actions = cJSON_Duplicate(json_get(table, "actions"), true);
    t->about = about ? cJSON_Duplicate(about, true) : cJSON_CreateObject();
    change_rows(t, json_get(table, "rows"));
}

static void on_display(rows *r, const cJSON *event)
{
    const cJSON *table = table_of(json_get(event, "data"));
    if (!table)
        return;
    struct table *t = mem_alloc(sizeof *t);
    *t = (struct table){.display = json_int_or(event, "id", 0),
        .cell = mem_strdup(json_str_or(event, "cell", "")),
        .next = r->tables};
    take_whole(t, table);
    r->tables = t;
}

static void on_update(rows *r, const cJSON *event)
{
    struct table *t = find(r, json_int_or(event, "id", 0));
    if (!t)
        return;
    const cJSON *table = table_of(json_get(event, "data"));
    if (table)
        take_whole(t, table);
    change_rows(t, json_get(event, "rows"));
}

static void forget(rows *r, const char *in_cell)
{
    for (struct table **at = &r->tables; *at;) {
        struct table *t = *at;
        if (!str_eq(t->cell, in_cell)) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        table_free(t);
    }
}

void rows_event(rows *r, const cJSON *event)
{
    switch (message_type_of(event)) {
    case MESSAGE_display:
        on_display(r, event);
        break;
    case MESSAGE_update:
        on_update(r, event);
        break;
    case MESSAGE_cleared:
        forget(r, json_str(event, "cell"));
        break;
    case MESSAGE_state:
        if (str_eq(json_str(event, "state"), "running"))
            forget(r, json_str(event, "cell"));
        break;
    case MESSAGE_edited:
        if (str_eq(json_str(event, "change"), "delete"))
            forget(r, json_str(event, "cell"));
        break;
    default:
        break;
    }
}

void rows_drop(rows *r, int64_t display)
{
    struct table **at = &r->tables;
    while (*at && (*at)->display != display)
        at = &(*at)->next;
    struct table *t = *at;
    if (!t)
        return;
    *at = t->next;
    table_free(t);
}

static int check_action(const struct table *t, const char *action, err *e)
{
    AUTO_BUF known = {0};
    const cJSON *a;
    cJSON_ArrayForEach(a, t->actions)
    {
        if (!cJSON_IsString(a))
            continue;
        if (str_eq(a->valuestring, action))
            return 0;
        buf_fmt(&known, "%s%s", known.len ? ", " : "", a->valuestring);
    }
    return err_set(e, ERR_USAGE, "these rows do not take \"%s\", but %s", action, buf_cstr(&known));
}

cJSON *rows_subject(const rows *r, int64_t display, const char *action, const char *uid,
    const char **in_cell, err *e)
{
    const struct table *t = find(r, display);
    bool there;
    if (!t) {
        err_set(e, ERR_NOT_FOUND,
            "display %lld takes no actions, or is gone: its cell ran again or was cleared",
            (long long)display);
        return NULL;
    }
    if (check_action(t, action, e) < 0)
        return NULL;
    size_t at = uid ? position(t, uid, &there) : 0;
    if (!uid || !there) {
        err_set(e, uid ? ERR_NOT_FOUND : ERR_USAGE,
            uid ? "this row is not in the table any more" : "which row? Its uid is needed");
        return NULL;
    }
    const struct row *row = t->rows[at];
    const cJSON *about = row->about ? row->about : t->about, *field;
    cJSON *subject = cJSON_CreateObject();
    json_set_str(subject, "namespace", row->has_ns ? ns_of(row) : NULL);
    json_set_str(subject, "name", row->has_name ? name_of(row) : NULL);
    json_set_str(subject, "uid", row->uid);
    json_set_str(subject, "context", json_str(t->about, "context"));
    cJSON_ArrayForEach(field, about)
    {
        json_set(subject, field->string, cJSON_Duplicate(field, true));
    }
    *in_cell = t->cell;
    return subject;
}
