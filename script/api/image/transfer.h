// SPDX-License-Identifier: MIT
// The progress of a push or a pull, as a live display below its cell. The caller owns it, and calls
// transfer_end when the transfer is over. Short ones are not shown.
#pragma once
#include "k8s/image/registry/progress.h"
#include "script/kernel/effects/binding.h"

struct transfer {
    struct image_progress progress;
    call *call;
    const char *label; // "pull apache/spark:3.5.7"
    display *display;  // NULL: not shown yet
    int64_t began, shown;
};
void transfer_begin(struct transfer *t, call *c, const char *label);
void transfer_end(struct transfer *t);
