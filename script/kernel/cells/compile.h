// SPDX-License-Identifier: MIT
// Whether a notebook can be run, known before any cell is: its document, its Lua cells, the .lua
// files that cells write, and the expressions in templates. Nothing is executed, and nothing is
// kept.
#pragma once
#include "script/notebook/faults.h"

// Adds all that keeps the notebook from being run: what faults_find finds, and what does not
// compile. In the order of the cells.
void compile_check(const notebook *nb, struct faults *out);
