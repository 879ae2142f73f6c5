// SPDX-License-Identifier: MIT
// The controller of batch/v1 Jobs: makes their pods, counts how they end, and ends the Job. Loop's
// thread only.
#pragma once
#include "k8s/sandbox/api/sandbox.h"

typedef struct jobs jobs;
jobs *jobs_open(sandbox *s);
void jobs_close(jobs *j); // NULL is fine
