// SPDX-License-Identifier: MIT
// The messages of a kernel, from its welcome to its end: events go into the fold, and the parts of
// the screen that they change are drawn anew. While the past of a run arrives, the screen stays as
// it is.
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"

#include <string.h>

static void set_state(bench *b, const char *state)
{
    char *copy = mem_strdup(state);
    free(b->state);
    b->state = copy;
    b->dirty = true;
}

void bench_starts(bench *b)
{
    if (!*b->state)
        set_state(b, "starting");
}

void bench_only_looks(bench *b)
{
    b->looks = true;
}

void bench_greets(bench *b, const cJSON *greeting)
{
    cJSON_Delete(b->greeting);
    b->greeting = greeting ? cJSON_Duplicate(greeting, true) : NULL;
}

void bench_connect(bench *b, client *c, bool owner)
{
    b->client = c;
    bench_starts(b);
    if (b->looks)
        client_hello_looking(c);
    else
        client_hello(c, 0, owner, true, b->greeting);
}

void bench_lost(bench *b, const char *why)
{
    b->client = NULL;
    works_forget(b);
    questions_forget(b);
    set_state(b, *why ? "gone" : "restarting");
    b->restarting = b->restarting && !*why;
    if (*why)
        bench_complain(b, "%s", why);
}

bool bench_restarting(const bench *b)
{
    return b->restarting;
}

// The thing that `goes_on` announced is over.
static void say_over(bench *b, const char *goes_on, const char *over)
{
    if (str_eq(buf_cstr(&b->say), goes_on))
        bench_say(b, "%s", over);
}

// A kernel introduces itself: its past events come next, and the screen stays until all of them are
// here.
static void on_welcome(bench *b, const cJSON *m)
{
    const char *journal = json_str_or(m, "journal", "");
    size_t n = strlen(journal);
    if (!str_eq(b->run, json_str(m, "run")))
        memory_keep(b);
    free(b->spool_dir);
    free(b->run);
    b->spool_dir = mem_strndup(journal, n > 6 ? n - 6 : n); // without ".jsonl"
    b->run = mem_strdup(json_str(m, "run"));
    b->read_only = b->looks || json_bool_or(m, "headless", false);
    b->no_effects = json_bool_or(m, "read_only", false);
    b->lifetime = json_int_or(m, "lifetime_ms", 0);
    b->touched = json_bool_or(m, "touched", false);
    // This may still be the old kernel.
    b->restarting = b->restarting && str_eq(json_str(m, "state"), "stopping");
    set_state(b, json_str_or(m, "state", "idle"));
    if (!str_eq(b->state, "stopping"))
        say_over(b, SAYS_RESTARTING, "restarted: nothing has run yet");
    say_over(b, SAYS_STARTING, "another kernel has started: nothing has run in it");
    meanwhile_begin(b, m);
    fold_free(b->incoming);
    b->incoming = fold_new();
    b->caught_up = (uint64_t)json_int_or(m, "seq", 0);
    works_forget(b);
    b->made = b->seen = 0; // after a restart a kernel starts counting at 0
    cJSON_Delete(STEAL(b->cluster));
    questions_forget(b);
}

// Tells views that keep a part of the run themselves.
static void tell_views(bench *b, const cJSON *event)
{
    for (view *v = b->top; v; v = v->below)
        if (v->ops->heard)
            v->ops->heard(v, event);
}

static void catch_up(bench *b)
{
    memory_take(b, b->fold);
    b->fold = STEAL(b->incoming);
    if (b->document)
        fold_event(b->fold, b->document, NULL);
    b->seen = b->rev;
    for (size_t i = 0; i < b->n_slots; i++) {
        struct slot *s = b->slots[i];
        s->version++;
        s->asked = 0; // texts on their way have arrived, or never will
        s->base = s->made = 0;
    }
    slots_follow(b);
    memory_follow(b);
    tell_views(b, NULL);
    variables_hear(b, NULL);
    meanwhile_say(b);
    attention_join(b);
    difference_join(b);
    remote_flush(b);
    structure_rescue_again(b);
    b->dirty = true;
}

static void on_document(bench *b, const cJSON *m)
{
    b->rev = json_int_or(m, "rev", b->rev);
    head_forget(b);
    b->saved = json_bool_or(m, "saved", true);
    if (json_str(m, "path")) {
        free(b->path);
        b->path = mem_strdup(json_str(m, "path"));
    }
    if (b->saved)
        orphan_note_file(b);
    if (json_get(m, "seq")) { // after a reload the fold has it
        b->seen = b->rev;
        return;
    }
    cJSON_Delete(b->document);
    b->document = cJSON_Duplicate(m, true);
    if (b->incoming && fold_seq(b->incoming) >= b->caught_up)
        catch_up(b);
}

static void on_edited(bench *b, const cJSON *m)
{
    int64_t rev = json_int_or(m, "rev", 0);
    b->rev = rev > b->rev ? rev : b->rev;
    b->seen = rev > b->seen ? rev : b->seen;
    b->saved = str_eq(json_str(m, "change"), "save");
    if (!b->saved)
        return;
    head_forget(b);
    char *path = mem_strdup(json_str_or(m, "path", b->path));
    free(b->path);
    b->path = path;
    orphan_note_file(b);
    const char *warning = json_str(m, "warning");
    if (warning)
        bench_complain(b, "saved %s, %s", path, warning);
    else
        bench_say(b, "saved %s", path);
}

static void on_cluster(bench *b, const cJSON *m)
{
    cJSON_Delete(b->cluster);
    b->cluster = cJSON_Duplicate(m, true);
}

static void on_kernel(bench *b, const cJSON *m)
{
    const char *state = json_str_or(m, "state", "");
    b->restarting = b->restarting || str_eq(state, "restarting");
    set_state(b, state);
    if (str_eq(state, "idle"))
        say_over(b, SAYS_INTERRUPTING, "interrupted");
    if (str_eq(state, "wedged"))
        bench_complain(b, "the cell cannot be interrupted: 00 restarts the kernel");
}

// A change of a cell's output makes it be drawn anew.
static void touch(bench *b, const cJSON *m)
{
    const char *id = json_str(m, "cell");
    const struct run_cell *c = id ? NULL : fold_display_cell(b->fold, json_int_or(m, "id", -1));
    struct slot *s = slot_by_id(b, c ? c->id : id, NULL);
    if (s)
        s->version++;
}

static void on_event(bench *b, message_type type, const cJSON *m)
{
    bool past = b->incoming != NULL;
    err e = {0};
    b->events++;
    if (fold_event(past ? b->incoming : b->fold, m, &e) < 0)
        bench_complain(b, "%s", e.text);
    if (type == MESSAGE_display)
        peeks_pinned(b, json_int_or(m, "id", 0));
    if (type == MESSAGE_ask)
        questions_add(b, m);
    else if (type == MESSAGE_answered)
        questions_close(b, json_int_or(m, "ask", -1));
    else if (type == MESSAGE_cluster)
        on_cluster(b, m);
    if (past) {
        meanwhile_event(b, m);
        if (fold_seq(b->incoming) >= b->caught_up && b->document)
            catch_up(b);
        return;
    }
    if (type == MESSAGE_edited)
        on_edited(b, m);
    else if (type == MESSAGE_kernel)
        on_kernel(b, m);
    else if (type == MESSAGE_cleared && b->path && str_ends(b->path, ".ipynb"))
        b->saved = false; // the file still has it
    if (type == MESSAGE_edited && str_eq(json_str(m, "change"), "edit"))
        slots_follow_cell(b, json_str(m, "cell"));
    else if (type == MESSAGE_edited || type == MESSAGE_document || type == MESSAGE_run ||
             type == MESSAGE_resumed) {
        b->reloading = type == MESSAGE_document;
        slots_follow(b);
        b->reloading = false;
    }
    attention_hear(b, type, m);
    structure_rescue(b);
    touch(b, m);
    tell_views(b, m);
    variables_hear(b, m);
}

static void on_peek(bench *b, const cJSON *event)
{
    peeks_event(b, event);
    tell_views(b, event);
}

void bench_message(bench *b, message_type type, const cJSON *m)
{
    if (type == MESSAGE_welcome)
        on_welcome(b, m);
    else if (type == MESSAGE_document && !(b->incoming && json_get(m, "seq")))
        on_document(b, m); // a past document concerns only the fold
    else if (type == MESSAGE_touched)
        bench_complain(b, "the file has changed underneath; saving asks before it overwrites it");
    if (type != MESSAGE_welcome && json_get(m, "seq")) // a welcome's is the newest event's
        on_event(b, type, m);
    else if (type == MESSAGE_display || type == MESSAGE_update)
        on_peek(b, m);
    else if (type == MESSAGE_progress)
        works_event(b, m);
    questions_offer(b, false);
    b->dirty = true;
}
