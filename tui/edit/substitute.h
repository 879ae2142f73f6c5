// SPDX-License-Identifier: MIT
// vi's "s/old/new/flags": what is looked for, and what comes in its place. Pure. In `new`, & and \0
// are what was found, \1 to \9 its groups, \n a new line, \t a tab, \u and \l turn the next letter
// to a capital or a small one, \U and \L all up to \E; a backslash makes any other character text.
#pragma once
#include "base/data/pattern.h"
#include "base/err.h"
#include "tui/edit/text.h"

struct substitute {
    struct pattern what;
    buf with;    // as it was typed
    bool all;    // g: all places of a line, not only the first
    bool asks;   // flag c: asks at each match
    bool counts; // n: nothing is replaced
};

// Takes "/old/new/flags", with any separator, which a backslash in front makes text. Without `old`
// it looks for what was searched for last. flags: g c n; i: either case, I: exact.
int substitute_set(struct substitute *s, const char *words, const char *searched, err *e);
void substitute_done(struct substitute *s);

// A place on one line, and the text that comes there.
struct replacement {
    pos from, to;
    char *with;
};
struct replacements {
    struct replacement *list;
    size_t n;
    size_t left; // places on these lines that are left, since there is no g
};
// Adds the places in the lines [lo, hi) of a text.
void substitute_find(
    const struct substitute *s, const text *t, size_t lo, size_t hi, struct replacements *out);
void replacements_done(struct replacements *r);
// Appends the text with those of its places that are wanted replaced; wanted NULL: all. They are
// sorted and of this text.
void replacements_apply(
    const text *t, const struct replacement *list, size_t n, const bool *wanted, buf *out);
