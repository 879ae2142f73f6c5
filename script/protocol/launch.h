// SPDX-License-Identifier: MIT
// Starts a kernel: firesteel-kernel as a child process with one end of a socket pair. So clients
// need not poll for its socket. The caller owns process and descriptor.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

// The options of firesteel-kernel; NULL, false and 0 are left out of its command line.
struct launch {
    const char *program;  // path of firesteel-kernel
    const char *notebook; // --notebook: the file; read once, never written when headless
    const char *name;     // --name: names the run, when notebook is a copy
    const char *cwd;      // --cwd: the working folder
    const char *run;      // --run: name of the run; none: the kernel makes one
    const char *resume;   // --resume: name of the run to continue
    const char *from;     // --from: name of the run that it repeats, for the record
    const char *recover;  // --recover: a journal; take its document instead of the file's
    const char *socket;   // --socket: path on which others can connect; none: it does not listen
    const char *journal;  // --journal: folder for the journal; none: CWD/.firesteel
    const char *allow;    // --allow: "cluster,destructive"
    const char *timeout;  // --timeout: for the whole run, "15m"
    const char *lifetime; // --lifetime: how long it stays when nobody uses it, "24h"
    const char *memory;   // --memory: cap of Lua's heap, "2G"
    const char *context, *namespace_, *kubeconfig; // --context, --namespace, --kubeconfig
    const char *registry;                          // --registry: for images that name none
    const char *images;                            // --images: the local image store
    const char *data;                              // --data: where to look for data sets
    const char *const *parameters;                 // NAME=VALUE, NULL-terminated; never on its
                                                   // command line, which all users can read
    const char *const *command; // --command-fd: what a person has typed, for the record; NULL-
                                // terminated or NULL
    const char *kernel;         // --kernel: the Jupyter kernel of the notebook's cells
    const char *seed;           // --seed: of math.random; none: another one for each run
    const char *const *reports; // --report: files that its guard writes at the end of the run
    const char *const *redo;    // --redo: cells of a resumed run that may be repeated; also
                                // NULL-terminated
    const char *const *keep;    // --keep: ids of cells that a resumed run leaves as they are
    const char *const *again;   // --again: ids of cells that a resumed run does anew
    const char *const *protect; // --protect: patterns of contexts where each effect is asked for
    const char *const *allow_protected; // --allow-protected: contexts where a headless run may have
                                        // effects all the same
    int output;                         // descriptor for the kernel's own output; 0: the caller's
    bool headless;     // --headless: executes the notebook after its owner's hello, then ends
    bool detach;       // --detach: headless, but starts at once and outlives its client
    bool bound;        // --bound: ends with its client, whatever it holds; edits are lost
    bool sandbox;      // --sandbox: start a private one
    bool processes;    // --processes: the sandbox runs pods as plain processes
    bool no_preflight; // --no-preflight: skips the checks before the first cell
    bool accept_drift; // --accept-drift: accept changed objects
    bool allow_errors; // --allow-errors: the run goes on after a cell that fails
    bool read_only;    // --read-only: nothing is changed elsewhere
    bool no_git;       // --no-git: do not record the notebook's commit
};

// The returned process is the kernel's guard: its exit code is the run's (0, 1, 2, 3, 4, 130), and
// when it has ended, no process of the kernel is left. It has its own session, so it gets no
// signals of the caller's terminal. *client_fd: for client_from_fd, close-on-exec.
int launch_kernel(const struct launch *options, pid_t *guard, int *client_fd, err *e);
