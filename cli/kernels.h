// SPDX-License-Identifier: MIT
// This user's living kernels on this machine, found by their sockets.
#pragma once
#include "cli/cli.h"

struct kernel {
    char *socket;
    char *run, *cwd, *state; // its answer; NULL: it did not answer
    int pid;
    bool headless, unsaved;
};
struct kernels {
    struct kernel *list;
    size_t n;
};

// Asks every socket; each kernel has two seconds to answer. Sockets on which nobody listens are
// removed.
int kernels_find(struct cli *cli, struct kernels *out, err *e);
// The same for one socket: `out` has one kernel, or none if nobody answers.
int kernels_ask(const char *socket, struct kernels *out, err *e);
void kernels_done(struct kernels *k);
// Finds a kernel by its run's name, beginning or end (journal_match), or "newest"; NULL: the
// only one.
const struct kernel *kernels_get(const struct kernels *k, const char *name, err *e);
