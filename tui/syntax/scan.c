// SPDX-License-Identifier: MIT
#include "tui/syntax/scan.h"

#include <ctype.h>
#include <string.h>

bool scan_is(const struct scan *sc, const char *text)
{
    size_t n = strlen(text);
    return sc->n - sc->at >= n && memcmp(sc->s + sc->at, text, n) == 0;
}

bool scan_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool scan_is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

// Makes [from, at) a span; joins it to the span before if that has the same class.
static void scan_emit(struct scan *sc, size_t from, enum syntax_class class)
{
    if (from >= sc->at || class == CLASS_TEXT)
        return;
    struct span *last = sc->count ? &sc->spans[sc->count - 1] : NULL;
    if (last && last->to == from && last->class == class)
        last->to = sc->at;
    else if (sc->count < SYNTAX_SPANS)
        sc->spans[sc->count++] = (struct span){from, sc->at, class};
}

void scan_take(struct scan *sc, size_t n, enum syntax_class class)
{
    size_t from = sc->at;
    sc->at = n < sc->n - from ? from + n : sc->n;
    scan_emit(sc, from, class);
}

void scan_rest(struct scan *sc, enum syntax_class class)
{
    scan_take(sc, sc->n - sc->at, class);
}

void scan_skip_blanks(struct scan *sc)
{
    while (scan_is_blank(scan_peek(sc, 0)))
        sc->at++;
}

static size_t run_of(const struct scan *sc, size_t from, size_t most, int (*is)(int))
{
    size_t n = 0;
    while (n < most && is((unsigned char)scan_peek(sc, from + n)))
        n++;
    return n;
}

// An escape of a string: other characters after the backslash mean nothing in these languages.
static size_t escape_length(const struct scan *sc)
{
    char c = scan_peek(sc, 1);
    if (isdigit((unsigned char)c)) // \27, \033
        return 1 + run_of(sc, 1, 3, isdigit);
    if (c == 'x')
        return 2 + run_of(sc, 2, 2, isxdigit);
    if (c == 'u' && scan_peek(sc, 2) == '{') {
        size_t n = run_of(sc, 3, 8, isxdigit);
        return 3 + n + (scan_peek(sc, 3 + n) == '}');
    }
    return 2;
}

bool scan_string(struct scan *sc, const char *quote, bool escapes)
{
    while (sc->at < sc->n) {
        if (scan_is(sc, quote)) {
            scan_take(sc, strlen(quote), CLASS_STRING);
            return true;
        }
        if (escapes && scan_peek(sc, 0) == '\\')
            scan_take(sc, escape_length(sc), CLASS_ESCAPE);
        else
            scan_take(sc, 1, CLASS_STRING);
    }
    return false;
}

bool scan_number(struct scan *sc)
{
    if (!isdigit((unsigned char)scan_peek(sc, 0)))
        return false;
    bool hex = scan_peek(sc, 0) == '0' && (scan_peek(sc, 1) | 32) == 'x';
    size_t n = hex ? 2 : 1;
    for (;; n++) {
        char c = scan_peek(sc, n), before = scan_peek(sc, n - 1) | 32;
        bool sign = (c == '+' || c == '-') && before == (hex ? 'p' : 'e');
        if (!isalnum((unsigned char)c) && c != '.' && c != '_' && !sign)
            break;
        if (c == '.' && scan_peek(sc, n + 1) == '.') // in Lua, "1..2" is no number
            break;
    }
    scan_take(sc, n, CLASS_NUMBER);
    return true;
}

size_t scan_name(const struct scan *sc)
{
    size_t n = 0;
    while (scan_is_name(scan_peek(sc, n)))
        n++;
    return n;
}

bool scan_in(const struct scan *sc, size_t length, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == length && memcmp(*words, sc->s + sc->at, length) == 0)
            return true;
    return false;
}

bool scan_variable(struct scan *sc)
{
    if (scan_peek(sc, 0) != '$')
        return false;
    char c = scan_peek(sc, 1);
    size_t n = 1;
    if (c == '{') {
        while (scan_peek(sc, n) && scan_peek(sc, n) != '}')
            n++;
        n += scan_peek(sc, n) == '}';
    } else if (c && strchr("?#@*!$-0123456789", c)) {
        n = 2;
    } else {
        while (scan_is_name(scan_peek(sc, n)))
            n++;
    }
    if (n == 1)
        return false;
    scan_take(sc, n, CLASS_VARIABLE);
    return true;
}
