// SPDX-License-Identifier: MIT
// The worker: a Lua 5.4 interpreter with the modules hvd, nn, data and args, that runs a trainer
// file as the driver, or one function as a rank. Its maker frees it; one thread uses it.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "trainer/dist/job/driver.h"
#include "trainer/dist/job/rank.h"

#include <stdatomic.h>

struct worker_options {
    int np;                          // ranks for hvd.run without np; 0: the driver's default
    int min_np, max_np;              // of an elastic job, when hvd.run does not say; 0: it is none
    double cooldown_range[2];        // s, of its places that lost a rank; both 0: the default
    int64_t start_timeout;           // ns, for ranks and executors
    const char *plugin;              // path of firesteel-mpi.so
    const char *dnn;                 // path of firesteel-dnn.so; NULL: it is not used
    const char *timeline;            // path of Horovod's timeline; NULL: none
    const char *const *data_folders; // folders to look for data sets in, NULL at the end
    struct driver_options driver;
    // Gets one JSON object (FIRESTEEL_EVENTS), without a newline; NULL: nobody listens.
    void (*event)(void *ctx, const char *json, size_t n);
    void *event_ctx;
    void (*exit)(int code);  // called by os.exit, after ranks and executors were told
    const cJSON *notes;      // for the metadata of models that are saved; NULL: none
    bool terminal;           // stdout is a terminal: fit shows a progress bar by default
    const atomic_bool *stop; // set by a signal handler
};

typedef struct worker worker;

worker *worker_new(const struct worker_options *options, err *e);
// Ends ranks, and tells executors that there is no more work.
void worker_free(worker *w);

// Runs the file; args become `arg`. After an error, `failure` has message and traceback.
int worker_run(worker *w, const char *script, char *const *args, buf *failure, err *e);
// Runs a function that a notebook's cell has packed, on options.np ranks (0: the driver's default).
// What it returned is told as events "result"; after an error, `failure` has message and traceback.
int worker_run_function(worker *w, const void *packed, size_t n, buf *failure, err *e);
// Runs the job of a rank; the driver ends this process when it has every rank's result. Returns
// only when there is no job, or when nobody can be told the result.
int worker_run_rank(worker *w, rank_link *link, err *e);

// For a signal handler: makes the running Lua code raise.
void worker_interrupt(worker *w);
