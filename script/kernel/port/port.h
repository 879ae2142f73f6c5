// SPDX-License-Identifier: MIT
// The kernel's only way out. Everything that a cell prints, a binding reports or the session says
// goes through here, from any thread, and reaches journal, spools and clients masked and in valid
// UTF-8. It owns the outbox, the streams of cells, the secrets and the journal.
//   Lua thread  ─ text, events ─┐                                  ┌─> journal ─> clients
//   actions     ─ events ───────┼─> outbox ──(loop)──> mask, UTF-8 ┤
//   loop thread ─ text, events ─┘    one order       a state for   └─> spools
//                                                    each stream
#pragma once
#include "base/buf.h"
#include "base/json/json.h"
#include "base/loop/loop.h"
#include "script/journal/file/writer.h"
#include "script/journal/mask/mask.h"

typedef struct port port;
// All are called on the loop's thread.
struct port_ops {
    void (*event)(void *arg, const cJSON *event); // the event is about to be journaled
    // these lines are in the journal: send them to clients
    void (*journaled)(void *arg, const char *lines, size_t n);
    // Something cannot be kept (port_error), so the run must stop. If that was output, it is called
    // once more when the journal itself cannot be written. Never called from within an emit.
    void (*broken)(void *arg);
    // A port_passed has reached its place in the order. What is emitted in this call is delivered
    // there.
    void (*passed)(void *arg, void *what);
};

port *port_new(loop *l, const struct port_ops *ops, void *arg);
void port_free(port *p); // also closes the journal

// On the loop's thread, before anything is emitted: takes the journal.
void port_open(port *p, journal *j);
// On the loop's thread: closes the journal early, when a thread that may still emit does not end
// and the process is about to.
void port_close(port *p);
mask *port_mask(port *p);             // it locks inside
const journal *port_journal(port *p); // NULL before port_open
// On the loop's thread: the first error of the journal or a spool; code ERR_NONE if there was none.
const err *port_error(const port *p);
// Are effects of cells still journaled? Also when output is lost: the journal has blocks in
// reserve.
bool port_keeps(const port *p);

// On any thread: emits an event, in order with all others; takes it. port_record returns when the
// event is in the journal. A ledger's event is synced by then, with one sync for all that wait at
// that time. -1: it could not be written.
void port_emit(port *p, cJSON *event);
int port_record(port *p, cJSON *event, err *e);
// On the loop's thread: emits an event before everything that is queued; takes it.
void port_deliver(port *p, cJSON *event);
// On the loop's thread: an event for one client, which is not part of the run. It is masked like
// all events, and sent after everything that is queued.
void port_private(port *p, cJSON *event);
// On any thread: output of a cell ("": of no cell); name is "stdout" or "stderr". branch: the name
// of a branch of the cell, whose text is kept apart and reported in whole lines; NULL: none.
void port_text(
    port *p, const char *cell, const char *branch, const char *name, const char *bytes, size_t n);
// On any thread: no more text of this branch will come.
void port_end_branch(port *p, const char *cell, const char *branch);
// On any thread: calls `passed` when everything emitted before was delivered, and nothing emitted
// later. It never waits.
void port_passed(port *p, void *what);
// On the loop's thread: delivers everything that is queued now.
void port_flush(port *p);
// On the loop's thread: between hold and release, which must be in one call of the loop, clients
// are sent nothing and ledger entries are not synced; then all of it at once. A release without a
// hold does nothing.
void port_hold(port *p);
void port_release(port *p);
// The same, and text is likely to come soon: the loop checks for it by itself.
void port_expect(port *p);

// On the loop's thread: a cell's execution begins, or has ended. Captured output is kept instead of
// shown.
void port_begin_cell(port *p, const char *cell, bool captured);
void port_end_cell(port *p, const char *cell);
// On any other thread: delivers everything printed so far, and appends the cell's captured output.
// `show`: it also becomes visible output of the cell, because it explains a failure.
void port_take_capture(port *p, const char *cell, bool show, buf *captured);
