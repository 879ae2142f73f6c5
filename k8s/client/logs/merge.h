// SPDX-License-Identifier: MIT
// Merges the lines of several logs by their stamps, in bounded memory; the lines of each source
// keep their order. Time is passed in. A merge owns copies of the lines that it holds back.
//
// A source's first held line is its head. A line is passed on when it is the oldest head and every
// source that has not ended has a head; or, in a live merge, when it has waited for quiet sources
// for `window`.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge_line {
    int source;
    int kind;      // the owner's own
    int64_t stamp; // wall ns
    const char *text;
    size_t n;
};
typedef struct merge merge;
// window: how many ns a line waits for other sources; 0: until each has a line or has ended. `out`
// puts nothing in; what it gets is valid until it returns.
merge *merge_new(int64_t window, void (*out)(void *arg, const struct merge_line *line), void *arg);
void merge_free(merge *m);
int merge_add(merge *m); // adds a source
// The line is copied; its `source` is not looked at.
void merge_put(merge *m, int source, const struct merge_line *line, int64_t now);
void merge_end(merge *m, int source); // the source has no more lines
// The source has ended and holds nothing: another may get its number.
void merge_drop(merge *m, int source);
// Passes on the lines that are due; returns when to call it again (mono ns), 0: nothing is waiting.
int64_t merge_tick(merge *m, int64_t now);
bool merge_is_empty(const merge *m, int source);
// Bytes of a source that are held back here, with what each line takes beside its text: above some
// limit its reader should wait.
size_t merge_held(const merge *m, int source);
