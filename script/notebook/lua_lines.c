// SPDX-License-Identifier: MIT
#include "script/notebook/lua_lines.h"

#include <string.h>

// The length of "[[" or "[==[" at p, 0 if there is none; *level is the number of its '=' signs.
static size_t long_open(const char *p, const char *end, int *level)
{
    const char *q = p;
    if (q == end || *q++ != '[')
        return 0;
    int n = 0;
    while (q < end && *q == '=')
        q++, n++;
    if (q == end || *q != '[')
        return 0;
    *level = n;
    return (size_t)(q + 1 - p);
}

static const char *long_close(const char *p, const char *end, int level)
{
    for (; p < end; p++) {
        if (*p != ']')
            continue;
        const char *q = p + 1;
        int n = 0;
        while (q < end && *q == '=')
            q++, n++;
        if (n == level && q < end && *q == ']')
            return q + 1;
    }
    return NULL;
}

// The place after a short string; `end` when it continues on the next line (or is unfinished).
static const char *short_close(lua_lines *l, const char *p, const char *end)
{
    for (; p < end; p++) {
        if (*p == '\\') {
            bool skips_space =
                p + 1 < end && p[1] == 'z' && strspn(p + 2, " \t") >= (size_t)(end - p - 2);
            if (p + 1 == end || skips_space) {
                l->inside = true;
                return end;
            }
            p++;
        } else if (*p == l->quote) {
            l->quote = 0;
            return p + 1;
        }
    }
    l->quote = 0;
    return end;
}

// Skips a string or comment that the line before left open; returns the place after it.
static const char *resume(lua_lines *l, const char *p, const char *end)
{
    if (!l->inside)
        return p;
    l->inside = false;
    if (l->quote)
        return short_close(l, p, end);
    const char *after = long_close(p, end, l->level);
    if (after)
        return after;
    l->inside = true;
    return end;
}

void lua_lines_feed(lua_lines *l, const char *line, size_t n)
{
    const char *end = line + n;
    const char *p = resume(l, line, end);
    while (p < end) {
        bool comment = end - p >= 2 && p[0] == '-' && p[1] == '-';
        size_t open = long_open(comment ? p + 2 : p, end, &l->level);
        if (open) {
            l->inside = true;
            p = resume(l, p + (comment ? 2 : 0) + open, end);
        } else if (comment) {
            return;
        } else if (*p == '"' || *p == '\'') {
            l->quote = *p;
            p = short_close(l, p + 1, end);
        } else {
            l->braces += (*p == '{') - (*p == '}');
            p++;
        }
    }
}
