// SPDX-License-Identifier: MIT
// A trainer's reports while it runs, as a progress display: its position, the curves of its epochs,
// the evaluation of its model. The reports are events, {"event": "progress" | "epoch" | "evaluate",
// "metrics", …}, from a descriptor of a worker of ours or as marked lines of a pod's log.
#pragma once
#include "base/json.h"

#include <stdbool.h>

typedef struct training training;
training *training_new(void);
void training_free(training *t);
// Adds an event. false: it is no event of a training, and nothing has changed.
bool training_event(training *t, const cJSON *event);
// The display as a MIME bundle. Of a long history it has only as many epochs as the curves need.
cJSON *training_bundle(const training *t);
// The last value of each metric, the epochs' first and then the evaluation's; and the events of the
// epochs. Borrowed.
const cJSON *training_metrics(const training *t);
const cJSON *training_history(const training *t);

// The event in a line "@firesteel {…}", new; NULL: it is an ordinary line. In a log of many pods,
// the pod's name and " | " precede it.
cJSON *training_line(const char *line, size_t n);
