// SPDX-License-Identifier: MIT
// Shared by the files of `firesteel runs`: tables of runs, and runs beside one another.
#pragma once
#include "cli/cli.h"

#include <stdbool.h>
#include <stddef.h>

struct runs_column {
    const char *title, *field; // field: NULL: its texts are all there is
    bool right;
    int width;
};
// Prints a table; texts: n_rows times n, which it may change. Names of runs (the first column) are
// never cut.
void runs_print(
    const struct cli *cli, struct runs_column *columns, size_t n, char **texts, size_t n_rows);

// `--compare`: words name runs and trials; best: "METRIC=max"; output: NULL, "json", "csv".
int runs_compare(
    struct cli *cli, const char *folder, char *const *words, char *const *best, const char *output);
