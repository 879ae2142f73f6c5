// SPDX-License-Identifier: MIT
// The cells between which a person has jumped, as vi's list of jumps and a browser's history: back
// to those before, and forward again. It owns copies of their ids; {0} is empty. Pure.
//
//   ids  a  b  c  d        back at c:  a  b  [c]  d      a new jump from c drops d
//                 ^at = n
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { JUMPS_MOST = 100 };
struct jumps {
    char *ids[JUMPS_MOST];
    size_t n, at; // at == n: not gone back
};

void jumps_done(struct jumps *j);
// A person leaves this cell for one that is not its neighbour.
void jumps_add(struct jumps *j, const char *id);
// The cell before (or after) this one, at which the person is now; borrowed; NULL: there is none.
// exists: is there still such a cell? Those that are gone are passed over.
const char *jumps_go(struct jumps *j, const char *now, bool back,
    bool (*exists)(void *arg, const char *id), void *arg);
