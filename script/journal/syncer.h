// SPDX-License-Identifier: MIT
// Brings files to the disk, in a thread of its own that sleeps when there is nothing to do. It
// borrows the main descriptor and owns those that it is given.
//
// Linux tells a failed write-back to one fsync of an open file, and never again: so all syncs of a
// file are made here, and the first that fails is remembered and told to everybody who asks.
#pragma once
#include "base/err.h"

typedef struct syncer syncer;

// fd: a file that others append to; any thread uses the rest.
syncer *syncer_open(int fd, err *e);
// Another file, or a folder for its entries, to be on the disk before the file is, the next time;
// it is closed then.
void syncer_give(syncer *s, int fd);
// What was written by now will be synced soon. Requests that come while one is under way become
// one.
void syncer_request(syncer *s);
// The same, and waits for it.
int syncer_wait(syncer *s, err *e);
// Has any sync failed so far? -1 with the reason.
int syncer_check(syncer *s, err *e);
// Returns when nothing is under way; NULL is fine.
void syncer_close(syncer *s);
