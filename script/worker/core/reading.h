// SPDX-License-Identifier: MIT
// The files that a trainer has read. Private to script/worker.
#pragma once
#include "base/buf.h"
#include "base/data/digest.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct worker worker;
struct reading;
struct stat;

void reading_free(struct reading *r); // NULL is fine

// Does anybody get this worker's events?
bool worker_listened(const worker *w);
// Sends what the trainer is about to read: {event = "read", path, size, mtime (wall ns), sha256
// (of files that are not too large)}; once for each state of a file. What is no file is not told.
void worker_tell_read(worker *w, const char *path);
// The sum that the file is known to have in this state, here or by the driver of this rank; or "".
void worker_known_sum(worker *w, const char *path, const struct stat *st, char sum[SHA256_HEX]);
// Remembers the sum of what was read. st: from before that.
void worker_know_sum(worker *w, const char *path, const struct stat *st, const char *sum);

// Appends what ranks are to know of the driver's reading. near: they are on this machine.
void reading_list(worker *w, bool near, buf *list);
void reading_take(worker *w, const void *list, size_t n); // in a rank
