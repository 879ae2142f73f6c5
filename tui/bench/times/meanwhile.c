// SPDX-License-Identifier: MIT
// Who comes back to a kernel is told in the last row what has happened since he last looked at it,
// or, when nobody has, since it began.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/bench_private.h"

#include <string.h>

enum { EACH = 2, NAME = 24 }; // so many cells of a kind are named, with so much of their names

void bench_joined(bench *b, const char *words)
{
    free(b->joined);
    b->joined = mem_strdup(words);
}

void meanwhile_begin(bench *b, const cJSON *welcome)
{
    b->looked = json_int_or(welcome, "seen", 0);
    cJSON_Delete(b->meanwhile);
    b->meanwhile = cJSON_CreateArray();
}

static cJSON *find(const cJSON *list, const char *id)
{
    cJSON *item = list ? list->child : NULL;
    while (item && !str_eq(item->valuestring, id))
        item = item->next;
    return item;
}

void meanwhile_event(bench *b, const cJSON *event)
{
    const char *state = json_str(event, "state"), *id = json_str(event, "cell");
    bool ended = str_eq(state, "ok") || str_eq(state, "failed") || str_eq(state, "cancelled");
    if (message_type_of(event) != MESSAGE_state || !ended || !id ||
        json_int_or(event, "seq", 0) <= b->looked)
        return;
    cJSON *was = find(b->meanwhile, id);
    if (was)
        cJSON_Delete(cJSON_DetachItemViaPointer(b->meanwhile, was));
    cJSON_AddItemToArray(b->meanwhile, cJSON_CreateString(id));
}

static void add_name(const bench *b, const struct run_cell *r, size_t i, buf *out)
{
    AUTO_BUF name = {0};
    slot_name(b, i, &name);
    size_t n = text_fit(buf_cstr(&name), name.len, NAME, &(int){0});
    if (r->count)
        buf_fmt(out, "[%ld] ", r->count);
    buf_add(out, name.data, n);
    buf_str(out, n < name.len ? "…" : "");
}

static void add_comma(buf *out)
{
    buf_str(out, out->len ? ", " : "");
}

static void add_cell(const bench *b, const struct run_cell *r, size_t i, buf *out)
{
    add_comma(out);
    add_name(b, r, i, out);
    buf_fmt(out, " %s", cell_state_name(r->state));
    if (r->mono_end > r->mono_start) {
        buf_char(out, ' ');
        duration_format(out, r->mono_end - r->mono_start);
    }
}

// The cells that ended in this state: the last ones by name, of the others how many.
static void add_ended(const bench *b, enum cell_state state, buf *out)
{
    size_t n = 0, seen = 0, at;
    for (int pass = 0; pass < 2; pass++) {
        const cJSON *id;
        cJSON_ArrayForEach(id, b->meanwhile)
        {
            const struct run_cell *r = fold_cell_by_id(b->fold, id->valuestring, NULL);
            if (!r || r->state != state || !slot_by_id(b, r->id, &at))
                continue;
            if (pass == 0)
                n++;
            else if (++seen + EACH > n)
                add_cell(b, r, at, out);
        }
        if (pass == 0 && n > EACH) {
            add_comma(out);
            buf_fmt(
                out, "%zu cell%s %s", n - EACH, n - EACH == 1 ? "" : "s", cell_state_name(state));
        }
    }
}

static void add_question(const bench *b, const cJSON *q, buf *out)
{
    size_t at;
    const cJSON *effect = json_get(q, "effect");
    int objects = cJSON_GetArraySize(json_get(effect, "objects"));
    if (!slot_by_id(b, json_str(q, "cell"), &at))
        return;
    add_comma(out);
    add_name(b, slot_run(b, at), at, out);
    buf_str(out, " asks");
    if (objects)
        buf_fmt(out, " to %s %d object%s",
            str_eq(json_str(effect, "class"), "destructive") ? "delete or replace" : "change",
            objects, objects == 1 ? "" : "s");
}

void meanwhile_say(bench *b)
{
    AUTO_BUF words = {0};
    const cJSON *q;
    add_ended(b, STATE_FAILED, &words);
    add_ended(b, STATE_OK, &words);
    add_ended(b, STATE_CANCELLED, &words);
    cJSON_ArrayForEach(q, b->asks)
    {
        if (json_int_or(q, "seq", 0) > b->looked)
            add_question(b, q, &words);
    }
    const char *joined = b->joined ? b->joined : "", *since = b->looked ? "meanwhile" : "so far";
    if (words.len)
        bench_say(b, "%s%s%s: %s", joined, *joined ? "; " : "", since, buf_cstr(&words));
    else if (*joined)
        bench_say(b, "%s", joined);
    free(STEAL(b->joined));
    cJSON_Delete(STEAL(b->meanwhile));
}
