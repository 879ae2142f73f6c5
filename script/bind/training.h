// SPDX-License-Identifier: MIT
// What a trainer tells of itself while it runs, as a progress display: where it stands, the curves
// of its epochs, how its model was evaluated. It comes as events, {"event": "progress" | "epoch" |
// "evaluate", "metrics", …}, from a descriptor of a worker of ours or as marked lines of a pod's
// log.
#pragma once
#include "base/json.h"

#include <stdbool.h>

typedef struct training training;
training *training_new(void);
void training_free(training *t);
// false: no event of a training, and nothing has changed.
bool training_event(training *t, const cJSON *event);
// As a MIME bundle; of a long history only so many epochs that the curves stay true.
cJSON *training_bundle(const training *t);
// The last value of each metric, an evaluation's after the epochs', and the epochs' events.
// Borrowed.
const cJSON *training_metrics(const training *t);
const cJSON *training_history(const training *t);

// The event of a line "@firesteel {…}", new; NULL: it is an ordinary line. A log of many pods has a
// pod's name and " | " before it.
cJSON *training_line(const char *line, size_t n);
