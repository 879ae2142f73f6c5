// SPDX-License-Identifier: MIT
// The place in a container's log up to which its lines were told: a reading that was cut goes on
// there, no line twice and none left out. A plain value on the heap of its owner; knows no server.
//
//      file    …  a  b  c  d | e  f        the second reading begins at a second of `c`, or before
//      told    …  a  b  c  d |             (place_since), and brings c and d again: they are TOLD
//      again         b  c  d   e  f        e and f are NEW
//
// The lines of a file keep their order, but not their stamps: the writers of stdout and stderr take
// the time before they write. So lines are known by what they are, not by their stamps alone.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place_line { // a line that was told
    int64_t stamp;
    uint64_t hash;
};
enum place_search { PLACE_AT_END, PLACE_SEEKS, PLACE_FOLLOWS };
struct place {
    struct place_line *lines; // in the order of the file; those since place_since, but not all if
    size_t n, room;           // there are too many
    struct place_line first;  // that was told; when begun
    int64_t newest;           // the newest stamp of what was told
    bool begun;               // a line was told
    bool other;               // see place_other
    enum place_search search;
    size_t at; // PLACE_FOLLOWS: the line that should come next
};
void place_done(struct place *p);
// The next reading is of another file: nothing of it was told.
void place_reset(struct place *p);
// The next reading begins at this stamp, a whole second: wall ns. Only when `begun`.
int64_t place_since(const struct place *p);
void place_again(struct place *p); // such a reading begins
enum place_verdict {
    PLACE_NEW,
    PLACE_TOLD,
    PLACE_GAP, // new; and lines before it may be missing, since none comes again
};
// The next reading may be of another file, whose lines are all younger, or of the one of which
// these lines were told: its first line says so. Call it before place_again.
void place_other(struct place *p);
// What a line is; one that is new counts as told from here on.
enum place_verdict place_take(struct place *p, int64_t stamp, const char *text, size_t n);
// Would place_take say that lines may be missing before this one, since nothing that was told has
// come again?
bool place_is_lost(const struct place *p, int64_t stamp);
// Do lines that were told still have to come again in this reading?
bool place_awaits(const struct place *p);
// Is this the line that was told first, or last?
bool place_is_first(const struct place *p, int64_t stamp, const char *text, size_t n);
bool place_is_last(const struct place *p, int64_t stamp, const char *text, size_t n);
