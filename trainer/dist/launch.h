// SPDX-License-Identifier: MIT
// A launcher: the mpiexec of one job as a child process, here or with proxies that executors run.
// Launchers only start processes; what is said travels over message.h. The caller owns the launch.
//
//   here       mpiexec -n 4 firesteel-worker --rank
//   executors  mpiexec -launcher manual … prints a line for each host, and waits for the calls of
//              what they start:
//              HYDRA_LAUNCH: /usr/bin/hydra_pmi_proxy --control-port HOST:PORT … --proxy-id 0
//              HYDRA_LAUNCH_END
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct launch_spec {
    const char *mpiexec; // path
    const char *worker;  // the program of the ranks
    int np;
    const char *const *env; // "K=V" for mpiexec and the ranks, NULL at the end
    // With executors: how many of them, ranks that fit on each, and this host as they see it.
    int executors, slots;
    const char *localhost;
};

typedef struct launch {
    pid_t pid;   // 0 when it was reaped
    pid_t group; // its process group; 0 when that is gone
    int out, err, pidfd;
    int code; // of exit, or 128 + signal
} launch;

int launch_start(launch *l, const struct launch_spec *spec, err *e);
// Has it ended? Reaps it then.
bool launch_ended(launch *l);
// Ends the whole group: TERM, then KILL. Returns when it is gone.
void launch_stop(launch *l);
void launch_close(launch *l); // stops it too

// The text of mpiexec's stdout so far → arguments of each proxy, each ended by a NUL, in `lines`
// (room for `n`). Returns how many there are (and consumes the lines), 0 when more text is needed,
// -1 when what it printed is not that.
int launch_parse_proxies(buf *text, buf *lines, size_t n, err *e);
