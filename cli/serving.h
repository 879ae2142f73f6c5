// SPDX-License-Identifier: MIT
// firesteel-worker serve: answers predictions of saved models over HTTP, until it is told to end.
#pragma once

// The words after "serve"; returns the exit code.
int serving(int argc, char **argv);
