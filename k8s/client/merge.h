// SPDX-License-Identifier: MIT
// Lines of several logs as one story: each source's lines in their own order, merged by their
// stamps, in bounded memory. Time is passed in; a merge owns copies of the lines it holds back.
//
// A line is let out when it is the oldest of the heads and every source that has not ended shows a
// head; or, in a live merge, when it has waited for the quiet ones for `window`.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge_line {
    int source;
    int64_t stamp; // wall ns
    const char *text;
    size_t n;
};
typedef struct merge merge;
// window: ns a line waits for other sources at most; 0: until they have spoken or ended.
merge *merge_new(int64_t window, void (*out)(void *arg, const struct merge_line *line), void *arg);
void merge_free(merge *m);
int merge_add(merge *m); // a new source
void merge_put(merge *m, int source, int64_t stamp, const char *text, size_t n, int64_t now);
void merge_end(merge *m, int source); // it has no more lines
// Lets out what is due; returns when to come again (mono ns), 0: nothing is waiting.
int64_t merge_tick(merge *m, int64_t now);
// Bytes that a source holds back here: above some limit its reader waits.
size_t merge_held(const merge *m, int source);
