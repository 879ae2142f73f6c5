// SPDX-License-Identifier: MIT
// The session: one run of one notebook, as the loop's thread has it. What other threads need is in
// parts of their own, which the session owns and opens in order: port, displays, asks (what goes
// out), effects, and the interpreter, which has the Lua thread. Only session/ includes this.
#pragma once
#include "base/loop/loop.h"
#include "script/journal/lock.h"
#include "script/kernel/cells/interp.h"
#include "script/kernel/effects/actions.h"
#include "script/kernel/effects/effects.h"
#include "script/kernel/port/asks.h"
#include "script/kernel/port/displays.h"
#include "script/kernel/port/port.h"
#include "script/kernel/session/document.h"
#include "script/kernel/session/kernel.h"
#include "script/protocol/server.h"

typedef struct kernel kernel;

struct kernel {
    const struct kernel_options *options;
    loop *loop;
    port *port;
    displays *displays;
    asks *asks;
    effects *effects;
    actions *actions;
    server *server;
    interp *interp;
    struct interp_options interp_options;
    char *notebook_dir;

    document *document;
    document_lock *lock; // of its file; NULL in a headless run
    struct filewatch *watch;
    struct sandbox *sandbox;
    int kubeconfig_owner; // of effects->refusing_kubeconfig; -1: it is not there
    loop_timer *run_timer, *cell_timer, *idle_timer;
    loop_signal *signals[3];

    struct queue_item *queue; // cells to execute
    execution *running;
    int64_t started;
    long executed;
    struct {
        int ok, failed, cancelled;
    } counts;
    bool greeted;             // a client has said hello
    bool started_all;         // a headless run has queued its cells: it ends when they are done
    bool waiting_for_sandbox; // nothing is executed before it is ready
    bool said_busy, wedged, run_timed_out;
    bool end_when_idle; // shutdown was asked for while a cell ran
    bool stopping;      // the run is over: nothing is started any more
    bool unended;       // what it ended with could not be journaled
    bool abandoned;     // the Lua thread does not come back: it goes with the process
    int exit;           // of the run, or GUARD_RESTART
    char *last_words;   // why it ends; NULL: in order
};

// A kernel without document, journal and Lua; what is opened in it is freed with it.
kernel *kernel_new(const struct kernel_options *o, err *e);
void kernel_free(kernel *k);
// Locks the document of a path, for editing; *lock is NULL where there is nothing to lock.
int kernel_lock(kernel *k, const char *path, document_lock **lock, err *e);
// The ledger and the salt of a run whose journal is in the working folder.
int kernel_load_past(kernel *k, const char *run, err *e);
