// SPDX-License-Identifier: MIT
// The document and its file: saving, reading again, and leaving. All end with the kernel's reply.
// If another program has written the file meanwhile, the person is asked (conflict.c); it is never
// simply overwritten.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/command.h"
#include "tui/bench/views.h"

struct saving {
    char *path;
    bool leave;
};

static void on_saved(bench *b, void *arg, const cJSON *reply)
{
    struct saving *s = arg;
    b->asked -= b->asked > 0;
    const cJSON *error = json_get(reply, "error");
    const char *code = json_str_or(error, "code", "");
    bool exists = str_eq(code, "exists");
    if (json_bool_or(reply, "ok", false)) {
        b->saved = true; // the event about it may come later
        if (s->leave)
            leave_now(b, false);
    } else if ((exists || str_eq(code, "conflict")) && view_mode(b->top) == MODE_EDIT) {
        bench_complain(b, exists
                              ? "not saved: that file is there already"
                              : "not saved: the file has changed; leave the cell and save again");
    } else if (exists || str_eq(code, "conflict")) {
        conflict_push(b, s->path, exists, s->leave);
    } else {
        bench_complain(b, "not saved: %s", json_str_or(error, "message", "the kernel has gone"));
    }
    free(s->path);
    free(s);
}

void save_document(bench *b, const char *path, bool force, bool leave)
{
    if (!b->client && str_eq(b->state, "gone")) {
        if (orphan_save(b, path, force) && leave)
            leave_now(b, false);
        return;
    }
    if (!remote_ready(b, true))
        return;
    remote_flush(b);
    struct saving *s = mem_alloc(sizeof *s);
    *s = (struct saving){mem_strdup(path), leave};
    cJSON *m = message_new(MESSAGE_save);
    json_set_int(m, "rev", INT64_C(1) << 53); // saves any revision, whoever made it
    json_set_str(m, "path", path);
    if (force)
        json_set_bool(m, "force", true);
    b->asked++; // later typing waits
    remote_ask(b, m, on_saved, s);
}

static void on_reloaded(bench *b, void *arg, const cJSON *reply)
{
    bool *leave = arg, done = json_bool_or(reply, "ok", false);
    b->saved = b->saved || done;
    if (!done)
        bench_complain(b, "not read again: %s",
            json_str_or(json_get(reply, "error"), "message", "the kernel has gone"));
    else if (*leave)
        leave_now(b, false);
    else
        bench_say(b, "read again from its file");
    free(leave);
}

void reload_document(bench *b, bool leave)
{
    if (!b->client && leave) { // unsaved edits are lost with the workbench
        leave_now(b, false);
        return;
    }
    if (!remote_ready(b, true))
        return;
    b->edited_at = 0;
    for (size_t i = 0; i < b->n_slots; i++) // do not send any more typed text
        b->slots[i]->sent = text_revision(edit_text(b->slots[i]->edit));
    bool *after = mem_alloc(sizeof *after);
    *after = leave;
    cJSON *m = message_new(MESSAGE_reload);
    if (leave) // of a file that is not there, or not any more, nothing is read
        json_set_bool(m, "discard", true);
    remote_ask(b, m, on_reloaded, after);
}

static size_t live_displays(const bench *b)
{
    size_t n = 0;
    for (size_t i = 0; i < fold_count(b->fold); i++) {
        const struct run_cell *c = fold_cell(b->fold, i);
        for (size_t k = 0; k < c->n_outputs; k++)
            n += c->outputs[k].live;
    }
    return n;
}

static void reason(buf *out, const char *fmt, size_t n)
{
    buf_str(out, out->len ? ", " : "");
    buf_fmt(out, "%zu %s%s", n, fmt, n == 1 ? "" : "s");
}

// What goes on in the kernel, and how long it stays; empty: it ends with us.
static void say_rest(const bench *b, buf *out)
{
    size_t live = live_displays(b);
    if (bench_busy(b))
        buf_str(out, str_eq(b->state, "asking") ? "a cell asks" : "a cell runs");
    if (live)
        reason(out, "live display", live);
    if (!b->saved)
        buf_fmt(out, "%sunsaved changes", out->len ? ", " : "");
    if (!b->lifetime)
        return;
    buf_str(out, out->len ? "; " : "idle; ");
    buf_str(out, "kept for ");
    duration_age(out, b->lifetime * CLOCK_MS);
}

void leave_now(bench *b, bool stop)
{
    AUTO_BUF rest = {0};
    buf_clear(&b->farewell);
    say_rest(b, &rest);
    if (b->client && b->run && rest.len && !stop)
        buf_fmt(&b->farewell,
            "%s goes on (%s): `firesteel attach %s` comes back to it, `firesteel stop %s` ends it",
            b->run, buf_cstr(&rest), b->run, b->run);
    b->ops->quit(b->arg, stop);
}

void leave_or_ask(bench *b)
{
    remote_flush(b);
    bool unsaved = b->client ? !b->saved : orphan_unsaved(b);
    if (!unsaved || b->read_only)
        leave_now(b, false);
    else
        leave_push(b);
}
