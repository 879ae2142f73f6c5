// SPDX-License-Identifier: MIT
// Lua 5.4, and IPython's magics in a notebook's cells: "%%writefile x", "%env A=1", "!ls".
//
// state: 0, or kind | level << 8 (of a long bracket) or | quote << 8
#include "tui/syntax/scan.h"

#include <ctype.h>

enum { LONG_STRING = 1, LONG_COMMENT, CONTINUED };

static const char *const keywords[] = {"and", "break", "do", "else", "elseif", "end", "for",
    "function", "goto", "if", "in", "local", "not", "or", "repeat", "return", "then", "until",
    "while", NULL};
static const char *const constants[] = {"nil", "true", "false", "self", "_G", "_ENV", NULL};

// The level of a long bracket "[==[" that is `ahead` of the place, -1 when there is none.
static int long_level(const struct scan *sc, size_t ahead)
{
    int level = 0;
    if (scan_peek(sc, ahead) != '[')
        return -1;
    while (scan_peek(sc, ahead + 1 + (size_t)level) == '=' && level < 200)
        level++;
    return scan_peek(sc, ahead + 1 + (size_t)level) == '[' ? level : -1;
}

static bool closes(const struct scan *sc, int level)
{
    if (scan_peek(sc, 0) != ']')
        return false;
    for (int i = 0; i < level; i++)
        if (scan_peek(sc, (size_t)i + 1) != '=')
            return false;
    return scan_peek(sc, (size_t)level + 1) == ']';
}

static syntax_state long_bracket(struct scan *sc, unsigned kind, int level)
{
    enum syntax_class class = kind == LONG_STRING ? CLASS_STRING : CLASS_COMMENT;
    while (sc->at < sc->n) {
        if (closes(sc, level)) {
            scan_take(sc, (size_t)level + 2, class);
            return 0;
        }
        scan_take(sc, 1, class);
    }
    return kind | (syntax_state)level << 8;
}

// A short string continues on the next line after a backslash or "\z".
static syntax_state short_string(struct scan *sc, char quote)
{
    char end[2] = {quote, '\0'};
    if (scan_string(sc, end, true))
        return 0;
    bool goes_on = sc->n && (sc->s[sc->n - 1] == '\\' ||
                                (sc->n > 1 && sc->s[sc->n - 1] == 'z' && sc->s[sc->n - 2] == '\\'));
    return goes_on ? CONTINUED | (syntax_state)(unsigned char)quote << 8 : 0;
}

static void name(struct scan *sc)
{
    size_t n = scan_name(sc);
    if (scan_in(sc, n, keywords)) {
        scan_take(sc, n, CLASS_KEYWORD);
    } else if (scan_in(sc, n, constants)) {
        scan_take(sc, n, CLASS_CONSTANT);
    } else {
        size_t next = n;
        while (scan_is_blank(scan_peek(sc, next)))
            next++;
        char c = scan_peek(sc, next);
        bool is_call = c == '(' || c == '"' || c == '\'' || c == '{' || long_level(sc, next) >= 0;
        scan_take(sc, n, is_call ? CLASS_FUNCTION : CLASS_TEXT);
    }
}

static bool magic(struct scan *sc)
{
    scan_skip_blanks(sc);
    char c = scan_peek(sc, 0);
    bool is_magic =
        c == '!' ||
        (c == '%' && (scan_peek(sc, 1) == '%' || isalpha((unsigned char)scan_peek(sc, 1))));
    if (is_magic)
        scan_rest(sc, CLASS_MAGIC);
    return is_magic;
}

static syntax_state resume(struct scan *sc, syntax_state state)
{
    unsigned kind = state & 255, parameter = (unsigned)(state >> 8 & 255);
    if (kind == CONTINUED)
        return short_string(sc, (char)parameter);
    return kind ? long_bracket(sc, kind, (int)parameter) : 0;
}

syntax_state syntax_lua(struct scan *sc, syntax_state state)
{
    bool fresh = state == 0;
    state = resume(sc, state);
    if (fresh && magic(sc))
        return 0;
    while (sc->at < sc->n && !state) {
        char c = scan_peek(sc, 0);
        if (scan_is(sc, "--")) {
            int level = long_level(sc, 2);
            if (level < 0)
                scan_rest(sc, CLASS_COMMENT);
            else
                state = long_bracket(sc, LONG_COMMENT, level);
        } else if (c == '"' || c == '\'') {
            scan_take(sc, 1, CLASS_STRING);
            state = short_string(sc, c);
        } else if (long_level(sc, 0) >= 0) {
            state = long_bracket(sc, LONG_STRING, long_level(sc, 0));
        } else if (!scan_number(sc)) {
            if (scan_is_name(c))
                name(sc);
            else
                scan_take(sc, 1, scan_is_blank(c) ? CLASS_TEXT : CLASS_OPERATOR);
        }
    }
    return state;
}
