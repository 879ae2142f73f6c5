// SPDX-License-Identifier: MIT
// What an object leans on beside its own kind, seen before it is made: queues, runtimes, webhooks,
// storage classes. Private to script/api/preflight/preflight.c.
#pragma once
#include "script/api/preflight/preflight.h"

// The queue that its label (Kueue) or its spec (Volcano) names: is it there, and does it admit?
void flight_queue(struct flight *f);
// The runtime of a TrainJob.
void flight_runtime(struct flight *f);
// Webhooks that stand before the object or its pods, and whose Service has nothing that is ready.
void flight_hooks(struct flight *f);
// A claim without a class on a cluster without a default one.
void flight_claim(struct flight *f);
