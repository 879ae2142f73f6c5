// SPDX-License-Identifier: MIT
// Finds the cells of a run whose results are outdated, and why. It compares what a cell was, read
// and made with the present state, and follows the globals and files that were recorded from cell
// to cell. It guesses nothing: if a cell's reads are unknown, everything that ran before counts as
// read.
#pragma once
#include "script/journal/fold/fold.h"

// What the journal does not know. Functions may be NULL.
struct stale_now {
    // Does the cell's text differ from the one with this hash?
    bool (*edited)(void *arg, const char *id, const char *hash);
    void *arg;
    const cJSON *outside; // {id: "data.csv has changed"}: files, images, objects; may be NULL
    bool from_top;        // counts cells as run in the document's order, as they will run again
    const cJSON *params;  // {name: anything}: parameters whose values have changed; may be NULL
};

// {id: {"why": "x has changed", "by": id of the cell through which it is stale}} of the stale
// cells; new. A cell with a changed text has "why" = "its text has changed" and no "by".
cJSON *stale_find(const fold *f, const struct stale_now *now);
