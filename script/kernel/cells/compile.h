// SPDX-License-Identifier: MIT
// Whether a notebook can be run, known before any cell is: its document, its Lua cells, the files
// that cells write (.lua, .json, .yaml), and the expressions in templates. No cell is executed, and
// nothing is kept.
#pragma once
#include "script/notebook/faults.h"

// Adds all that keeps the notebook from being run: what faults_find finds, and what does not
// compile. In the order of the cells.
void compile_check(const notebook *nb, struct faults *out);
// Adds that there is no kernel for cells in other languages, once for each, as `find` tells.
struct kernel_wanted {
    const char *name; // NULL: any that has the language
    bool wish;        // another one with the language will do, too
    const char *language;
};
typedef int kernel_find(void *arg, const struct kernel_wanted *w, err *e);
void compile_check_kernels(const notebook *nb, kernel_find *find, void *arg, struct faults *out);
