// SPDX-License-Identifier: MIT
// Decides from a Job's pods what the Job needs next
// (kubernetes/pkg/controller/job/job_controller.go). Pure: the controller (job.c) carries it out.
#pragma once
#include "base/json/json.h"

#include <stdint.h>

struct job_counts {
    int64_t active, ready, terminating, succeeded, failed;
    int64_t restarts;     // of the containers of active pods, for restartPolicy OnFailure
    int64_t last_failure; // wall ns of the newest pod failure, 0 if none
};
// Adds a pod of the job to the counts.
void job_count(struct job_counts *c, const cJSON *pod);

struct job_plan {
    const char *finish;           // "Complete" or "Failed" ends the job; NULL: go on
    const char *reason, *message; // of that condition
    bool suspend;                 // delete the active pods but keep the job
    int64_t create, remove;       // numbers of pods
    int64_t look_at;              // wall ns to decide again; 0: only after a change
};
// Failed pods are replaced after 10 s, doubled with each failure, up to 10 min.
struct job_plan job_decide(const cJSON *job, const struct job_counts *c, int64_t now);
