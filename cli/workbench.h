// SPDX-License-Identifier: MIT
// The workbench on a terminal: the screen, the views on it, and the connection to a kernel that
// outlives all of it. The terminal is ours from workbench_open to workbench_close.
#pragma once
#include "cli/cli.h"
#include "script/protocol/launch.h"
#include "tui/view/pick.h"

typedef struct workbench workbench;

// Of `about`, path and target count. Errors: no terminal, or one that cannot be drawn on.
workbench *workbench_open(struct cli *cli, const struct bench_about *about, err *e);
// Gives the terminal back and says what goes on; NULL is fine.
void workbench_close(workbench *w);

// Lets a person choose a row of a list: -1 when they left instead.
int workbench_pick(workbench *w, const char *title, const struct pick_row *rows, size_t n);
// The notebook's text on the screen, before any kernel has answered.
void workbench_show(workbench *w, const char *path, const char *words, size_t n);
// Connects to a kernel that is alive. watching: a headless run, which is not stopped by our
// leaving.
int workbench_join(workbench *w, const char *socket, bool watching, err *e);
// Starts one; what it prints is kept, to say why when it ends.
int workbench_launch(workbench *w, const struct launch *kernel, err *e);
// How to start another one when that has died, with the document of a journal. None: it is not
// done.
void workbench_starter(
    workbench *w, int (*start)(void *arg, workbench *w, const char *recover, err *e), void *arg);
// Has the starter start one with this text as the document, instead of the file's.
int workbench_start(workbench *w, const char *words, size_t n, err *e);
void workbench_say(workbench *w, const char *words); // in the last row, until a key
// After one of these three: until the person leaves or the terminal goes away.
int workbench_run(workbench *w, err *e);
