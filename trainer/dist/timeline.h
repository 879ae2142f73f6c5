// SPDX-License-Identifier: MIT
// Horovod's timeline (HOROVOD_TIMELINE): when each collective operation ran and how long it took,
// as a file for chrome://tracing or Perfetto. Rank 0 writes it. The file is valid JSON after each
// operation.
//
//   a process (pid) for each tensor name: NEGOTIATE_ALLREDUCE, then ALLREDUCE around MPI_ALLREDUCE
//   (by shared memory SHM_ALLREDUCE), ts in µs since the start; horovod/common/timeline.cc
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef struct timeline timeline;

struct timeline_op {
    const char *kind; // "ALLREDUCE", "BROADCAST", "ALLGATHER"
    const char *by;   // comm_ops.name: "MPI"; NULL: nothing was sent
    const char *name; // of the tensor
    const char *dtype;
    const char *shape;
    int size;                   // ranks
    int64_t begin, agreed, end; // clock_mono() ns: called; all ranks were ready; done
};

timeline *timeline_open(const char *path, int64_t now, err *e);
// A full disk must not end a training: after the first failed write, nothing more is written.
void timeline_add(timeline *t, const struct timeline_op *op);
void timeline_close(timeline *t); // NULL is fine
