// SPDX-License-Identifier: MIT
// A run as JUnit XML, for CI: a test case for each code cell. Nothing is owned.
#pragma once
#include "base/buf.h"
#include "script/journal/fold.h"

void junit_print(const fold *f, const char *spool_dir, buf *out);
