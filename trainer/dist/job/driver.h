// SPDX-License-Identifier: MIT
// The driver's side of a distributed job. It starts ranks here or through executors, lets them find
// each other, sends each the function, prints their output, and collects their results in rank
// order, or ends them all. The caller owns a driver. With executors it keeps their connections from
// job to job.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "trainer/dist/job/elastic.h"
#include "trainer/dist/place.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct driver_options {
    const char *worker; // the program of the ranks
    int cores;          // of this machine, shared by the ranks on it
    // Executors (pods): their number, 0 for ranks here; ranks on each; the address that they call.
    // An elastic job may take more executors, up to executors_most.
    int executors, executors_most, slots;
    const char *bind;
    int port;
    bool mpi;           // ranks on this machine use MPI, too, instead of shared memory
    int bucket;         // for MPI: gradients are averaged in pieces of at least so many bytes
    const char *secret; // executors prove that they know it; ranks on this machine need none
    // Ranks that wait so long for others cause a warning, or end the job (stall.h): ns, 0: never.
    int64_t stall_check, stall_shutdown;
    const atomic_bool *stop;      // set by a signal handler: jobs end with ERR_CANCELLED
    const sigset_t *stop_signals; // the signals that set `stop`
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
    int64_t start_timeout;                 // ns
    const struct elastic_options *elastic; // NULL: the ranks stay the same to the end
    struct driver_sink sink;
};

struct job_result {
    int np;
    buf *results; // packed, by rank
    // If the job failed: the rank that failed (-1: none), its message and traceback.
    int failed_rank;
    buf failure;
    int exit_code; // the code with which a rank called os.exit; -1: none did
};

typedef struct driver driver;

// With executors, it listens from now on: they may connect while the script still prepares.
driver *driver_open(const struct driver_options *options, err *e);
// Tells the executors that there is no more work.
void driver_close(driver *d);

int driver_default_np(const driver *d); // executors × slots, or 1
// Runs a job of two ranks or more; an elastic one may have one rank. Returns 0 if every rank has
// sent its result. Otherwise returns -1 with e, and `result` has what a rank reported; no rank is
// left then. Call job_result_done(result) in either case.
int driver_run(driver *d, const struct job *job, struct job_result *result, err *e);
void job_result_done(struct job_result *r);
