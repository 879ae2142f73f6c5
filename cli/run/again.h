// SPDX-License-Identifier: MIT
// `run --from RUN`: repeats a run from its own record. It owns what it has read.
#pragma once
#include "cli/cli.h"
#include "script/journal/fold/fold.h"

#include <stdbool.h>
#include <stdio.h>

struct again {
    fold *then;
    char *run, *journal, *spools;
    const char *path, *cwd; // its notebook's path, and its working folder; borrowed from the fold
    char *seed;             // NULL: it was not recorded
    bool sandbox;           // it had a private one
};

// Reads the run that the word means in this folder. Errors (ERR_USAGE): there is none, it still
// goes on, or its journal hides a part of its source.
int again_open(const char *folder, const char *word, struct again *a, err *e);
void again_done(struct again *a);
// Puts the parameters that were given to that run before those in *given. Errors: ERR_USAGE: the
// journal hides the value of one, and *given does not have it.
int again_parameters(const struct again *a, char ***given, err *e);
// Compares the two runs; prints to `to`, and returns whether a result has moved.
bool again_compare(const struct again *a, const fold *now, const char *spools, FILE *to);
