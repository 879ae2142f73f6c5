// SPDX-License-Identifier: MIT
#include "script/kernel/port/port.h"

#include "base/mem.h"
#include "script/kernel/port/outbox.h"
#include "script/kernel/port/outputs.h"

// A message to the session that was posted; the port may be gone when it arrives.
struct telling {
    port *port; // NULL: the port is gone
};

struct port {
    loop *loop;
    const struct port_ops *ops;
    void *arg;
    mask *mask;
    outbox *outbox;
    outputs *outputs; // the loop's thread
    journal *journal; // the loop's thread
    err error;        // for the loop's thread: the first one
    err unjournaled;  // an error of the journal itself: nothing that must be recorded can be done
                      // any more
    struct telling *telling;
    // Everything that one delivery of the outbox brings is a group of the journal, with one sync.
    // After the sync, clients get its lines, and callers that wait for a record continue. During a
    // hold, several deliveries are one group.
    bool grouped, holds;
    bool passing;           // within `passed`
    struct record *records; // those that wait; the loop's thread
};

struct record {
    port *port;
    cJSON *event;
    err error;
    loop_pending *pending;
    struct record *next;
};

static void tell_broken(void *arg)
{
    struct telling *t = arg;
    if (t->port) {
        t->port->telling = NULL;
        t->port->ops->broken(t->port->arg);
    }
    free(t);
}

// of_journal: not only output is lost.
static void fail(port *p, const err *why, bool of_journal)
{
    if (p->unjournaled.code || (p->error.code && !of_journal))
        return;
    if (of_journal)
        p->unjournaled = *why;
    if (!p->error.code)
        p->error = *why;
    if (p->telling)
        return;
    p->telling = mem_alloc(sizeof *p->telling);
    p->telling->port = p;
    loop_post(p->loop, tell_broken, p->telling);
}

// When an event cannot be journaled for the first time, the run stops: nothing is shown that is not
// kept. The events that report this fit into the journal's reserve.
void port_deliver(port *p, cJSON *event)
{
    size_t n;
    err e = {0};
    const char *line = journal_append(p->journal, event, &n, &e);
    if (line && !p->grouped)
        p->ops->journaled(p->arg, line, n);
    bool of_journal = line ? journal_check(p->journal, &e) < 0
                           : e.code != ERR_NO_SPACE || !journal_is_output(event);
    if (!line || of_journal)
        fail(p, &e, of_journal);
    cJSON_Delete(event);
}

// After some output was lost, later output of cells is not kept either: otherwise there would be a
// gap that nobody sees.
static void on_stream_event(void *arg, cJSON *event)
{
    port *p = arg;
    if (p->error.code)
        cJSON_Delete(event);
    else
        port_deliver(p, event);
}

// A run whose output cannot be kept fails, as does one whose events cannot be kept.
static void on_stream_lost(void *arg, const err *why)
{
    fail(arg, why, false);
}

static const struct outputs_ops outputs_ops = {.emit = on_stream_event, .lost = on_stream_lost};

static void on_text(
    void *arg, const char *cell, const char *branch, const char *name, const char *bytes, size_t n)
{
    port *p = arg;
    outputs_text(p->outputs, cell, branch, name, bytes, n);
}

static void on_event(void *arg, cJSON *event)
{
    port *p = arg;
    p->ops->event(p->arg, event);
    outputs_settle(p->outputs); // refer to earlier output before this event
    port_deliver(p, event);
}

static void on_ended(void *arg, const char *cell, const char *branch)
{
    port *p = arg;
    outputs_end_branch(p->outputs, cell, branch);
}

static void on_passed(void *arg, void *what)
{
    port *p = arg;
    p->passing = true;
    p->ops->passed(p->arg, what);
    p->passing = false;
}

static void on_begin(void *arg)
{
    port *p = arg;
    if (p->grouped || !p->journal)
        return;
    p->grouped = true;
    journal_group(p->journal);
}

static void on_end(void *arg)
{
    port *p = arg;
    err e = {0};
    if (p->holds)
        return;
    size_t n = 0;
    const char *lines = p->grouped ? journal_commit(p->journal, &n, &e) : "";
    p->grouped = false;
    if (!lines)
        fail(p, &e, true);
    else if (n)
        p->ops->journaled(p->arg, lines, n);
    for (struct record *r = STEAL(p->records), *next; r; r = next) {
        next = r->next; // its thread may free it
        r->error = p->unjournaled;
        loop_call_finish(r->pending);
    }
}

static const struct outbox_ops outbox_ops = {.text = on_text,
    .event = on_event,
    .ended = on_ended,
    .passed = on_passed,
    .begin = on_begin,
    .end = on_end};

port *port_new(loop *l, const struct port_ops *ops, void *arg)
{
    port *p = mem_alloc(sizeof *p);
    *p = (port){.loop = l, .ops = ops, .arg = arg, .mask = mask_new()};
    p->outbox = outbox_new(l, &outbox_ops, p);
    p->outputs = outputs_new(l, p->mask, &outputs_ops, p);
    return p;
}

void port_free(port *p)
{
    if (p->telling)
        p->telling->port = NULL;
    outputs_free(p->outputs);
    outbox_free(p->outbox);
    port_close(p);
    mask_free(p->mask);
    free(p);
}

void port_open(port *p, journal *j)
{
    p->journal = j;
    outputs_place(p->outputs, j, journal_seq(j) + 1);
}

void port_close(port *p)
{
    journal_close(STEAL(p->journal));
}

mask *port_mask(port *p)
{
    return p->mask;
}

const journal *port_journal(port *p)
{
    return p->journal;
}

const err *port_error(const port *p)
{
    return &p->error;
}

bool port_keeps(const port *p)
{
    return !p->unjournaled.code;
}

void port_emit(port *p, cJSON *event)
{
    if (loop_is_current(p->loop) && p->passing)
        on_event(p, event);
    else
        outbox_event(p->outbox, event);
}

void port_private(port *p, cJSON *event)
{
    outbox_flush(p->outbox);
    mask_json(p->mask, event);
}

void port_text(
    port *p, const char *cell, const char *branch, const char *name, const char *bytes, size_t n)
{
    outbox_text(p->outbox, cell, branch, name, bytes, n);
}

void port_end_branch(port *p, const char *cell, const char *branch)
{
    outbox_ended(p->outbox, cell, branch);
}

void port_passed(port *p, void *what)
{
    outbox_passed(p->outbox, what);
}

void port_flush(port *p)
{
    outbox_flush(p->outbox);
}

void port_hold(port *p)
{
    on_begin(p);
    p->holds = p->grouped;
    outbox_hold(p->outbox, p->holds);
}

void port_release(port *p)
{
    if (!p->holds)
        return;
    p->holds = false;
    outbox_hold(p->outbox, false);
    outbox_flush(p->outbox);
}

// The outbox wakes the loop for this; records that come until then are in the same group.
static void start_record(loop_pending *pending, void *arg)
{
    struct record *r = arg;
    port *p = r->port;
    r->pending = pending;
    r->next = p->records;
    p->records = r;
    outbox_event(p->outbox, r->event);
}

int port_record(port *p, cJSON *event, err *e)
{
    static const struct loop_call_ops ops = {.start = start_record};
    struct record r = {.port = p, .event = event};
    // Records must reach the journal even during an interrupt.
    loop_call(p->loop, NULL, &ops, &r, 0, NULL);
    return err_give(e, &r.error);
}

void port_expect(port *p)
{
    port_release(p);
    outbox_expect(p->outbox);
}

void port_begin_cell(port *p, const char *cell, bool captured)
{
    outbox_flush(p->outbox);
    outputs_begin(p->outputs, cell, captured);
}

void port_end_cell(port *p, const char *cell)
{
    outbox_flush(p->outbox);
    outputs_end(p->outputs, cell, NULL);
}

struct capture {
    port *port;
    const char *cell;
    buf *captured;
    bool show;
};

static void start_capture(loop_pending *pending, void *arg)
{
    struct capture *c = arg;
    outbox_flush(c->port->outbox);
    outputs_end(c->port->outputs, c->cell, c->captured);
    if (c->show && c->captured->len)
        outputs_text(
            c->port->outputs, c->cell, NULL, "stdout", c->captured->data, c->captured->len);
    loop_call_finish(pending);
}

void port_take_capture(port *p, const char *cell, bool show, buf *captured)
{
    static const struct loop_call_ops ops = {.start = start_capture};
    struct capture c = {p, cell, captured, show};
    loop_call(p->loop, NULL, &ops, &c, 0, NULL);
}
