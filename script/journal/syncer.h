// SPDX-License-Identifier: MIT
// Brings a file's data to the disk in the background: what waits for that is nobody. It borrows the
// descriptor and owns a thread, which sleeps when there is nothing to do.
#pragma once
#include "base/err.h"

typedef struct syncer syncer;

syncer *syncer_open(int fd, err *e);
// What was written by now will be synced soon. Requests that come while one is under way become
// one.
void syncer_request(syncer *s);
// Returns when nothing is under way; NULL is fine.
void syncer_close(syncer *s);
