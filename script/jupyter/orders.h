// SPDX-License-Identifier: MIT
// Lines of JSON between firesteel-jupyter and the program that has started it: orders come in, and
// what has happened goes out. The owner closes the descriptors.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"

#include <stdbool.h>

struct orders {
    int in, out;
    bool lost; // nobody reads our lines any more
    buf lines; // what was read and not followed yet
};

// {"is": is}; new.
cJSON *orders_line(const char *is);
// Writes a line, which is taken.
void orders_say(struct orders *o, cJSON *line);
// Writes {"is": is, "text": the error's}.
void orders_say_error(struct orders *o, const char *is, const err *e);
// Reads what has come. false: there will be no more orders.
bool orders_read(struct orders *o);
// Takes the next order that has come as a whole; new; NULL: none has. A line that is not JSON is
// answered with a "fault", and left out.
cJSON *orders_next(struct orders *o);
void orders_done(struct orders *o);
