// SPDX-License-Identifier: MIT
// The ranks of one host as child processes. Four channels connect each rank with its starter;
// nobody else can reach them. The caller owns the launch; launch_close kills the remaining ranks.
//   LINK            socket pair   messages (message.h); descriptor 3 of the rank
//   PMI             socket pair   PMI-1 (pmi.h); descriptor 4
//   STDOUT, STDERR  pipes         what the rank's own children print; descriptors 1 and 2
// Descriptor 5 is the memory that the ranks share (shared.h), if there is any. All ranks are one
// process group, which is killed as a whole. A rank gets SIGTERM when its starter is gone.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum channel { CHANNEL_LINK, CHANNEL_PMI, CHANNEL_STDOUT, CHANNEL_STDERR, CHANNELS };
enum { LAUNCH_LINK_FD = 3, LAUNCH_PMI_FD = 4, LAUNCH_SHARED_FD = 5, LAUNCH_POLLS = CHANNELS + 1 };

struct launch_spec {
    const char *worker;          // the program of the ranks
    int size, first, n;          // number of ranks in the job; first rank here, and how many
    const char *const *settings; // "NAME=VALUE" on top of our own environment, NULL at the end
    int shared;                  // descriptor of the memory that the ranks share; 0: none
};

struct launched {
    pid_t pid;
    int followed; // base/os/follow.h; -1: then the rank is polled
    int fds[CHANNELS];
    bool gone;
};

typedef struct launch {
    struct launched *ranks;
    int first, n;
} launch;

struct launch_sink {
    void *ctx;
    void (*bytes)(void *ctx, int rank, enum channel channel, const char *bytes, size_t n);
    // Called with a wait status, after all bytes of the rank.
    void (*gone)(void *ctx, int rank, int status);
};

int launch_start(launch *l, const struct launch_spec *spec, err *e);
// The descriptors to poll, LAUNCH_POLLS for each rank. `quiet`: only for their end, not for data.
void launch_polls(const launch *l, bool quiet, struct pollfd *out);
// Passes on the data that has arrived, after a poll of these descriptors.
void launch_hear(launch *l, const struct pollfd *polled, const struct launch_sink *sink);
bool launch_any_left(const launch *l);
// This side's descriptor of a rank's channel; -1: the rank is gone.
int launch_fd(const launch *l, int rank, enum channel channel);
// Kills the group, and returns when no process of it is left. For that the process must be a
// subreaper (prctl); otherwise children of ranks may live a moment longer.
void launch_close(launch *l);

// "was ended by signal 9 (Killed)", "ended with exit code 3".
void launch_describe(int status, buf *out);
