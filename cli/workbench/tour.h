// SPDX-License-Identifier: MIT
// The tour: two notebooks that are installed beside the recipes, and the folder in which a person
// takes it. Nothing of it is written elsewhere.
#pragma once
#include "cli/cli.h"

struct tour {
    char *folder, *notebook; // paths
    char *cell;              // id of the cell that ended last when it was left; NULL: none has
};

// Finds the folder, or makes it and copies the notebooks there: $XDG_STATE_HOME/firesteel/tour,
// which only its owner can enter, or `cwd`. anew: ends the tour's kernel first, and begins with
// fresh copies.
int tour_find(struct cli *cli, const char *cwd, bool anew, struct tour *t, err *e);
void tour_done(struct tour *t);
// Lets the tour's cells find this firesteel by its name: puts its folder first in PATH.
void tour_name_us(struct cli *cli);
