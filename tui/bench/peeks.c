// SPDX-License-Identifier: MIT
// Displays opened from a table to look at: the kernel sends them only to this client, outside of
// the run. Each is dropped with the view that shows it, unless it is pinned below its cell.
#include "base/mem.h"
#include "tui/bench/bench_private.h"

struct peek {
    int64_t display;
    fold *fold; // for its own events, as the run's fold is for the run's
    struct peek *next;
};

static struct peek **find(bench *b, int64_t display)
{
    struct peek **at = &b->peeks;
    while (*at && (*at)->display != display)
        at = &(*at)->next;
    return at;
}

static void drop(struct peek **at)
{
    struct peek *p = *at;
    *at = p->next;
    fold_free(p->fold);
    free(p);
}

void peeks_pinned(bench *b, int64_t display)
{
    struct peek **at = find(b, display);
    if (*at)
        drop(at);
}

void peeks_free(bench *b)
{
    while (b->peeks)
        drop(&b->peeks);
}

void peeks_event(bench *b, const cJSON *event)
{
    int64_t display = json_int_or(event, "id", 0);
    struct peek **at = find(b, display);
    if (!*at) {
        *at = mem_alloc(sizeof **at);
        **at = (struct peek){.display = display, .fold = fold_new()};
    }
    fold_event((*at)->fold, event, NULL);
}

const struct output *bench_display(const bench *b, int64_t display)
{
    const struct output *o = fold_display(b->fold, display);
    for (const struct peek *p = b->peeks; !o && p; p = p->next)
        o = fold_display(p->fold, display);
    return o;
}

static void act(bench *b, int64_t display, const char *action,
    void (*done)(bench *b, void *arg, const cJSON *reply))
{
    cJSON *m = message_new(MESSAGE_act);
    json_set_int(m, "display", display);
    json_set_str(m, "action", action);
    remote_ask(b, m, done, NULL);
}

// If it was over already, that need not be reported.
static void on_dropped(bench *b, void *arg, const cJSON *reply)
{
}

void remote_drop(bench *b, int64_t display)
{
    struct peek **at = find(b, display);
    if (*at)
        drop(at);
    if (b->client && display > 0) // below: the workbench's own
        act(b, display, "stop", on_dropped);
}

static void on_pinned(bench *b, void *arg, const cJSON *reply)
{
    if (json_bool_or(reply, "ok", false))
        bench_say(b, "it stays below the cell");
    else
        bench_complain(
            b, "%s", json_str_or(json_get(reply, "error"), "message", "the kernel has gone"));
}

bool remote_pin(bench *b, int64_t display)
{
    if (!remote_ready(b, true))
        return false;
    act(b, display, "pin", on_pinned);
    return true;
}
