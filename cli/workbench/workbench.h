// SPDX-License-Identifier: MIT
// The workbench on a terminal: the screen, its views, and the connection to a kernel, which
// outlives all of them. The terminal is ours from workbench_open to workbench_close.
#pragma once
#include "cli/cli.h"
#include "script/journal/replay.h"
#include "script/protocol/launch.h"
#include "tui/view/pick.h"

typedef struct workbench workbench;

// Of `about` it uses path and target. Errors: no terminal, or one on which we cannot draw.
workbench *workbench_open(struct cli *cli, const struct bench_about *about, err *e);
// Gives the terminal back and prints what is still running; NULL is fine.
void workbench_close(workbench *w);

// Lets a person choose a row of a list; -1 if they leave instead.
int workbench_pick(workbench *w, const char *title, const struct pick_row *rows, size_t n);
// Shows a table in a file until the person leaves.
int workbench_view(workbench *w, const char *path, err *e);
// Shows the notebook's text before a kernel has answered.
void workbench_show(workbench *w, const char *path, const char *words, size_t n);
// Shows, below the cells, outputs of earlier runs in this folder, as they are found
// (bench_remember).
void workbench_remember(workbench *w, const char *folder, char *const *given);
// Shows a run, which it takes, from its journal, without a kernel, until the person leaves.
int workbench_look(workbench *w, replay *run, const char *path, err *e);
// Begins at this cell, once it is there.
void workbench_select(workbench *w, const char *id);
// Makes the connection to the next kernel read-only.
void workbench_only_looks(workbench *w);
// Connects to a running kernel. watching: it is a headless run, which must not stop when we leave.
int workbench_join(workbench *w, const char *socket, bool watching, err *e);
// Starts a kernel; keeps its own output, to show the reason if it ends.
int workbench_launch(workbench *w, const struct launch *kernel, err *e);
// Sets the function that starts another kernel with the document of a journal, after one has died.
// Without it, none is started.
void workbench_starter(
    workbench *w, int (*start)(void *arg, workbench *w, const char *recover, err *e), void *arg);
// Does the kernel have a private sandbox (bench_in_sandbox)?
bool workbench_in_sandbox(const workbench *w, bool *processes);
// Makes this function start a kernel with this text as the document, instead of the file's. before:
// the run that had it, whose outputs an .ipynb keeps; NULL: none.
int workbench_start(workbench *w, const char *words, size_t n, const char *before, err *e);
// Sets the text for the last row when the joined kernel has sent its past, before the events that
// have come meanwhile.
void workbench_joined(workbench *w, const char *words);
void workbench_say(workbench *w, const char *words); // shows it in the last row, until a key
// Call it after one of these three. Returns when the person leaves or the terminal is gone.
int workbench_run(workbench *w, err *e);
