// SPDX-License-Identifier: MIT
// What the parts of one kernel share, and which thread each of it belongs to. Only script/kernel
// includes this.
//
//   loop thread   clients, journal, document, outputs, displays
//                 kernel.c, requests.c, running.c, life.c
//   Lua thread    cells, bindings, gate, ledger
//                 interp.c, cells.c, call.c
//   actions'      bindings that clients call through displays
//                 actions.c
//
// An execution, with gate and ledger, is handed over and back through posts and a lock; so both
// threads see them, never at once.
#pragma once
#include "base/loop/loop.h"
#include "script/journal/lock.h"
#include "script/journal/mask.h"
#include "script/journal/writer.h"
#include "script/kernel/cells/execution.h"
#include "script/kernel/effects/gate.h"
#include "script/kernel/effects/ledger.h"
#include "script/kernel/effects/place.h"
#include "script/kernel/port/outbox.h"
#include "script/kernel/port/outputs.h"
#include "script/kernel/session/document.h"
#include "script/kernel/session/kernel.h"
#include "script/protocol/server.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct interp interp;
typedef struct actions actions;
typedef struct kernel kernel;

struct shared_object; // what bindings share, services.c
struct waiting_ask;   // a question that was asked, asks.c

struct kernel {
    // Set before the Lua thread starts, constant after it.
    const struct kernel_options *options;
    loop *loop;
    outbox *outbox;
    mask *mask;       // locks inside
    canceller *waits; // of the Lua thread
    char *run, salt[33];
    char *notebook_dir;
    struct call_cluster cluster; // with a sandbox: its, from before the first cell on
    struct call_paths paths;
    char *refusing_kubeconfig; // for children of cells that do not declare cluster

    // The Lua thread while a cell runs, the loop's between cells.
    gate *gate;
    ledger *ledger; // locks inside: actions have effects, too
    bool resuming;  // every effect so far was verified
    char **env;     // of children: the environment, with %env

    // Any thread.
    pthread_mutex_t shared_lock;
    struct shared_object *shared;
    place *place;

    // The loop's thread.
    journal *journal;
    err journal_error; // the first: the run stops
    server *server;
    document *document;
    document_lock *lock; // of its file; NULL in a headless run
    outputs *outputs;
    interp *interp;
    struct queue_item *queue; // cells to execute
    execution *running;
    struct waiting_ask *asks;
    int64_t last_ask;
    atomic_llong last_display;
    struct display *displays; // live ones
    actions *actions;
    struct sandbox *sandbox;
    char *sandbox_kubeconfig;
    bool greeted; // a client has said hello
    loop_timer *run_timer, *cell_timer, *idle_timer;
    loop_signal *signals[3];
    struct filewatch *watch;
    int64_t started;
    long executed;
    struct {
        int ok, failed, cancelled;
    } counts;
    bool started_all;         // a headless run has queued its cells: it ends when they are done
    bool waiting_for_sandbox; // nothing is executed before it is ready
    bool said_busy, wedged, run_timed_out;
    bool end_when_idle; // shutdown was asked for while a cell ran
    bool stopping;      // the run is over: nothing is started any more
    bool abandoned;     // the Lua thread does not come back: it goes with the process
    int stop_reason;    // enum failure: why the running cell was stopped
    int exit;           // of the run, or GUARD_RESTART
    char *last_words;   // why it ends; NULL: in order
};

// The loop's thread: an event that is next in order; takes it.
void kernel_deliver(kernel *k, cJSON *event);
extern const struct outbox_ops kernel_outbox_ops; // arg is the kernel
extern const struct outputs_ops kernel_outputs_ops;
// A kernel without document, journal and Lua; what is opened in it is freed with it.
kernel *kernel_new(const struct kernel_options *o, err *e);
void kernel_free(kernel *k);
// Locks the document of a path, for editing; *lock is NULL where there is nothing to lock.
int kernel_lock(kernel *k, const char *path, document_lock **lock, err *e);
// The ledger and the salt of a run whose journal is in the working folder.
int kernel_load_past(kernel *k, const char *run, err *e);
// Any thread: an event, in order with all others.
void kernel_emit(kernel *k, cJSON *event);
// The Lua thread: the same, and returns when it is in the journal. -1: it could not be written.
int kernel_record(kernel *k, cJSON *event, err *e);
// The Lua thread: everything that was printed is delivered; what the running cell's capture holds
// is appended. `show`: it becomes output of the cell after all, as what explains a failure.
void kernel_take_capture(kernel *k, const char *cell, bool show, buf *captured);
// The Lua thread: asks a person and waits. The answer is new; NULL when interrupted.
char *kernel_ask(kernel *k, const struct question *q, err *e);
// The loop's thread: what runs has not stopped for seconds.
void kernel_wedged(kernel *k);
// The loop's thread: an execution is back.
void kernel_executed(kernel *k, execution *x);
