// SPDX-License-Identifier: MIT
// Asks the kernel about the name at the cursor: for completions, or for a description. Later typing
// waits for the answer; an answer that comes too late is dropped.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/plan.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/views.h"

#include <ctype.h>
#include <string.h>

struct question {
    char *cell;
    uint64_t revision;
    pos at;
};

// Has the cell names that somebody knows: Lua's, or those of a Jupyter kernel?
static bool has_names(const bench *b, const struct slot *s)
{
    const notebook *nb = fold_notebook(b->fold);
    struct plan p = {0};
    size_t i;
    if (s->language == SYNTAX_LUA || s->language == SYNTAX_YAML)
        return true;
    bool kernel = notebook_find(nb, s->id, &i) &&
                  plan_cell(nb, notebook_cell(nb, i), &p, NULL) == 0 && p.kind == PLAN_KERNEL;
    plan_done(&p);
    return kernel;
}

// Is there a name before the cursor, in a cell that has names?
static bool asks(const bench *b, struct slot *s)
{
    pos from, to, at = edit_cursor(s->edit);
    const char *line = text_line(edit_text(s->edit), at.line, NULL);
    if (!has_names(b, s) || edit_selection(s->edit, &from, &to) || !at.byte)
        return false;
    char before = line[at.byte - 1];
    if (s->language == SYNTAX_YAML) // where there is something: behind "key: " and "- ", too
        return strspn(line, " ") < at.byte;
    return isalnum((unsigned char)before) || before == '_' || before == '.' || before == ':';
}

static size_t offset(const text *t, pos at)
{
    size_t bytes = at.byte, n;
    for (size_t i = 0; i < at.line; i++) {
        text_line(t, i, &n);
        bytes += n + 1;
    }
    return bytes;
}

// The slot of the question, if it is unchanged; else NULL.
static struct slot *still(bench *b, const struct question *q)
{
    struct slot *s = slot_by_id(b, q->cell, NULL);
    bool same = s && text_revision(edit_text(s->edit)) == q->revision &&
                pos_compare(edit_cursor(s->edit), q->at) == 0;
    return same && b->top->ops->keys == &notebook_keys && view_mode(b->top) == MODE_EDIT ? s : NULL;
}

static bool refused(bench *b, const cJSON *reply, const char *what)
{
    const cJSON *error = json_get(reply, "error");
    if (json_bool_or(reply, "ok", false))
        return false;
    if (str_eq(json_str(error, "code"), "unavailable"))
        bench_complain(b, "no %s now: %s", what, json_str_or(error, "message", ""));
    else
        bench_say(b, "%s", json_str_or(error, "message", "the kernel has gone"));
    return true;
}

static void on_completions(bench *b, void *arg, const cJSON *reply)
{
    struct question *q = arg;
    b->asked -= b->asked > 0;
    struct slot *s = still(b, q);
    if (s && !refused(b, reply, "completion")) {
        int64_t start = json_int_or(reply, "start", 0), end = json_int_or(reply, "end", 0);
        size_t typed = end > start ? (size_t)(end - start) : 0;
        if (typed <= q->at.byte)
            complete_push(b, s, (pos){q->at.line, q->at.byte - typed}, reply);
    }
    free(q->cell);
    free(q);
}

static void on_inspected(bench *b, void *arg, const cJSON *reply)
{
    struct question *q = arg;
    b->asked -= b->asked > 0;
    if (still(b, q) && !refused(b, reply, "documentation")) {
        const cJSON *data = json_get(reply, "data");
        inspect_push(b, json_str_or(data, "text/plain", ""));
    }
    free(q->cell);
    free(q);
}

bool lookup_ask(bench *b, struct slot *s, bool inspect)
{
    if (!asks(b, s))
        return false;
    if (!remote_ready(b, false))
        return true;
    AUTO_BUF source = {0};
    const text *t = edit_text(s->edit);
    struct question *q = mem_alloc(sizeof *q);
    *q = (struct question){mem_strdup(s->id), text_revision(t), edit_cursor(s->edit)};
    text_all(t, &source);
    cJSON *m = message_new(inspect ? MESSAGE_inspect : MESSAGE_complete);
    json_set_str(m, "cell", s->id);
    json_set_str(m, "source", buf_cstr(&source));
    json_set_int(m, "cursor", (int64_t)offset(t, q->at));
    b->asked++;
    remote_ask(b, m, inspect ? on_inspected : on_completions, q);
    return true;
}

struct naming {
    char *typed;
    void (*done)(bench *b, const char *typed, const cJSON *reply);
};

static void on_names(bench *b, void *arg, const cJSON *reply)
{
    struct naming *n = arg;
    n->done(b, n->typed, reply);
    b->dirty = true;
    free(n->typed);
    free(n);
}

static cJSON *asking_for(message_type type, const char *name)
{
    cJSON *m = message_new(type);
    json_set_str(m, "source", name);
    json_set_int(m, "cursor", (int64_t)strlen(name));
    return m;
}

bool lookup_names(
    bench *b, const char *typed, void (*done)(bench *b, const char *typed, const cJSON *reply))
{
    if (!bench_has_kernel(b) || bench_busy(b))
        return false;
    struct naming *n = mem_alloc(sizeof *n);
    *n = (struct naming){mem_strdup(typed), done};
    remote_ask(b, asking_for(MESSAGE_complete, typed), on_names, n);
    return true;
}

static void on_described(bench *b, void *arg, const cJSON *reply)
{
    AUTO_FREE char *name = arg;
    if (!refused(b, reply, "documentation"))
        page_push_peek(b, 0, name, json_str_or(json_get(reply, "data"), "text/plain", ""));
    b->dirty = true;
}

void lookup_describe(bench *b, const char *name)
{
    if (remote_ready(b, false))
        remote_ask(b, asking_for(MESSAGE_inspect, name), on_described, mem_strdup(name));
}
