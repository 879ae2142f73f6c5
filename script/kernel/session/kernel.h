// SPDX-License-Identifier: MIT
// A kernel: one notebook, one Lua, one journal, any number of clients. kernel_run owns everything
// it makes and returns when the run is over; its options are borrowed and stay unchanged.
#pragma once
#include "base/err.h"
#include "script/kernel/effects/binding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_options {
    const char *notebook;      // its file
    const char *name;          // what the run is named after; NULL: the file's name
    const char *recover;       // path of a journal whose document is taken instead of the file's
    const char *cwd;           // the working folder; it is the process's already
    const char *run;           // name of the run; NULL: made from name and time
    const char *resume;        // name of the run to go on with, in cwd; or NULL
    const cJSON *past;         // its last "run" or "resumed" record; NULL: none
    const cJSON *past_cluster; // and its last "cluster" one
    const char *const *redo; // cells, by id or title, NULL-terminated or NULL: what in them cannot
                             // be verified may be done again, though they reach elsewhere
    bool accept_drift;       // objects that are not as they were made are accepted as they are
    const char *socket;      // to listen on; NULL: clients come over client_fd only
    const char *allow;       // "cluster,destructive"; NULL: what is local
    const char *const *parameters; // "NAME=VALUE", NULL-terminated; may be NULL
    const char *const *env;        // of the children
    const char *self;              // path of firesteel-kernel: refuses credentials to children
    const char *runtime; // folder of this user's alone, for what lives as long as the process
    const char *sandbox; // path of firesteel-sandbox when a private one is wanted, else NULL
    const struct binding *const *bindings; // tables, NULL-terminated
    const struct display_action *actions;  // of displays, ended by one without a name
    // Which cluster it is, {context, namespace, server}, without a word on the network; new, NULL
    // when none can be found.
    cJSON *(*where)(call *c);
    struct call_paths paths;
    struct call_cluster cluster;
    const char *kubeconfig; // the one that was named for this run: it goes on with it. Or NULL
    int client_fd;          // a connected client, -1: none
    int64_t timeout_ns;     // of the whole run, 0: none
    size_t memory;          // cap of Lua's heap in bytes
    bool headless;          // executes everything after the owner's hello, then ends
    bool detach;            // headless, but starts at once and outlives its client
};

// Returns the exit code of the run, or GUARD_RESTART; -1 when it could not start (then e tells
// why).
int kernel_run(const struct kernel_options *options, err *e);
