// SPDX-License-Identifier: MIT
// Markdown (the usual part of CommonMark). The text in a fence is highlighted in its language.
//
//   state of a fence   bits 0–7: 1 · 8–11 language · 12–17 its length · 18 tilde · 20… inner state
#include "tui/syntax/scan.h"

#include <string.h>

static size_t run_of(const struct scan *sc, char c)
{
    size_t n = 0;
    while (scan_peek(sc, n) == c)
        n++;
    return n;
}

static syntax_state fence_line(struct scan *sc, syntax_state state)
{
    char mark = state >> 18 & 1 ? '~' : '`';
    size_t length = state >> 12 & 63;
    scan_skip_blanks(sc);
    size_t n = run_of(sc, mark);
    if (n >= length && sc->at + n == sc->n) {
        scan_rest(sc, CLASS_CODE);
        return 0;
    }
    sc->at = 0;
    syntax_language language = (syntax_language)(state >> 8 & 15);
    if (language == SYNTAX_PLAIN || language == SYNTAX_MARKDOWN) {
        scan_rest(sc, CLASS_CODE);
        return state;
    }
    syntax_state inner = syntax_line(language, state >> 20, sc->s, sc->n, sc->spans, &sc->count);
    return (state & 0xFFFFF) | inner << 20;
}

// A fence's opening line: "```lua".
static syntax_state fence_begin(struct scan *sc, char mark, size_t n)
{
    char word[32] = "";
    size_t from = sc->at + n, length = 0;
    while (from < sc->n && scan_is_blank(sc->s[from]))
        from++;
    while (
        from + length < sc->n && scan_is_name(sc->s[from + length]) && length + 1 < sizeof word) {
        word[length] = sc->s[from + length];
        length++;
    }
    scan_rest(sc, CLASS_CODE);
    syntax_state fence = n < 63 ? n : 63;
    return 1 | (syntax_state)syntax_by_name(word) << 8 | fence << 12 |
           (syntax_state)(mark == '~') << 18;
}

// After an opening run of n marks: the start of its closing run, or 0.
static size_t closing(const struct scan *sc, char mark, size_t n)
{
    for (size_t i = n; sc->at + i < sc->n;) {
        size_t length = 0;
        while (scan_peek(sc, i + length) == mark)
            length++;
        bool after_blank = scan_is_blank(scan_peek(sc, i - 1));
        if (length == n && i > n && (mark == '`' || !after_blank))
            return i;
        i += length ? length : 1;
    }
    return 0;
}

static bool emphasis(struct scan *sc)
{
    char mark = scan_peek(sc, 0);
    if (mark != '*' && mark != '_' && mark != '`')
        return false;
    size_t n = run_of(sc, mark);
    // "snake_case" and "2 * 3" are plain.
    bool inside = mark == '_' && sc->at && scan_is_name(sc->s[sc->at - 1]);
    size_t end = inside || (mark != '`' && (n > 3 || scan_is_blank(scan_peek(sc, n))))
                     ? 0
                     : closing(sc, mark, n);
    if (!end) {
        scan_take(sc, n, CLASS_TEXT);
        return true;
    }
    scan_take(sc, end + n, mark == '`' ? CLASS_CODE : n == 1 ? CLASS_EMPHASIS : CLASS_STRONG);
    return true;
}

// The distance to the text, searched from `from` on; 0 when it is missing.
static size_t find(const struct scan *sc, size_t from, const char *text)
{
    struct scan ahead = *sc;
    for (ahead.at += from; ahead.at < ahead.n; ahead.at++)
        if (scan_is(&ahead, text))
            return ahead.at - sc->at;
    return 0;
}

// "[text](where)" and "<https://…>".
static bool link(struct scan *sc)
{
    size_t middle = 0, end = 0;
    if (scan_peek(sc, 0) == '[' && (middle = find(sc, 1, "](")))
        end = find(sc, middle, ")");
    else if (scan_peek(sc, 0) == '<' && (middle = find(sc, 1, "://")) && middle < 12)
        end = find(sc, middle, ">");
    if (end)
        scan_take(sc, end + 1, CLASS_LINK);
    return end != 0;
}

static void inline_text(struct scan *sc)
{
    while (sc->at < sc->n)
        if (scan_peek(sc, 0) == '\\')
            scan_take(sc, 2, CLASS_ESCAPE);
        else if (!emphasis(sc) && !link(sc))
            scan_take(sc, 1, CLASS_TEXT);
}

static void list_mark(struct scan *sc)
{
    char c = scan_peek(sc, 0);
    size_t digits = 0;
    while (scan_peek(sc, digits) >= '0' && scan_peek(sc, digits) <= '9')
        digits++;
    if (c && strchr("-*+", c) && scan_is_blank(scan_peek(sc, 1)))
        scan_take(sc, 1, CLASS_LIST);
    else if (digits && digits < 10 &&
             (scan_peek(sc, digits) == '.' || scan_peek(sc, digits) == ')') &&
             scan_is_blank(scan_peek(sc, digits + 1)))
        scan_take(sc, digits + 1, CLASS_LIST);
}

static bool is_rule(const struct scan *sc)
{
    char c = scan_peek(sc, 0);
    size_t marks = 0;
    if (c != '-' && c != '*' && c != '_')
        return false;
    for (size_t i = sc->at; i < sc->n; i++) {
        if (sc->s[i] != c && !scan_is_blank(sc->s[i]))
            return false;
        marks += sc->s[i] == c;
    }
    return marks >= 3;
}

syntax_state syntax_markdown(struct scan *sc, syntax_state state)
{
    if (state)
        return fence_line(sc, state);
    scan_skip_blanks(sc);
    size_t ticks = run_of(sc, '`'), tildes = run_of(sc, '~'), level = run_of(sc, '#');
    if (ticks >= 3 && !memchr(sc->s + sc->at + ticks, '`', sc->n - sc->at - ticks))
        return fence_begin(sc, '`', ticks);
    if (tildes >= 3)
        return fence_begin(sc, '~', tildes);
    if (level >= 1 && level <= 6 &&
        (!scan_peek(sc, level) || scan_is_blank(scan_peek(sc, level)))) {
        scan_rest(sc, CLASS_HEADING);
    } else if (scan_peek(sc, 0) == '>') {
        scan_rest(sc, CLASS_QUOTE);
    } else if (is_rule(sc)) {
        scan_rest(sc, CLASS_OPERATOR);
    } else {
        list_mark(sc);
        inline_text(sc);
    }
    return 0;
}
