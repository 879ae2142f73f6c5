// SPDX-License-Identifier: MIT
// YAML, with "${expression}" of templates. state: 0; an open quoted scalar; or a block scalar
// ("key: |") whose lines are indented deeper than its key: kind | (indent + 1) << 8.
#include "tui/syntax/scan.h"

#include <string.h>

enum { OPEN_SINGLE = 1, OPEN_DOUBLE, BLOCK };

static const char *const constants[] = {"true", "false", "null", "yes", "no", "on", "off", "True",
    "False", "Null", "Yes", "No", "On", "Off", NULL};

static syntax_state quoted(struct scan *sc, char quote)
{
    while (sc->at < sc->n) {
        char c = scan_peek(sc, 0);
        if (c == quote && quote == '\'' && scan_peek(sc, 1) == '\'') {
            scan_take(sc, 2, CLASS_ESCAPE);
        } else if (c == quote) {
            scan_take(sc, 1, CLASS_STRING);
            return 0;
        } else if (c == '\\' && quote == '"') {
            scan_take(sc, 2, CLASS_ESCAPE);
        } else if (!(scan_is(sc, "${") && scan_variable(sc))) {
            scan_take(sc, 1, CLASS_STRING);
        }
    }
    return quote == '"' ? OPEN_DOUBLE : OPEN_SINGLE;
}

// Bytes of a plain scalar or key: up to ": ", " #", or in flow style up to a bracket or comma.
static size_t plain_length(const struct scan *sc, bool flow)
{
    size_t n = 0;
    for (char c; (c = scan_peek(sc, n)); n++) {
        char next = scan_peek(sc, n + 1);
        if (c == ':' && (!next || scan_is_blank(next) || (flow && strchr(",]}", next))))
            break;
        if (c == '#' && n && scan_is_blank(scan_peek(sc, n - 1)))
            break;
        if (flow && strchr(",[]{}", c))
            break;
        if (c == '$' && next == '{')
            break;
    }
    while (n && scan_is_blank(scan_peek(sc, n - 1)))
        n--;
    return n;
}

static bool is_number(const char *s, size_t n)
{
    size_t digits = 0;
    for (size_t i = 0; i < n; i++) {
        digits += s[i] >= '0' && s[i] <= '9';
        if (!strchr("0123456789.eE+-_xabcdefABCDEF", s[i]))
            return false;
    }
    return digits && strchr("0123456789.+-", s[0]);
}

static void plain(struct scan *sc, bool flow)
{
    size_t n = plain_length(sc, flow);
    if (!n)
        scan_take(sc, 1, CLASS_TEXT);
    else if (scan_peek(sc, n) == ':')
        scan_take(sc, n, CLASS_KEY);
    else if (scan_in(sc, n, constants) || (n == 1 && scan_peek(sc, 0) == '~'))
        scan_take(sc, n, CLASS_CONSTANT);
    else
        scan_take(sc, n, is_number(sc->s + sc->at, n) ? CLASS_NUMBER : CLASS_STRING);
}

static bool is_quoted_key(const struct scan *sc, size_t from)
{
    return scan_peek(sc, 0) == ':' && sc->at > from;
}

static size_t indent_of(const struct scan *sc)
{
    size_t n = 0;
    while (n < sc->n && sc->s[n] == ' ')
        n++;
    return n;
}

// "- " counts as indentation for the item's content.
static size_t key_indent(const struct scan *sc)
{
    size_t n = indent_of(sc);
    while (n + 1 < sc->n && sc->s[n] == '-' && sc->s[n + 1] == ' ')
        for (n++; n < sc->n && sc->s[n] == ' ';)
            n++;
    return n;
}

static syntax_state block_line(struct scan *sc, syntax_state state, bool *inside)
{
    size_t indent = indent_of(sc), parent = (size_t)(state >> 8);
    *inside = indent == sc->n || indent >= parent;
    while (*inside && sc->at < sc->n)
        if (!(scan_is(sc, "${") && scan_variable(sc)))
            scan_take(sc, 1, CLASS_STRING);
    return *inside ? state : 0;
}

// Takes one token; returns the state if the token leaves something open.
static syntax_state token(struct scan *sc, int *flow, bool *value)
{
    char c = scan_peek(sc, 0), next = scan_peek(sc, 1);
    bool ends = !next || scan_is_blank(next);
    size_t from = sc->at;
    if (c == '"' || c == '\'') {
        size_t first = sc->count;
        scan_take(sc, 1, CLASS_STRING);
        syntax_state state = quoted(sc, c);
        for (size_t i = first; is_quoted_key(sc, from) && i < sc->count; i++)
            sc->spans[i].class = CLASS_KEY;
        return state;
    }
    if (strchr("[]{}", c)) {
        *flow += c == '[' || c == '{' ? 1 : *flow ? -1 : 0;
        scan_take(sc, 1, CLASS_OPERATOR);
    } else if ((c == '|' || c == '>') && *value && !*flow) {
        scan_take(sc, 1, CLASS_OPERATOR);
        while (scan_peek(sc, 0) && strchr("+-0123456789", scan_peek(sc, 0)))
            scan_take(sc, 1, CLASS_OPERATOR);
        return BLOCK | (syntax_state)(key_indent(sc) + 1) << 8;
    } else if ((strchr("-?:", c) && ends) || (c == ',' && *flow)) {
        *value = true;
        scan_take(sc, 1, CLASS_OPERATOR);
    } else if (c == '&' || c == '*' || c == '!') {
        size_t n = 1;
        while (scan_peek(sc, n) && !scan_is_blank(scan_peek(sc, n)) &&
               !strchr(",]}", scan_peek(sc, n)))
            n++;
        scan_take(sc, n, CLASS_VARIABLE);
    } else if (!scan_variable(sc)) {
        plain(sc, *flow > 0);
    }
    return 0;
}

syntax_state syntax_yaml(struct scan *sc, syntax_state state)
{
    bool inside = false;
    if ((state & 255) == BLOCK)
        state = block_line(sc, state, &inside);
    else if (state)
        state = quoted(sc, state == OPEN_DOUBLE ? '"' : '\'');
    if (inside)
        return state;
    if (sc->at == 0 && (scan_is(sc, "---") || scan_is(sc, "...")))
        scan_take(sc, 3, CLASS_OPERATOR);
    int flow = 0;
    bool value = false;
    while (sc->at < sc->n && !(state && (state & 255) != BLOCK)) {
        char c = scan_peek(sc, 0);
        if (scan_is_blank(c))
            sc->at++;
        else if (c == '#' && (!sc->at || scan_is_blank(sc->s[sc->at - 1])))
            scan_rest(sc, CLASS_COMMENT);
        else
            state = token(sc, &flow, &value);
    }
    return state;
}
