// SPDX-License-Identifier: MIT
// What was typed into lines of one sort before, the newest last: Up and Down go through it, and
// back to what was being typed. It owns its texts; {0} is empty.
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { PAST_MOST = 50 };
struct past {
    char *texts[PAST_MOST];
    size_t n, at; // at == n: what is being typed
    char *draft;
};

void past_done(struct past *p);
void past_add(struct past *p, const char *words); // what is there already moves to the end
void past_begin(struct past *p);                  // a line is opened
// Puts the older (or newer) text into the line.
struct line;
void past_turn(struct past *p, struct line *l, bool older);
