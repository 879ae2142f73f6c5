// SPDX-License-Identifier: MIT
// The one way out of the kernel: whatever a cell prints, a binding reports or the session tells
// goes through here, whichever thread made it, and reaches journal, spools and clients masked and
// in valid UTF-8. It owns the outbox, the streams of cells, the secrets and the journal.
//
//   Lua thread  ─ text, events ─┐                                  ┌─> journal ─> clients
//   actions     ─ events ───────┼─> outbox ──(loop)──> mask, UTF-8 ┤
//   loop thread ─ text, events ─┘    one order       a state for   └─> spools
//                                                    each stream
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "base/loop/loop.h"
#include "script/journal/mask.h"
#include "script/journal/writer.h"

typedef struct port port;
// All on the loop's thread.
struct port_ops {
    void (*event)(void *arg, const cJSON *event);             // one is on its way into the journal
    void (*journaled)(void *arg, const char *line, size_t n); // and is there: what clients are sent
    // Once: something cannot be kept (port_error), so the run has to stop. Not called from within
    // an emit.
    void (*broken)(void *arg);
};

port *port_new(loop *l, const struct port_ops *ops, void *arg);
void port_free(port *p); // closes the journal

// The loop's thread, before anything is emitted: takes the journal.
void port_open(port *p, journal *j);
// The loop's thread: closes the journal before its time, when a thread that may still emit is left
// to the end of the process.
void port_close(port *p);
mask *port_mask(port *p);             // locks inside
const journal *port_journal(port *p); // NULL before port_open
// The loop's thread: the first error of the journal or a spool; code ERR_NONE while all is kept.
const err *port_error(const port *p);

// Any thread: an event, in order with all others; takes it. port_record returns when it is in the
// journal, synced if it is a ledger's; -1: it could not be written.
void port_emit(port *p, cJSON *event);
int port_record(port *p, cJSON *event, err *e);
// The loop's thread: an event that is next in order, before all that is queued; takes it.
void port_deliver(port *p, cJSON *event);
// The loop's thread: an event that is one client's alone and no part of the run: masked as all are,
// and told after what is queued.
void port_private(port *p, cJSON *event);
// Any thread: output of a cell ("": of none); name is "stdout" or "stderr".
void port_text(port *p, const char *cell, const char *name, const char *bytes, size_t n);
// The loop's thread: delivers all that is queued now.
void port_flush(port *p);

// The loop's thread: a cell's execution begins, or is over. What is `captured` is kept instead of
// shown.
void port_begin_cell(port *p, const char *cell, bool captured);
void port_end_cell(port *p, const char *cell);
// Any other thread: everything that was printed is delivered; what the cell's capture holds is
// appended. `show`: it becomes output of the cell after all, as what explains a failure.
void port_take_capture(port *p, const char *cell, bool show, buf *captured);
