// SPDX-License-Identifier: MIT
// Makes batches on a thread of its own: while one is trained, the rows of the next are decoded,
// gathered and converted. There are two places; a batch is in one of them.
//   thread   make 0 ─► make 1 ─► (0 is in use) ─► make 2 …
//   caller            next = 0 ──────────────► next = 1 …
// The caller decides the order of the rows, so the bits are the same as for data in memory.
#pragma once
#include "trainer/nn/train.h"

typedef struct feed feed;

// Does any input of this data have rows that are made on demand, or that are in a file?
bool feed_is_needed(const model *m, const model_data *data);
// Makes `steps` batches of `size` rows of the model's data, in this order; the last has the
// remaining rows of n. Everything is borrowed until feed_close. NULL: no memory or no thread.
feed *feed_open(const model *m, const model_data *data, const uint32_t *order, size_t n,
    size_t size, size_t steps, err *e);
// The next batch, as separate data with rows 0, 1, …; valid until the next call. Errors come from
// making its rows. Do not call it after the last batch.
int feed_next(feed *f, model_data *out, size_t *n, err *e);
// Ends the thread, at the latest after the batch in progress. NULL is fine.
void feed_close(feed *f);
