// SPDX-License-Identifier: MIT
// The running cell and the next ones: the queue of cells, the execution under way, interrupts and
// time-outs, and the end of a headless run. All of it belongs to the loop's thread.
#pragma once
#include "script/kernel/session/state.h"

// Queues cells by id. ERR_NOT_FOUND: one does not exist, and none is queued. ERR_USAGE, of this
// and the next: the notebook is in another language.
int running_queue(kernel *k, const cJSON *ids, err *e);
// Queues all cells that can be executed. ERR_REFUSED: one declares an effect that was not granted
// to a headless run.
int running_queue_all(kernel *k, err *e);
// Starts the next cell if there is one and nothing holds it back; else reports that the kernel is
// idle, or ends the run.
void running_go_on(kernel *k);
// The running cell has ended, and the Lua thread has begun the next one by itself (interp_follow).
void running_passed(kernel *k, execution *ended);
// Call it before anything that looks at the running cell or changes what comes after it: the queue
// has all that has not begun, and the running cell is the one that the Lua thread is at.
void running_catch_up(kernel *k);
// The kernel gives up the running cell: reports it as failed, since it will not end.
void running_abandon(kernel *k);
// Stops the running cell and clears the queue, except for clean-ups (when.h), which run then; a
// second call clears these, too. why: FAILURE_INTERRUPTED, FAILURE_TIMEOUT, or FAILURE_ERROR when
// the journal cannot be written.
void running_interrupt(kernel *k, enum failure why);
// The same when whoever started the run cannot go on: the run fails with these words.
void running_give_up(kernel *k, const char *words);
// The run's time is over: stops as an interrupt does. A clean-up that runs keeps its own limit.
void running_time_out(kernel *k);
bool running_busy(const kernel *k);
void running_say_state(kernel *k, const char *state, const char *message);
void running_free(kernel *k);               // frees the queue
extern const struct interp_ops running_ops; // arg is the kernel
