// SPDX-License-Identifier: MIT
// What a worker reports while it runs: its progress and curves become a display below the cell, the
// versions that it depends on and the files of data that it reads are recorded. The loop's thread
// writes it while the Lua thread waits.
#pragma once
#include "base/buf.h"
#include "script/api/trainer/training.h"
#include "script/kernel/effects/binding.h"

enum { REPORTS_FD = 3 }; // FIRESTEEL_EVENTS: the worker writes a JSON object a line there

struct reports {
    call *call;
    training *training;
    // Wall ns. Files of data that the worker reads are recorded, but not what has changed since: it
    // may have written that itself. 0: it is on another machine, and so are they.
    int64_t began;
    // Gets the events that are no training's; may be NULL.
    void (*other)(void *arg, const cJSON *event);
    void *arg;
    display *display; // once there is something to show
    buf line;
};

void reports_event(struct reports *r, const cJSON *event);
void reports_bytes(void *reports, const char *bytes, size_t n); // of REPORTS_FD
// Reads a line of a script's output. What SAID_PASSING says is shown by the display alone.
enum training_said reports_line(struct reports *r, const char *line, size_t n);
void reports_close(struct reports *r); // the display stays as it is
void reports_done(struct reports *r);

// The environment of a worker that runs here on np ranks: the call's, and what `extra` names; new.
char **reports_environment(call *c, int64_t np, const cJSON *extra);
// What the worker said last in its output, "tt.lua:3: …"; NULL: nothing; new. It stands behind its
// name, and before that, in a job of several ranks, their tag.
char *reports_last_words(const char *output);
