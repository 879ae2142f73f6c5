// SPDX-License-Identifier: MIT
// `run --from RUN`: a run to be done again from its own record. It owns what it has read.
#pragma once
#include "cli/cli.h"
#include "script/journal/fold.h"

#include <stdbool.h>
#include <stdio.h>

struct again {
    fold *then;
    char *run, *journal, *spools;
    const char *path, *cwd; // of its notebook, and where it worked; borrowed from the fold
    char *seed;             // NULL: it was not recorded
    bool sandbox;           // it had a private one
};

// Reads the run that the word means in this folder. Errors (ERR_USAGE): there is none, it goes on
// still, or its journal hides a part of its source.
int again_open(const char *folder, const char *word, struct again *a, err *e);
void again_done(struct again *a);
// Puts the parameters that it was given before those in *given. Errors: ERR_USAGE: the journal
// hides the value of one, and it is not among *given.
int again_parameters(const struct again *a, char ***given, err *e);
// Compares; prints to `to`, and returns whether a result has moved.
bool again_compare(const struct again *a, const fold *now, const char *spools, FILE *to);
