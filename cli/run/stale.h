// SPDX-License-Identifier: MIT
// run --stale: chooses the run of a notebook to continue, and which of its cells run again.
#pragma once
#include "base/json/json.h"
#include "cli/cli.h"

#include <stdio.h>

struct stale {
    char *run;    // the run to compare with and to continue
    cJSON *plan;  // as stale_plan makes it
    char **keep;  // ids of the cells that do not run; NULL: all run
    char **again; // ids of the cells that run anew; NULL: none
};

// cwd: the folder of the runs. word: which run; NULL: the newest of the notebook in which all cells
// passed. given: NAME=VALUE. Errors: ERR_USAGE: there is no such run, or it cannot be continued.
int stale_open(const char *cwd, const char *path, const char *word, char *const *given,
    struct stale *s, err *e);
void stale_done(struct stale *s);
// Does nothing have to be done?
bool stale_holds(const struct stale *s);
// A line for each cell: whether it runs, and why.
void stale_print(const struct stale *s, FILE *to);
void stale_print_json(const struct stale *s);
