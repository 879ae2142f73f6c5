// SPDX-License-Identifier: MIT
// Starts a kernel: firesteel-kernel as a child process that has one end of a socket pair, so there
// is no moment in which a client must poll for its socket. The caller owns process and descriptor.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

// The options of firesteel-kernel; NULL, false and 0 are left out of its command line.
struct launch {
    const char *program;  // path of firesteel-kernel
    const char *notebook; // --notebook: the file; read once, never written when headless
    const char *name;     // --name: what a run is named after when notebook is a copy
    const char *cwd;      // --cwd: the working folder
    const char *run;      // --run: name of the run; none: the kernel makes one
    const char *resume;   // --resume: name of the run to go on with
    const char *recover;  // --recover: a journal whose document is taken instead of the file's
    const char *socket;   // --socket: path to listen on for others; none: no listening
    const char *journal;  // --journal: folder for the journal; none: CWD/.firesteel
    const char *allow;    // --allow: "cluster,destructive"
    const char *timeout;  // --timeout: of the whole run, "15m"
    const char *memory;   // --memory: cap of Lua's heap, "2G"
    const char *context, *namespace_, *kubeconfig; // --context, --namespace, --kubeconfig
    const char *images;                            // --images: the local image store
    const char *data;                              // --data: where data sets are looked for
    const char *const *parameters;                 // NAME=VALUE, NULL-terminated; never
                                                   // on its command line, which all may read
    const char *const *redo; // --redo: cells of a resumed run that may be done again, likewise
    int output;              // descriptor for what it prints itself; 0: the caller's own
    bool headless;           // --headless: executes the notebook after the owner's hello, then ends
    bool detach;             // --detach: headless, but starts at once and outlives its client
    bool sandbox;            // --sandbox: a private one
    bool accept_drift;       // --accept-drift: changed objects are taken as they are
};

// The process to wait for is the kernel's guard: its exit code is the run's (0, 1, 2, 3, 4, 130),
// and when it has ended, nothing of the kernel is left. It does not get the caller's controlling
// terminal signals (it has a session of its own). *client_fd: for client_from_fd, close-on-exec.
int launch_kernel(const struct launch *options, pid_t *guard, int *client_fd, err *e);
