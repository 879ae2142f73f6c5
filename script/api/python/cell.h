// SPDX-License-Identifier: MIT
// One cell at a kernel of Jupyter: its thread waits, the loop's thread sends it and takes what
// comes.
#pragma once
#include "script/api/python/session.h"

// On the cell's thread: has the code run; `r` gets what came of it.
int cell_run(struct run *r, err *e);
// Tells the kernel which names it has read and set.
void cell_note_names(const struct run *r);

// What it has set in its environment is set for other cells, too.
int cell_pass_environment(struct run *r, err *e);

// On the loop's thread.
void cell_send(struct run *r); // its kernel is there
void run_wake(struct run *r);  // its thread goes on
void run_wake_if_over(struct run *r);
// Its programs have opened the real kubeconfig, and the journal does not know yet.
bool run_must_note(const struct run *r);
// Does its kernel have `import firesteel`?
bool run_has_calls(const struct run *r);
