// SPDX-License-Identifier: MIT
// This user's running kernels on this machine, found by their sockets.
#pragma once
#include "base/json/json.h"
#include "cli/cli.h"

struct kernel {
    char *socket;
    char *run, *cwd, *state; // its answer; NULL: it did not answer
    int pid;
    bool headless, unsaved;
    char *release;    // of firesteel; NULL: before 0.2
    char *refused;    // why we cannot talk to it: another version of the protocol; NULL: we can
    int64_t lifetime; // ms that it lives when unused; -1: it is headless
    int64_t unused;   // ms; -1: it is in use
    char *held;       // why it does not end, however long it is unused; NULL: nothing holds it
    char *holds;      // what goes with it, for people: "3 variables, its sandbox"; NULL: nothing
    cJSON *differs;   // what it lacks of `wants` (message.def); NULL: it has not said
    int64_t memory;   // memory of it and everything below it, bytes; kernels_measure sets it
};
struct kernels {
    struct kernel *list;
    size_t n;
};

// Asks every socket; each kernel has two seconds to answer. Sockets on which nobody listens are
// removed.
int kernels_find(struct cli *cli, struct kernels *out, err *e);
// The same for one socket: `out` has one kernel, or none if there is no answer. wants: what the
// person asked for when opening the notebook (hello in message.def); NULL: nothing.
int kernels_ask(const char *socket, const cJSON *wants, struct kernels *out, err *e);
void kernels_measure(struct kernels *k);
void kernels_done(struct kernels *k);
// Finds a kernel by its run's name, beginning or end (journal_match), or "newest"; NULL: the
// only one.
const struct kernel *kernels_get(const struct kernels *k, const char *name, err *e);
