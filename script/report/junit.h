// SPDX-License-Identifier: MIT
// Prints a run as JUnit XML, a test case for each code cell, for Jenkins, GitLab and others. Names
// are those of notebook and cells, so that a dashboard can follow them from run to run; what
// differs each time (the run's name, parameters, versions) is in the properties.
#pragma once
#include "base/buf.h"
#include "script/journal/fold/fold.h"

// Complete, with spools read from spool_dir.
void junit_print(const fold *f, const char *spool_dir, buf *out);
