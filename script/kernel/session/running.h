// SPDX-License-Identifier: MIT
// The running cell and the next ones: the queue of cells, the execution in progress, interrupts and
// time-outs, and the end of a headless run. All of it belongs to the loop's thread.
#pragma once
#include "script/kernel/session/state.h"

// Queues cells by id. ERR_NOT_FOUND: one does not exist, and none is queued. ERR_USAGE, of this
// and the next: the notebook is in another language.
int running_queue(kernel *k, const cJSON *ids, err *e);
// Queues all cells that can be executed. ERR_REFUSED: one declares an effect that was not granted
// to a headless run.
int running_queue_all(kernel *k, err *e);
// Starts the next cell if there is one and nothing prevents that; else reports that the kernel is
// idle, or ends the run.
void running_go_on(kernel *k);
// Call it when the running cell has ended, and the Lua thread has begun the next one by itself
// (interp_follow).
void running_passed(kernel *k, execution *ended);
// Call it before reading the running cell or changing what follows it. Afterwards the queue has
// everything that has not begun, and the running cell is the Lua thread's.
void running_catch_up(kernel *k);
// Gives up the running cell: reports it as failed, since it does not end.
void running_abandon(kernel *k);
// Stops the running cell and clears the queue, except for clean-ups (when.h), which still run; a
// second call clears these, too. why: FAILURE_INTERRUPTED, FAILURE_TIMEOUT, or FAILURE_ERROR when
// the journal cannot be written.
void running_interrupt(kernel *k, enum failure why);
// The same if the starter of the run cannot continue: the run fails with these words.
void running_give_up(kernel *k, const char *words);
// The run's time is over: stops it like an interrupt. A clean-up that runs keeps its own limit.
void running_time_out(kernel *k);
bool running_busy(const kernel *k);
void running_say_state(kernel *k, const char *state, const char *message);
void running_free(kernel *k);               // frees the queue
extern const struct interp_ops running_ops; // arg is the kernel
