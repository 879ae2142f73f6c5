// SPDX-License-Identifier: MIT
// A trainer's reports while it runs, as a progress display: its position, the curves of its epochs,
// the evaluation of its model. The reports are events, {"event": "progress" | "epoch" | "evaluate",
// "metrics", …}, from a descriptor of a worker of ours, or lines of a log: marked ones, and Keras's
// (keras.h). An event "epoch" with "again" may tell more of one that was told, and with "open" the
// epoch goes on; of "label": "step" what is called an epoch is a step.
#pragma once
#include "base/json/json.h"

#include <stdbool.h>

typedef struct training training;
training *training_new(void);
void training_free(training *t);
bool training_is_told(const training *t); // is there anything to show?
// Adds an event. false: it is no event of a training, and nothing has changed.
bool training_event(training *t, const cJSON *event);
// The display as a MIME bundle. If there are more than 300 epochs, it has the last 50, and of those
// before them only as many as the curves need.
cJSON *training_bundle(const training *t);
// The last value of each metric, the epochs' first and then the evaluation's; and the events of the
// epochs. Borrowed.
const cJSON *training_metrics(const training *t);
const cJSON *training_history(const training *t);

// What a line of a trainer's output said.
enum training_said {
    SAID_NOTHING, // it is an ordinary line
    SAID_MORE,    // there is more to show; the line is worth reading, too
    SAID_PASSING, // perhaps the same; the line is for us, or tells only of a moment
};
// Reads a line of a trainer's output or log. now: seconds, of any clock.
enum training_said training_read(training *t, const char *line, size_t n, double now);
// The same for a script that is known to train: its own forms are read, too (printed.h).
enum training_said training_read_script(training *t, const char *line, size_t n, double now);

// The event in a line "@firesteel {…}", new; NULL: it is an ordinary line. In a log of many pods,
// the pod's name and " | " precede it.
cJSON *training_line(const char *line, size_t n);
