// SPDX-License-Identifier: MIT
// The state of an elastic job across generations. MPI's world cannot change, so after each loss,
// and for newcomers, new ranks are started, which continue from the last commit
// (doc/decisions/0013-elastic-generations.md). Times are passed in. The caller that initialised it
// owns it.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct elastic_options {
    int min_np, max_np;
    int reset_limit;                 // the most further generations; -1: any number
    int64_t timeout;                 // ns to wait for min_np ranks after a loss
    int64_t cooldown, cooldown_most; // ns that a place is not used after its first loss; doubles up
                                     // to
};

// How often a place has lost a rank, and until when it is not used.
struct cooldown {
    int losses;
    int64_t until;
};

struct elastic {
    struct elastic_options options;
    int np;         // at the start
    int generation; // from 1
    int losses;     // number of generations in a row without a commit
    int64_t commits;
    buf commit;            // the last one
    bool fresh;            // it came in this generation
    struct cooldown *here; // np places on this machine
};

void elastic_init(struct elastic *x, const struct elastic_options *options, int np);
void elastic_done(struct elastic *x);
void elastic_commit(struct elastic *x, const void *bytes, size_t n);
// The number of places on this machine that may run a rank now.
int elastic_places(const struct elastic *x, int64_t now);
// Call it when a place on this machine has lost a rank.
void elastic_lose(struct elastic *x, int64_t now);
void cooldown_begin(struct cooldown *c, const struct elastic_options *o, int64_t now);
// Begins another generation. ERR_LIMIT: reset_limit is reached, or no generation has reached a
// commit for some time; `why` is the last loss, NULL: newcomers.
int elastic_next(struct elastic *x, const err *why, err *e);
