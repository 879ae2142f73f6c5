// SPDX-License-Identifier: MIT
// Syncs files to the disk, in a thread of its own that sleeps when there is nothing to do. It
// borrows the main descriptor and owns those that are given to it.
// Linux reports a failed write-back to only one fsync of an open file. So all syncs of a file are
// made here; the first failure is remembered and reported to every caller.
#pragma once
#include "base/err.h"

typedef struct syncer syncer;

// fd: a file to which others append. Any thread may call the other functions.
syncer *syncer_open(int fd, err *e);
// Adds another file, or a folder for its entries: the next round syncs it before the main file, and
// then closes it.
void syncer_give(syncer *s, int fd);
// Requests a sync of everything written so far: at once, or 10 ms after the last round began.
// Requests that come until then share one round.
void syncer_request(syncer *s);
// The same, but waits for it.
int syncer_wait(syncer *s, err *e);
// Has any sync failed so far? -1 with the reason.
int syncer_check(syncer *s, err *e);
// Returns when no sync is in progress; NULL is fine.
void syncer_close(syncer *s);
