// SPDX-License-Identifier: MIT
// The training that a job's log reports, as live progress and curves beside the job's table. The
// log is followed, and the first marked line makes the display. Lives on the loop's thread.
#pragma once
#include "script/api/k8s/k8s.h"

typedef struct job_training job_training;
// Takes the fields of `pods`. beside: the display above; it outlives this one.
job_training *job_training_open(client *c, display *beside, const char *ns, struct pods_of *pods);
void job_training_close(job_training *t); // NULL is fine; the display stays as it was last
