// SPDX-License-Identifier: MIT
// firesteel-worker package and verify: make a packaged model (script/worker/package/packaged.h),
// and check that its predictions match its examples.
#pragma once

// The words after the verb; dnn: as worker_options has it. Returns the exit code.
int packages_make(int argc, char **argv, const char *dnn);
int packages_verify(int argc, char **argv, const char *dnn);
