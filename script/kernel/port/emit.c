// SPDX-License-Identifier: MIT
// What comes out of the outbox: into the journal first, then to clients.
#include "script/kernel/effects/actions.h"
#include "script/kernel/session/life.h"
#include "script/kernel/session/running.h"
#include "script/kernel/session/state.h"

static void on_journal_error(void *arg)
{
    kernel *k = arg;
    if (k->running)
        running_interrupt(k, FAILURE_ERROR);
    else
        life_end(k, 1, k->journal_error.text);
}

// The first event that cannot be journaled stops the run: nothing is shown that is not kept. Those
// that say so after it find room in what the journal keeps for last words.
void kernel_deliver(kernel *k, cJSON *event)
{
    size_t n;
    err e = {0};
    const char *line = journal_append(k->journal, event, &n, &e);
    if (line)
        server_event(k->server, line, n);
    else if (!k->journal_error.code) {
        k->journal_error = e;
        loop_post(k->loop, on_journal_error, k);
    }
    cJSON_Delete(event);
}

static void on_stream_event(void *arg, cJSON *event)
{
    kernel_deliver(arg, event);
}

// A run whose output cannot be kept has failed, as one whose events cannot.
static void on_stream_lost(void *arg, const err *why)
{
    kernel *k = arg;
    if (k->journal_error.code)
        return;
    k->journal_error = *why;
    loop_post(k->loop, on_journal_error, k);
}

const struct outputs_ops kernel_outputs_ops = {.emit = on_stream_event, .lost = on_stream_lost};

static void on_text(void *arg, const char *cell_id, const char *name, const char *bytes, size_t n)
{
    kernel *k = arg;
    outputs_text(k->outputs, cell_id, name, bytes, n);
}

static void on_event(void *arg, cJSON *event)
{
    kernel *k = arg;
    actions_event(k->actions, event);
    outputs_settle(k->outputs); // what was printed before it is referred to before it
    kernel_deliver(k, event);
}

const struct outbox_ops kernel_outbox_ops = {.text = on_text, .event = on_event};

void kernel_emit(kernel *k, cJSON *event)
{
    outbox_event(k->outbox, event);
}

struct record {
    kernel *kernel;
    cJSON *event;
    err error;
};

static void start_record(loop_pending *pending, void *arg)
{
    struct record *r = arg;
    outbox_event(r->kernel->outbox, r->event);
    outbox_flush(r->kernel->outbox);
    r->error = r->kernel->journal_error;
    loop_call_finish(pending);
}

int kernel_record(kernel *k, cJSON *event, err *e)
{
    static const struct loop_call_ops ops = {.start = start_record};
    struct record r = {.kernel = k, .event = event};
    loop_call(
        k->loop, NULL, &ops, &r, 0, NULL); // an interrupt does not keep a fact out of the journal
    if (!r.error.code)
        return 0;
    if (e)
        *e = r.error;
    return -1;
}

struct capture {
    kernel *kernel;
    const char *cell_id;
    buf *captured;
    bool show;
};

static void start_capture(loop_pending *pending, void *arg)
{
    struct capture *c = arg;
    outbox_flush(c->kernel->outbox);
    outputs_end(c->kernel->outputs, c->cell_id, c->captured);
    if (c->show && c->captured->len)
        outputs_text(c->kernel->outputs, c->cell_id, "stdout", c->captured->data, c->captured->len);
    loop_call_finish(pending);
}

void kernel_take_capture(kernel *k, const char *cell_id, bool show, buf *captured)
{
    static const struct loop_call_ops ops = {.start = start_capture};
    struct capture c = {k, cell_id, captured, show};
    loop_call(k->loop, NULL, &ops, &c, 0, NULL);
}
