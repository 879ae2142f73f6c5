// SPDX-License-Identifier: MIT
// Whether a notebook can be run, known before any cell is: its document, its Lua cells, the files
// that cells write (.lua, .json, .yaml), and the expressions in templates. No cell is executed, and
// nothing is kept.
#pragma once
#include "script/notebook/faults.h"

// Adds all that keeps the notebook from being run: what faults_find finds, and what does not
// compile. In the order of the cells.
void compile_check(const notebook *nb, struct faults *out);
