// SPDX-License-Identifier: MIT
// Texts that name causes: finds the line that matters, and what to do about it. Plain functions on
// text.
#pragma once
#include "base/buf.h"

#include <stdbool.h>

// Appends the first line, without what the scheduler adds about preemption and without its full
// stop.
void cause_line(const char *text, buf *out);
// What to do about these words of the server, the kubelet or Spark; NULL: not known.
const char *cause_remedy(const char *words);

// Appends the last exception of a log: Python's, else the JVM's. Returns false when there is none.
bool cause_exception(const char *text, buf *out);
// Appends the line of a long text of Spark (spark-submit's stderr, a driver's log) that names the
// cause: the server's message, else the last exception (Python's, then the JVM's), else the last
// line that is not information.
void spark_cause(const char *text, buf *out);
// Appends the cause in a RayJob's message: the last exception, else the last line of the log that
// Ray puts behind its own words, and these; of another text the first line.
void ray_cause(const char *text, buf *out);
// Is it one of log4j's lines that only inform, or of a stack trace?
bool spark_is_noise(const char *line, size_t n);
