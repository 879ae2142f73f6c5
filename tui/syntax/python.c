// SPDX-License-Identifier: MIT
// Python 3. state: 0, or the kind of triple-quoted string that is open.
#include "tui/syntax/scan.h"

enum { OPEN_DOUBLE = 1, OPEN_SINGLE };

static const char *const keywords[] = {"and", "as", "assert", "async", "await", "break", "class",
    "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if",
    "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
    "while", "with", "yield", "match", "case", NULL};
static const char *const constants[] = {"None", "True", "False", "self", "cls", NULL};

static syntax_state triple(struct scan *sc, unsigned kind)
{
    return scan_string(sc, kind == OPEN_DOUBLE ? "\"\"\"" : "'''", true) ? 0 : kind;
}

// The place of the quote, which may follow up to two letters of prefix: r"", b'', rb"", f"".
static size_t quote_at(const struct scan *sc)
{
    size_t n = 0;
    while (n < 2 && scan_peek(sc, n) && __builtin_strchr("rRbBfFuU", scan_peek(sc, n)))
        n++;
    char c = scan_peek(sc, n);
    return c == '"' || c == '\'' ? n : SIZE_MAX;
}

static syntax_state string(struct scan *sc, size_t prefix)
{
    scan_take(sc, prefix, CLASS_STRING);
    char c = scan_peek(sc, 0), one[2] = {c, '\0'};
    if (scan_peek(sc, 1) == c && scan_peek(sc, 2) == c) {
        scan_take(sc, 3, CLASS_STRING);
        return triple(sc, c == '"' ? OPEN_DOUBLE : OPEN_SINGLE);
    }
    scan_take(sc, 1, CLASS_STRING);
    scan_string(sc, one, true);
    return 0;
}

static void name(struct scan *sc)
{
    size_t n = scan_name(sc);
    enum syntax_class class = scan_in(sc, n, keywords)    ? CLASS_KEYWORD
                              : scan_in(sc, n, constants) ? CLASS_CONSTANT
                              : scan_peek(sc, n) == '('   ? CLASS_FUNCTION
                                                          : CLASS_TEXT;
    scan_take(sc, n, class);
}

static bool starts_line(struct scan *sc)
{
    scan_skip_blanks(sc);
    char c = scan_peek(sc, 0);
    if (c != '@' && c != '!' && c != '%')
        return false;
    if (c == '@') {
        scan_take(sc, 1, CLASS_MAGIC);
        while (scan_is_name(scan_peek(sc, 0)) || scan_peek(sc, 0) == '.')
            scan_take(sc, 1, CLASS_MAGIC);
        return false;
    }
    scan_rest(sc, CLASS_MAGIC);
    return true;
}

syntax_state syntax_python(struct scan *sc, syntax_state state)
{
    if (state)
        state = triple(sc, (unsigned)state);
    else if (starts_line(sc))
        return 0;
    while (sc->at < sc->n && !state) {
        char c = scan_peek(sc, 0);
        size_t prefix = quote_at(sc);
        if (c == '#')
            scan_rest(sc, CLASS_COMMENT);
        else if (prefix != SIZE_MAX)
            state = string(sc, prefix);
        else if (scan_is_name(c) && !scan_number(sc))
            name(sc);
        else if (!scan_is_name(c))
            scan_take(sc, 1, scan_is_blank(c) ? CLASS_TEXT : CLASS_OPERATOR);
    }
    return state;
}
