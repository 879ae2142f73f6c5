// SPDX-License-Identifier: MIT
// The places where keys work, as the help, the documentation and the palette name them.
#pragma once
#include "tui/bench/view.h"

enum { HELP_LINES = 160 };
struct help_place {
    const char *title;
    const struct view_ops *ops;
    unsigned mode;
};
// The i-th place; NULL after the last.
const struct help_place *help_place_nth(size_t i);
// The keys of a view in a mode, with this person's own (b NULL: the defaults alone).
size_t help_keys(
    const bench *b, const struct view_ops *ops, unsigned mode, struct help_line *lines, size_t max);
// The first keys of an action in the places of a view ("table"; NULL: in any); "" if there are
// none.
void help_keys_of(const bench *b, const char *name, enum action a, char *out, size_t size);
