// SPDX-License-Identifier: MIT
// For a person who looks elsewhere: the window's title, and a notification when something that took
// long is over or a cell asks.
#include "base/clock.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"

#include <string.h>

enum { LONG_MS = 10000, PRESENT_MS = 5000 }; // present: a key was pressed not longer ago

static size_t find_state(const bench *b, enum cell_state state, size_t *number, size_t *total)
{
    size_t found = b->n_slots;
    *total = *number = 0;
    if (!fold_in_state(b->fold, state))
        return found;
    for (size_t i = 0; i < b->n_slots; i++) {
        const cell *c = slot_cell(b, i);
        const struct run_cell *run = slot_run(b, i);
        if (!c || c->kind != CELL_CODE)
            continue;
        ++*total;
        if (found == b->n_slots && run && run->state == state) {
            found = i;
            *number = *total;
        }
    }
    return found;
}

static const char *name_of(const bench *b)
{
    const char *slash = b->path ? strrchr(b->path, '/') : NULL;
    return slash ? slash + 1 : b->path ? b->path : "firesteel";
}

// "failed [3/12]"; false: no cell is in that state.
static bool add_cell(const bench *b, enum cell_state state, const char *words, buf *out)
{
    size_t number, total;
    if (find_state(b, state, &number, &total) == b->n_slots)
        return false;
    buf_fmt(out, "%s [%zu/%zu]", words, number, total);
    return true;
}

void bench_title(const bench *b, buf *out)
{
    AUTO_BUF what = {0};
    if (str_eq(b->state, "gone"))
        buf_str(&what, "the kernel has ended");
    else if (b->asks->child)
        buf_str(&what, "asks");
    else if (!add_cell(b, STATE_RUNNING, "running", &what))
        add_cell(b, STATE_FAILED, "failed", &what);
    buf_fmt(out, "%s%s%s", name_of(b), what.len ? ": " : "", buf_cstr(&what));
}

static void tell(bench *b, const char *words)
{
    bool present = b->typed_at && clock_mono() - b->typed_at < PRESENT_MS * CLOCK_MS;
    if (b->ops->notify && !present)
        b->ops->notify(b->arg, name_of(b), words);
}

static void tell_over(bench *b, int64_t took)
{
    AUTO_BUF words = {0};
    if (b->failed)
        add_cell(b, STATE_FAILED, "failed", &words);
    if (!words.len)
        buf_str(&words, "done");
    buf_str(&words, " after ");
    duration_format(&words, took);
    tell(b, buf_cstr(&words));
}

// A kernel that is joined may be busy already: since when its cell runs, as far as is known.
void attention_join(bench *b)
{
    const struct run_cell *running = fold_running(b->fold);
    int64_t ran = running ? clock_wall() - running->started : 0;
    b->busy_since = str_eq(b->state, "busy") ? clock_mono() - (ran > 0 ? ran : 0) : 0;
    b->failed = false;
}

void attention_hear(bench *b, message_type type, const cJSON *m)
{
    const char *state = json_str_or(m, "state", "");
    if (type == MESSAGE_ask) {
        tell(b, json_str_or(m, "question", "a cell asks"));
    } else if (type == MESSAGE_state && str_eq(state, "failed")) {
        b->failed = true;
    } else if (type == MESSAGE_kernel && str_eq(state, "busy") && !b->busy_since) {
        b->busy_since = clock_mono();
        b->failed = false;
    } else if (type == MESSAGE_kernel && (str_eq(state, "idle") || str_eq(state, "stopping"))) {
        int64_t took = b->busy_since ? clock_mono() - b->busy_since : 0;
        b->busy_since = 0;
        if (took >= LONG_MS * CLOCK_MS)
            tell_over(b, took);
    }
}
