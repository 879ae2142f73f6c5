// SPDX-License-Identifier: MIT
// The driver's side of a distributed job: starts ranks here or through executors, lets them find
// each other, hands each the function, passes their output on, and collects their results in rank
// order, or ends them all. A driver is owned by who opened it; with executors it keeps their
// connections from job to job.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "trainer/dist/place.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct driver_options {
    const char *worker; // the program of the ranks
    int cores;          // of this machine, shared by the ranks on it
    // Executors (pods): their number, 0 for ranks here; ranks on each; where they call.
    int executors, slots;
    const char *bind;
    int port;
    const char *secret;           // that executors prove; ranks here need none
    const atomic_bool *stop;      // set by a signal's handler: jobs end with ERR_CANCELLED
    const sigset_t *stop_signals; // …of these signals
};

struct driver_sink {
    void *ctx;
    // Whole lines of the ranks, tagged "[1,RANK]<stdout>:"; stream is 1 or 2.
    void (*text)(void *ctx, int stream, const char *bytes, size_t n);
    void (*event)(void *ctx, int rank, const char *json, size_t n);
};

struct job {
    int np;
    const void *function; // packed, the same for all ranks
    size_t function_n;
    int64_t start_timeout; // ns
    struct driver_sink sink;
};

struct job_result {
    int np;
    buf *results; // packed, by rank
    // A job that failed: the rank (-1: none), its message and traceback.
    int failed_rank;
    buf failure;
    int exit_code; // a rank called os.exit with it; -1: none did
};

typedef struct driver driver;

// With executors it listens from now on, so that they may call while the script still prepares.
driver *driver_open(const struct driver_options *options, err *e);
// Tells the executors that all is done.
void driver_close(driver *d);

int driver_default_np(const driver *d); // executors × slots, or 1
// Runs a job of two ranks or more. Returns 0 when every rank has sent its result; -1 with e, and
// what a rank said in `result`, when not: no rank is left then. result is job_result_done's either
// way.
int driver_run(driver *d, const struct job *job, struct job_result *result, err *e);
void job_result_done(struct job_result *r);
