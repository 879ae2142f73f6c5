// SPDX-License-Identifier: MIT
// The kernels of this user that are alive on this machine, found by their sockets.
#pragma once
#include "cli/cli.h"

struct kernel {
    char *socket;
    char *run, *cwd, *state; // what it said; NULL: it did not answer
    int pid;
    bool headless;
};
struct kernels {
    struct kernel *list;
    size_t n;
};

// Asks every socket; a kernel has two seconds to answer. Sockets nobody listens on are removed.
int kernels_find(struct cli *cli, struct kernels *out, err *e);
// The same for one socket: out has one kernel, or none when nobody answers there.
int kernels_ask(const char *socket, struct kernels *out, err *e);
void kernels_done(struct kernels *k);
// By the whole name of its run or a unique beginning; NULL or "": the only one there is.
const struct kernel *kernels_get(const struct kernels *k, const char *name, err *e);
