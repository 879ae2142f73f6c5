// SPDX-License-Identifier: MIT
// Shared by the highlighters: a place in a line, the spans so far, and functions for parts that
// several languages have. Private to tui/syntax.
#pragma once
#include "tui/syntax/syntax.h"

#include <stdbool.h>

struct scan {
    const char *s;
    size_t n, at;
    struct span *spans;
    size_t count;
};

// The byte `ahead` bytes after the place; NUL behind the end.
static inline char scan_peek(const struct scan *sc, size_t ahead)
{
    return sc->at + ahead < sc->n ? sc->s[sc->at + ahead] : '\0';
}
bool scan_is(const struct scan *sc, const char *text); // does the text continue with this?
bool scan_is_blank(char c);
bool scan_is_name(char c); // letter, digit, underscore, or beyond ASCII

// Advances by n bytes and makes them a span.
void scan_take(struct scan *sc, size_t n, enum syntax_class class);
void scan_rest(struct scan *sc, enum syntax_class class); // takes the rest of the line
void scan_skip_blanks(struct scan *sc);
// A quoted string, from after its opening quote up to the closing one, or to the line's end (then
// false). With `escapes`, escapes are spans of their own.
bool scan_string(struct scan *sc, const char *quote, bool escapes);
// Takes a number if one starts here: 12, 0x1F, 1.5e-3.
bool scan_number(struct scan *sc);
// Length of the name at the place.
size_t scan_name(const struct scan *sc);
// Is the name at the place one of these? (A NULL-terminated list.)
bool scan_in(const struct scan *sc, size_t length, const char *const *words);
// Takes "$NAME" or "${…}" if one starts here.
bool scan_variable(struct scan *sc);

// The languages: each takes the state before the line and returns the one after it.
syntax_state syntax_lua(struct scan *sc, syntax_state state);
syntax_state syntax_yaml(struct scan *sc, syntax_state state);
syntax_state syntax_bash(struct scan *sc, syntax_state state);
syntax_state syntax_python(struct scan *sc, syntax_state state);
syntax_state syntax_dockerfile(struct scan *sc, syntax_state state);
syntax_state syntax_markdown(struct scan *sc, syntax_state state);
