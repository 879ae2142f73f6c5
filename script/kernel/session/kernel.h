// SPDX-License-Identifier: MIT
// A kernel: one notebook, one Lua, one journal, any number of clients. kernel_run owns everything
// it makes and returns when the run is over; its options are borrowed and must not change.
#pragma once
#include "base/err.h"
#include "script/kernel/effects/binding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_wanted;

struct kernel_options {
    const char *notebook;      // its file
    const char *name;          // the run is named after this; NULL: after the file
    const char *recover;       // path of a journal: take its document instead of the file's
    const char *cwd;           // the working folder; the process is in it
    const char *run;           // name of the run; NULL: made from name and time
    const char *resume;        // name of the run to continue, in cwd; or NULL
    const cJSON *past;         // that run's last "run" or "resumed" record; NULL: none
    const cJSON *past_cluster; // and its last "cluster" record
    const char *const *redo;   // cells by id or title, NULL-terminated or NULL: their effects that
                               // cannot be verified may be repeated, even beyond this machine
    const char *const *keep;   // with resume: ids of cells that do not run again; NULL: all run
    const char *const *again;  // ids of cells whose effects are done anew, not verified
    bool accept_drift;         // accept objects that have changed since they were made
    const char *socket;        // the socket to listen on; NULL: only the client on client_fd
    const char *allow;         // "cluster,destructive"; NULL: only local effects
    const char *const *parameters; // "NAME=VALUE", NULL-terminated; may be NULL
    const char *const *command;    // the command line that a person typed, for the record; may be
                                   // NULL
    const char *from;              // the run that it repeats, for the record; or NULL
    const char *kernel;            // the Jupyter kernel of the notebook's cells; NULL: its own
    const char *seed;              // of math.random, an integer; NULL: the continued run's, or a
                                   // new one
    const char *const *env;        // environment of the children
    const char *self;            // path of firesteel-kernel, which refuses credentials to children
    const char *runtime;         // a folder of this user alone, for files of this process
    bool processes;              // the sandbox runs its pods as plain processes
    bool sandbox;                // a private sandbox is wanted from the start
    const char *sandbox_program; // path of firesteel-sandbox; NULL: it is not installed
    // Do pods of images run here? -1: the error says why not. It gets images_arg.
    int (*takes_images)(void *arg, err *e);
    void *images_arg;
    const struct binding *const *bindings; // tables, NULL-terminated
    const struct display_action *actions;  // actions on displays; the end has no name
    // Finds the cluster, {context, namespace, server}, without using the network; new, NULL when
    // there is none.
    cJSON *(*where)(call *c);
    bool (*guarded)(call *c, const char *context); // effects.h
    // Does this kernel of Jupyter exist (cells/compile.h)? It gets these options.
    int (*find_kernel)(void *options, const struct kernel_wanted *w, err *e);
    const char *const *protect;         // patterns of contexts; NULL-terminated or NULL
    const char *const *allow_protected; // contexts; NULL-terminated or NULL
    bool read_only;                     // no effects elsewhere
    bool allow_errors;                  // an error of a cell is shown, and the run goes on
    struct call_paths paths;
    struct call_cluster cluster;
    const char *kubeconfig; // kubeconfig named for this run, kept on resume; or NULL
    int client_fd;          // a connected client, -1: none
    int64_t timeout_ns;     // for the whole run, 0: none
    int64_t lifetime_ns;    // how long an unused kernel lives; 0: it ends with its last client
    int64_t room;           // the most memory of all unused kernels together, in bytes; 0: any
    size_t memory;          // cap of Lua's heap in bytes
    bool no_preflight;      // skips the preflight before the first cell
    bool no_git;            // does not record the notebook's commit
    bool headless;          // executes all cells after its owner's hello, then ends
    bool detach;            // headless, but starts at once and outlives its client
    bool bound;             // ends with its owner, whatever it holds; edits are lost
};

// What stands behind the journal's path in the note that a kernel with a private sandbox leaves its
// guard before a restart (guard_leave_note): the next one has a sandbox, too.
#define KERNEL_NOTE_SANDBOX   "\nsandbox"
#define KERNEL_NOTE_PROCESSES KERNEL_NOTE_SANDBOX "=processes"

// Returns the exit code of the run, or GUARD_RESTART; -1 when it could not start (see e).
int kernel_run(const struct kernel_options *options, err *e);
