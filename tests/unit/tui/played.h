// SPDX-License-Identifier: MIT
// A workbench for tests, with a kernel that is played: what it was asked is noted, what it tells is
// told by the test. Keys are pressed by their names, and rows of the screen are looked at.
#pragma once
#include "tui/bench/bench.h"
#include "tui/bench/view.h"

extern struct played {
    cJSON *asked; // the messages, in order
    int quits, stops, suspends;
    int64_t seq, rev;
} played;

int asked(const char *type); // how many messages of this type
const cJSON *last_asked(void);
void tell(bench *b, const char *event);
// A bench with a kernel that is idle and has run nothing, on this notebook, or on one of two cells,
// One (a) and Two (b).
bench *open_bench_of(const struct bench_about *about, const char *words);
bench *open_bench_with(const struct bench_about *about);
bench *open_bench(void);
void press(bench *b, const char *names); // keys, separated by blanks
void type(bench *b, const char *words);
void line(bench *b, const char *words); // ":", the words, Enter
const char *row(bench *b, int y);       // of a screen of 90x24; below 0: from its end
bool screen_has(bench *b, const char *words);
bool on_top(bench *b, const struct view_ops *ops);
