// SPDX-License-Identifier: MIT
// An executor: the process of a pod that waits for a driver, starts ranks for it here, and passes
// on what they and the driver say to each other. It lends cores, and nothing else of the pod.
#pragma once
#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

struct executor_options {
    const char *driver; // "HOST:PORT"
    const char *secret;
    const char *worker;      // the program of the ranks
    int64_t start_timeout;   // ns: how long the driver may take to answer
    const atomic_bool *stop; // set by a signal's handler: ERR_CANCELLED
};

// Until the driver has nothing more to do: 0. Errors: TIMEOUT when it never answered, UNAVAILABLE
// when it went away.
int executor_run(const struct executor_options *options, err *e);
