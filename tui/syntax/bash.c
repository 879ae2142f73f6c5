// SPDX-License-Identifier: MIT
// bash. state: 0; an open string; or a here-document: kind, whether tabs are stripped, whether its
// word was quoted (then nothing is expanded), and a hash of the word that ends it.
//
//   bits 0–2 kind · 3 strips tabs · 4 quoted · 8–39 hash
#include "tui/syntax/scan.h"

#include <string.h>

enum { OPEN_SINGLE = 1, OPEN_DOUBLE, HERE };
enum { STRIPS_TABS = 8, QUOTED = 16 };

static const char *const keywords[] = {"if", "then", "elif", "else", "fi", "for", "in", "do",
    "done", "while", "until", "case", "esac", "select", "function", "time", "return", "exit",
    "break", "continue", "local", "export", "readonly", "declare", "unset", "set", "shift", "trap",
    "source", "eval", "exec", NULL};

// After these words comes a name, not a command.
static const char *const before_names[] = {"for", "select", "case", "function", "export", "local",
    "readonly", "declare", "unset", "in", "source", NULL};

static uint32_t hash(const char *s, size_t n)
{
    uint32_t h = 2166136261u; // FNV-1a
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

static syntax_state double_quoted(struct scan *sc)
{
    while (sc->at < sc->n) {
        char c = scan_peek(sc, 0);
        if (c == '"') {
            scan_take(sc, 1, CLASS_STRING);
            return 0;
        }
        if (c == '\\')
            scan_take(sc, 2, CLASS_ESCAPE);
        else if (!scan_variable(sc))
            scan_take(sc, 1, CLASS_STRING);
    }
    return OPEN_DOUBLE;
}

static syntax_state single_quoted(struct scan *sc)
{
    return scan_string(sc, "'", false) ? 0 : OPEN_SINGLE;
}

static syntax_state here_line(struct scan *sc, syntax_state state)
{
    size_t tabs = 0;
    while (state & STRIPS_TABS && scan_peek(sc, tabs) == '\t')
        tabs++;
    if (hash(sc->s + tabs, sc->n - tabs) == (uint32_t)(state >> 8)) {
        scan_rest(sc, CLASS_KEYWORD);
        return 0;
    }
    while (sc->at < sc->n)
        if (state & QUOTED || !scan_variable(sc))
            scan_take(sc, 1, CLASS_STRING);
    return state;
}

// "<<WORD", "<<-'WORD'": the document begins on the next line.
static syntax_state here_word(struct scan *sc)
{
    syntax_state state = HERE;
    scan_take(sc, 2, CLASS_OPERATOR);
    if (scan_peek(sc, 0) == '-') {
        state |= STRIPS_TABS;
        scan_take(sc, 1, CLASS_OPERATOR);
    }
    scan_skip_blanks(sc);
    char quote = scan_peek(sc, 0);
    bool quoted = quote == '\'' || quote == '"';
    size_t from = sc->at + quoted, n = 0;
    while (from + n < sc->n && (quoted ? sc->s[from + n] != quote : scan_is_name(sc->s[from + n])))
        n++;
    if (!n)
        return 0;
    scan_take(sc, n + (quoted ? 2 : 0), CLASS_KEYWORD);
    return state | (quoted ? QUOTED : 0) | (syntax_state)hash(sc->s + from, n) << 8;
}

static void word(struct scan *sc, bool *is_command)
{
    size_t n = scan_name(sc);
    if (scan_peek(sc, n) == '=') {
        scan_take(sc, n, CLASS_VARIABLE);
        return; // "A=1 cmd": the command comes later
    }
    bool is_keyword = *is_command && scan_in(sc, n, keywords);
    bool names_follow = is_keyword && scan_in(sc, n, before_names);
    while (scan_peek(sc, n) && strchr("-./", scan_peek(sc, n))) { // spark-submit, ./run.sh
        n++;
        while (scan_is_name(scan_peek(sc, n)))
            n++;
    }
    scan_take(sc, n, is_keyword ? CLASS_KEYWORD : *is_command ? CLASS_FUNCTION : CLASS_TEXT);
    *is_command = is_keyword && !names_follow;
}

static void symbol(struct scan *sc, bool *is_command)
{
    char c = scan_peek(sc, 0);
    if (strchr("|&;({`", c))
        *is_command = true;
    scan_take(sc, 1, scan_is_blank(c) ? CLASS_TEXT : CLASS_OPERATOR);
}

static void option(struct scan *sc)
{
    size_t n = 1;
    while (scan_peek(sc, n) == '-' || scan_is_name(scan_peek(sc, n)))
        n++;
    scan_take(sc, n, CLASS_CONSTANT);
}

static syntax_state resume(struct scan *sc, syntax_state state)
{
    switch (state & 7) {
    case OPEN_SINGLE:
        return single_quoted(sc);
    case OPEN_DOUBLE:
        return double_quoted(sc);
    default:
        return 0;
    }
}

syntax_state syntax_bash(struct scan *sc, syntax_state state)
{
    if ((state & 7) == HERE)
        return here_line(sc, state);
    syntax_state here = 0;
    bool is_command = state == 0;
    for (state = resume(sc, state); sc->at < sc->n && !state;) {
        char c = scan_peek(sc, 0);
        bool at_word =
            sc->at == 0 || scan_is_blank(sc->s[sc->at - 1]) || strchr(";(", sc->s[sc->at - 1]);
        if (c == '#' && at_word) {
            scan_rest(sc, CLASS_COMMENT);
        } else if (c == '\'' || c == '"') {
            scan_take(sc, 1, CLASS_STRING);
            state = c == '"' ? double_quoted(sc) : single_quoted(sc);
            is_command = false;
        } else if (c == '\\') {
            scan_take(sc, 2, CLASS_ESCAPE);
        } else if (scan_is(sc, "<<") && scan_peek(sc, 2) != '<' && !here) {
            here = here_word(sc);
        } else if (c == '-' && at_word) {
            option(sc);
        } else if (scan_variable(sc)) {
            is_command = false;
        } else if (scan_is_name(c)) {
            if (is_command || !scan_number(sc))
                word(sc, &is_command);
        } else {
            symbol(sc, &is_command);
        }
    }
    return state ? state : here;
}
