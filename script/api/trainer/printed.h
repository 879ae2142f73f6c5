// SPDX-License-Identifier: MIT
// What scripts of others print while they train, read as the events of a training (training.h).
// Keras's lines are read by keras.h; these are the others:
//
//   epoch=3 train_loss=0.31 val_acc=0.95        NAME=NUMBER, with epoch or step among the names
//   accuracy=0.97 f1=0.95                       and nothing else: an evaluation
//   {"epoch": 3, "loss": 0.31}                  the same as an object in JSON
//   {'loss': 0.31, 'epoch': 3.0}                or as Python prints a dict
//   Epoch 3/5:  45%|####5  | 45/100 [00:01<00:02, 33.1it/s, loss=0.31]     tqdm, Lightning
//   ┃  Test metric  ┃  DataLoader 0  ┃          Lightning's table of an evaluation
//
// A number without a name tells nothing. As of Keras's, only rank 0's lines are read.
#pragma once
#include "base/json/json.h"

#include <stdbool.h>

// Where the training is, between two lines; {0} is its start, printed_done its end.
struct printed {
    bool told;    // there were metrics of an epoch or a step
    cJSON *table; // rows of Lightning's table so far; NULL: it is not open
};
void printed_done(struct printed *p);

// The event in a line, new; NULL: it is an ordinary line. *passing: it tells a moment, and the next
// such line takes its place; also without an event.
cJSON *printed_line(struct printed *p, const char *line, size_t n, bool *passing);
