// SPDX-License-Identifier: MIT
// Changes of the notebook's structure: which steps of its history an action on the selected cells
// becomes.
#pragma once
#include "tui/bench/slots.h"
#include "tui/edit/action.h"

// The selected cell, and the other end of the selection: the same when it is one cell.
struct selection {
    size_t at, mark;
};
static inline size_t selection_lo(struct selection s)
{
    return s.at < s.mark ? s.at : s.mark;
}
static inline size_t selection_hi(struct selection s)
{
    return s.at < s.mark ? s.mark : s.at;
}

// false: the action is none of these. Else *s is what is to be selected.
bool structure_act(bench *b, enum action a, struct selection *s);
void structure_insert(bench *b, size_t at); // an empty cell, which gets selected
void structure_split(bench *b, size_t at);  // at the cursor
