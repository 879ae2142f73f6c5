// SPDX-License-Identifier: MIT
// firesteel-worker serve: answers predictions of saved models over HTTP, until it is told to end.
#pragma once

// The words after "serve"; dnn: as worker_options has it. Returns the exit code.
int serving(int argc, char **argv, const char *dnn);
