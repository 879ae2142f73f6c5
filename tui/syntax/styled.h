// SPDX-License-Identifier: MIT
// Text with styles, built piece by piece. A plain value, {0} is empty. Private to
// tui/syntax.
#pragma once
#include "base/buf.h"
#include "base/text/ansi.h"

#include <stdbool.h>

struct styled {
    buf text;
    struct ansi_span *spans; // in order, covering the text
    size_t n, cap;
};
void styled_done(struct styled *s);
void styled_clear(struct styled *s);
void styled_add(struct styled *s, const char *words, size_t n, style st);
void styled_trim(struct styled *s); // blanks at the end
// Appends the bytes [from, to) of another with their styles.
void styled_copy(struct styled *s, const struct styled *other, size_t from, size_t to);
