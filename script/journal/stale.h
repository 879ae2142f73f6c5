// SPDX-License-Identifier: MIT
// Which cells of a run do not hold any more, and why: what a cell was, read and made is compared
// with what is now, and followed from cell to cell through the globals and files that were
// recorded. Nothing is guessed: of an unknown read counts everything that ran before.
#pragma once
#include "script/journal/fold.h"

// What the journal does not know. Functions may be NULL.
struct stale_now {
    // Is the cell's text another one now than that with this hash?
    bool (*edited)(void *arg, const char *id, const char *hash);
    void *arg;
    const cJSON *outside; // {id: "data.csv has changed"}: files, images, objects; may be NULL
    bool from_top;        // cells count as run in the document's order, as they will be again
    const cJSON *params;  // {name: anything}: parameters whose values are others; may be NULL
};

// {id: {"why": "x has changed", "by": id of the cell through which it is stale}} of the cells that
// are stale; new. Its own text alone has "why" without "by" as the others, "its text has changed".
cJSON *stale_find(const fold *f, const struct stale_now *now);
