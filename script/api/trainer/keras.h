// SPDX-License-Identifier: MIT
// What Keras (2 and 3) prints while it trains, read as the events of a training (training.h):
//
//   Epoch 2/5                                                                  progress
//   120/600 [=====>........] - ETA: 2s - loss: 0.3 - accuracy: 0.9             progress, passing
//   600/600 - 2s - loss: 0.3 - accuracy: 0.9 - val_loss: 0.2 - lr: 0.0010      epoch
//   313/313 - 0s - loss: 0.2 - accuracy: 0.9                                   evaluate
//
// Horovod's mark of a rank ("[1,0]<stdout>:", "[0]<stdout>:"), a pod's name with " | ", and colours
// may precede and surround it. Of several ranks only rank 0 is read.
#pragma once
#include "base/json/json.h"

#include <stdbool.h>

// Where the training is, between two lines; {0} is its start. A plain value.
struct keras {
    int64_t epoch, epochs, first;
    bool ended;     // the epoch has ended: a line that now comes is of an evaluation
    bool repeats;   // Keras 3 may tell the epoch's end again, with its validation
    bool began;     // `started` is known
    double started; // seconds, of the first epoch
};

// The event in a line, new; NULL: it is an ordinary line. *passing: it tells a moment of an epoch
// or of an evaluation, and the next such line takes its place; also without an event. now: seconds,
// of any clock.
cJSON *keras_line(struct keras *k, const char *line, size_t n, double now, bool *passing);
