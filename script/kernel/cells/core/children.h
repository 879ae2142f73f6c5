// SPDX-License-Identifier: MIT
// Trials and measurements of a cell, for script/api: what their trainings report, and what an
// earlier kernel of the run recorded about them.
#pragma once
#include <lua.h>

// Adds the functions to the table at the top:
//   past_children() → {name = value} as last recorded; nil: there are none that are still valid
//   keep_branch(): counts what this branch did in an earlier kernel as verified
//   cell_source() → the SHA-256 of the running cell's source
//   trainings(branch, seen) → what the trainings in a branch of the cell, and below it, show, and a
//     version number that changes with it; nothing if the version is still `seen`
//   trainings_end(branch): stops following the branch
void children_open(lua_State *L);
