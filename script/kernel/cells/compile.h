// SPDX-License-Identifier: MIT
// Finds out whether a notebook can run, before any cell does: checks its document, its Lua cells,
// the files that cells write (.lua, .json, .yaml), and the expressions in templates. Executes no
// cell and keeps nothing.
#pragma once
#include "script/notebook/faults.h"

// Adds every fault that keeps the notebook from running: those that faults_find finds, and code
// that does not compile. In the order of the cells.
void compile_check(const notebook *nb, struct faults *out);
// The same of some cells alone, those that `wanted` names by index.
void compile_check_some(const notebook *nb, const bool *wanted, struct faults *out);
// Their texts in other languages, for the binding language.check: [{"cell", "language", "text",
// "skipped", "fills", "magics"}]; new. wanted NULL: of all cells.
cJSON *compile_texts(const notebook *nb, const bool *wanted);
bool compile_is_yaml(const notebook *nb, size_t i); // does the cell write a file of YAML?
// Adds a fault for each kernel that cells in other languages need and `find` does not find, once
// for each.
struct kernel_wanted {
    const char *name; // NULL: any that has the language
    bool wish;        // true: another kernel for the same language will do, too
    const char *language;
};
typedef int kernel_find(void *arg, const struct kernel_wanted *w, err *e);
void compile_check_kernels(const notebook *nb, kernel_find *find, void *arg, struct faults *out);
