// SPDX-License-Identifier: MIT
// What is wrong with cells as they are typed, as the kernel's check finds it. A cell is checked
// while it is on the screen, some time after its text was changed; all cells only when somebody
// asks for all. Nothing is done for a key. The slots own what was found.
#pragma once
#include "tui/bench/slots.h"
#include "tui/edit/action.h"

struct problem {
    size_t line, from, to; // from 0; bytes of the line
    bool warning;
    const char *text, *source; // borrowed
};
// The problems of cell i, by line: those whose line is still as it was. false: there is no k-th.
bool slot_problem(const bench *b, size_t i, size_t k, struct problem *out);
// The one at a place, or the first one of that line; false: there is none.
bool slot_problem_at(const bench *b, size_t i, pos at, struct problem *out);
// These cells are on the screen.
void problems_watch(bench *b, size_t from, size_t to);
// Has all cells checked that are not yet. When they are, does `then` in the view on top, unless
// that is another one by then. false: there is nothing to wait for.
bool problems_want_all(bench *b, enum action then);
bool problems_know_all(const bench *b); // are they?
