// SPDX-License-Identifier: MIT
// The controller of batch/v1 Jobs: makes their pods, counts how the pods end, and ends the Job.
// Only on the loop's thread.
#pragma once
#include "k8s/sandbox/api/sandbox.h"

typedef struct jobs jobs;
jobs *jobs_open(sandbox *s);
void jobs_close(jobs *j); // NULL is fine
