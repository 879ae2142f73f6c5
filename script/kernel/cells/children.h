// SPDX-License-Identifier: MIT
// Trials and measurements of a cell, for script/lib: what their trainings show, and what an earlier
// kernel of the run has left of them.
#pragma once
#include <lua.h>

// Adds the functions to the table at the top:
//   past_children() → {name = value} as they were told last, nil: there are none that hold
//   keep_branch(): what this branch has done in an earlier kernel counts as verified
//   cell_source() → the SHA-256 of the running cell's source
//   trainings(branch, seen) → what the trainings in a branch of the cell, and below it, show, and a
//     number that is another one after each change; nothing when that is `seen`
//   trainings_end(branch): nobody will ask any more
void children_open(lua_State *L);
