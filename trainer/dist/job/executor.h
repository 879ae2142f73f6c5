// SPDX-License-Identifier: MIT
// An executor: the process of a pod that waits for a driver, starts ranks for it here, and relays
// messages between them and the driver. It gives the driver its cores and nothing else of the pod.
#pragma once
#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

struct executor_options {
    const char *driver; // "HOST:PORT"
    const char *secret;
    const char *worker;      // the program of the ranks
    int64_t start_timeout;   // ns within which the driver must answer
    const atomic_bool *stop; // set by a signal handler: ERR_CANCELLED
};

// Runs until the driver has no more work, then returns 0. Errors: TIMEOUT when the driver never
// answered, UNAVAILABLE when it went away.
int executor_run(const struct executor_options *options, err *e);
