// SPDX-License-Identifier: MIT
// What the highlighters share: a place in a line, spans so far, and the pieces that look alike in
// several languages. Private to tui/syntax.
#pragma once
#include "tui/syntax/syntax.h"

#include <stdbool.h>

struct scan {
    const char *s;
    size_t n, at;
    struct span *spans;
    size_t count;
};

// The byte `ahead` of the place; NUL behind the end.
static inline char scan_peek(const struct scan *sc, size_t ahead)
{
    return sc->at + ahead < sc->n ? sc->s[sc->at + ahead] : '\0';
}
bool scan_is(const struct scan *sc, const char *text); // does it go on with that?
bool scan_is_blank(char c);
bool scan_is_name(char c); // letter, digit, underscore, or beyond ASCII

// Makes [from, at) a span; joins the span before when it is alike.
void scan_emit(struct scan *sc, size_t from, enum syntax_class class);
// Goes n bytes on and makes them a span.
void scan_take(struct scan *sc, size_t n, enum syntax_class class);
void scan_rest(struct scan *sc, enum syntax_class class); // all up to the line's end
void scan_skip_blanks(struct scan *sc);
// A quoted string from behind its opening quote: up to the closing one, or the line's end (then
// false). Escapes are spans of their own where `escapes`.
bool scan_string(struct scan *sc, const char *quote, bool escapes);
// A number, when one starts here: 12, 0x1F, 1.5e-3.
bool scan_number(struct scan *sc);
// Length of the name at the place.
size_t scan_name(const struct scan *sc);
// Is the name at the place one of these? (A NULL-terminated list.)
bool scan_in(const struct scan *sc, size_t length, const char *const *words);
// "$NAME", "${…}" when there is one.
bool scan_variable(struct scan *sc);

// The languages: each takes the state before the line and returns the one after it.
syntax_state syntax_lua(struct scan *sc, syntax_state state);
syntax_state syntax_yaml(struct scan *sc, syntax_state state);
syntax_state syntax_bash(struct scan *sc, syntax_state state);
syntax_state syntax_python(struct scan *sc, syntax_state state);
syntax_state syntax_dockerfile(struct scan *sc, syntax_state state);
syntax_state syntax_markdown(struct scan *sc, syntax_state state);
