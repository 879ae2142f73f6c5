// SPDX-License-Identifier: MIT
// Batches that are made on a thread of their own: while one trains, the rows of the next are
// decoded, gathered and converted. There are two places; a batch is one of them.
//
//   thread   make 0 ─► make 1 ─► (0 is in use) ─► make 2 …
//   caller            next = 0 ──────────────► next = 1 …
//
// The order of the rows is the caller's, so the bits are those of data that is in memory.
#pragma once
#include "trainer/nn/train.h"

typedef struct feed feed;

// Does any input of this data have rows that are made when they are needed, or lie in a file?
bool feed_is_needed(const model *m, const model_data *data);
// Makes `steps` batches of `size` rows of the model's data, in this order; the last has what is
// left of n. All is borrowed until feed_close. NULL when there is no memory or no thread.
feed *feed_open(const model *m, const model_data *data, const uint32_t *order, size_t n,
    size_t size, size_t steps, err *e);
// The next batch, as data of its own with rows 0, 1, …; it is there until the next call. An error
// is that of its rows. Do not call it after the last one.
int feed_next(feed *f, model_data *out, size_t *n, err *e);
// Ends the thread, at the latest after the batch that it makes. NULL is fine.
void feed_close(feed *f);
