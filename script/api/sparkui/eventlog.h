// SPDX-License-Identifier: MIT
// An event log of Spark 3 or 4 (one JSON object a line), folded into a spark_state. Lines of other
// events, of other programs, and lines that are cut off, change nothing.
#pragma once
#include "base/err.h"
#include "script/api/sparkui/state.h"

// One line, with or without its end.
void spark_event_line(struct spark_state *s, const char *line, size_t n);
// Reads a file, or the folder of a rolling log (eventlog_v2_…), oldest part first. goes_on (may be
// NULL) is asked now and then; false: it ends with ERR_CANCELLED. `line` gets every line with its
// end; NULL: nobody does. Errors: ERR_NOT_FOUND; ERR_INVALID: it is compressed, or no event of
// Spark is in it.
int spark_event_file(struct spark_state *s, const char *path, bool (*goes_on)(void *arg),
    void (*line)(void *arg, const char *text, size_t n), void *arg, err *e);
