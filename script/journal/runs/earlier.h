// SPDX-License-Identifier: MIT
// Finds the earlier runs of a notebook with the same parameters, the newest first, to show their
// outputs again. It works in small pieces, so that nobody waits. It owns what it has opened.
#pragma once
#include "script/journal/replay.h"

typedef struct earlier earlier;
struct earlier_of {
    const char *folder;       // the working folder
    const char *path, *name;  // of the notebook's file, whose name begins the names of its runs
    const notebook *notebook; // the notebook now; borrowed until earlier_new has returned
    const char *const *given; // NAME=VALUE, NULL-terminated; or NULL
    const char *own;          // a run to leave out; or NULL
};
// A run in which at least one cell began; the caller frees it with earlier_done.
struct earlier_run {
    char *run, *spools; // its name, and the folder of its spools
    replay *replay;
    fold *outline; // replay_add_cell fills it
    fold *facts;   // what its cells were, read and made: for stale_find
};

earlier *earlier_new(const struct earlier_of *of);
void earlier_free(earlier *e); // NULL is fine
// Continues, reading about so many bytes of a journal. 1: *out has the next run; 0: call it again;
// -1: there are no more.
int earlier_next(earlier *e, size_t bytes, struct earlier_run *out);
void earlier_done(struct earlier_run *r);
