// SPDX-License-Identifier: MIT
// The session: one run of one notebook, on the loop's thread. The parts that other threads use are
// separate. The session owns them and opens them in this order: port, displays, asks (the output),
// effects, and the interpreter, which has the Lua thread. Only session/ includes this.
#pragma once
#include "base/data/hashmap.h"
#include "base/loop/loop.h"
#include "script/journal/file/lock.h"
#include "script/kernel/cells/interp.h"
#include "script/kernel/effects/actions.h"
#include "script/kernel/effects/effects.h"
#include "script/kernel/effects/lookups.h"
#include "script/kernel/port/asks.h"
#include "script/kernel/port/displays.h"
#include "script/kernel/port/port.h"
#include "script/kernel/port/works.h"
#include "script/kernel/session/checks.h"
#include "script/kernel/session/file/document.h"
#include "script/kernel/session/file/origin.h"
#include "script/kernel/session/kernel.h"
#include "script/protocol/server.h"

typedef struct kernel kernel;

struct kernel {
    const struct kernel_options *options;
    loop *loop;
    port *port;
    displays *displays;
    works *works;
    asks *asks;
    effects *effects;
    actions *actions;
    lookups *lookups;
    checks *checks;
    server *server;
    interp *interp;
    struct interp_options interp_options;
    char *notebook_dir;

    document *document;
    cJSON *parameters;       // {"name": value}
    struct origins *origins; // which cells wrote which files
    document_lock *lock;     // lock of the notebook's file; NULL in a headless run
    struct filewatch *watch;
    struct recording *recording; // what is needed to repeat the run (record.h)
    struct sandbox *sandbox;
    int kubeconfig_owner; // owner of effects->refusing_kubeconfig; -1: no such file
    loop_timer *run_timer, *cell_timer, *unused_timer, *finish_timer;
    loop_signal *signals[3];

    struct queue_item *queue; // queue of the cells to execute
    execution *running;
    int ahead; // how many executions may follow it without the loop (running.c)
    bool catching_up;
    int64_t started;
    long executed;
    struct {         // the first failure since the queue was empty
        cJSON *what; // {cell, name, message}; NULL: nothing
        int exit;
        bool stopped; // it was interrupted, or out of time
    } failure;
    bool interrupted; // interrupted again: no clean-up runs either
    bool cut;         // that has cancelled cells
    int64_t seen; // number of the newest event when a client that looks was last heard; 0: never
    hashmap *variables;   // which cell has set a name, as its place in `setters`; NULL: none has
    char **setters;       // ids of cells (variables.c)
    cJSON *terminal;      // terminal of the person who joined last, until no cell runs; NULL: in
                          // use already
    int64_t lifetime_ns;  // how long it may stay unused; 0: it ends with its last client
    int64_t unused_since; // mono: since when no client has looked and no cell has run; 0: in use
    struct {
        int ok, failed, cancelled;
    } counts;
    bool greeted;     // a client has said hello
    bool started_all; // a headless run has queued its cells; it ends after them
    struct sandbox_request
        *sandbox_request;     // a client waits for it (sandboxing.c); NULL: none does
    bool waiting_for_sandbox; // waits for the sandbox before it executes a cell
    bool waiting_for_git;     // waits a moment for git's answer before it executes a cell
    bool said_busy, wedged, run_timed_out;
    struct room *room;     // room.c; NULL: not made yet
    char *before;          // the run whose document was taken over; NULL: none
    err unread;            // the outputs of that run that cannot be read, until a save has reported
                           // it
    char *last_cell;       // in a headless run: the cell that was executed last
    int64_t last_deadline; // mono: the run's time limit; 0: none
    bool finishing;        // its cells are done; followed logs are read to their end
    bool end_when_idle;    // a shutdown was requested while a cell ran
    bool discards;         // and unsaved changes are to be dropped
    bool stopping;         // the run is over: nothing starts any more
    bool unended;          // its end could not be journaled
    bool abandoned;        // the Lua thread does not end; it ends with the process
    int exit;              // exit code of the run, or GUARD_RESTART
    char *given_up;        // why its starter cannot continue; NULL: it can
    char *last_words;      // why the run ends; NULL: in order
};

// Makes a kernel without document, journal and Lua. Everything that is opened in it is freed with
// it.
kernel *kernel_new(const struct kernel_options *o, err *e);
void kernel_free(kernel *k);
// Locks the document at a path for editing; *lock is NULL when there is nothing to lock.
int kernel_lock(kernel *k, const char *path, document_lock **lock, err *e);
// Loads the ledger and the salt of a run whose journal is in the working folder.
int kernel_load_past(kernel *k, const char *run, err *e);
