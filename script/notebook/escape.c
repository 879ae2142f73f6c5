// SPDX-License-Identifier: MIT
// Lines of a cell that look like a marker. In the file such a line has one comment mark more, so
// that it starts no cell; jupytext, which would cut the cell there, then leaves it alone.
//
//   in a Lua cell      in the file          in a text cell      in the file
//   -- %% A            -- -- %% A           %% A                -- -- %% A
//   -- -- %% A         -- -- -- %% A        -- %% A             -- -- -- %% A
#include "base/mem.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

static const char *after_space(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
    return p;
}

static bool starts(const char *p, const char *end, const char *prefix)
{
    size_t n = strlen(prefix);
    return (size_t)(end - p) >= n && memcmp(p, prefix, n) == 0;
}

// "%%", "%% A", "%%%% A": the place after the first two, or NULL.
static const char *percents(const char *p, const char *end)
{
    p = after_space(p, end);
    if (!starts(p, end, "%%"))
        return NULL;
    const char *after = p += 2;
    while (p < end && *p == '%')
        p++;
    if (p == end)
        return p == after ? after : NULL;
    return isspace((unsigned char)*p) ? after : NULL;
}

const char *marker_of(const char *line, size_t n)
{
    const char *end = line + n, *p = after_space(line, end);
    return starts(p, end, "--") ? percents(p + 2, end) : NULL;
}

// Would the line, without some or all of its comment marks, be a marker in the file?
static bool is_like_marker(const char *p, const char *end, bool commented)
{
    if (!commented)
        p = after_space(p, end);
    for (;; p += 3) {
        if (!commented && !starts(p, end, "--"))
            return false;
        if (percents(commented ? p : p + 2, end))
            return true;
        if (!starts(p, end, "-- "))
            return false;
    }
}

// The fence of a code block in Markdown, opening or closing: its character; *n is its length.
char text_fence(const char *line, size_t len, size_t *n, bool *bare)
{
    size_t indent = 0;
    while (indent < 3 && indent < len && line[indent] == ' ')
        indent++;
    const char *p = line + indent, *end = line + len, *q = p;
    if (p == end || (*p != '`' && *p != '~'))
        return 0;
    while (q < end && *q == *p)
        q++;
    *n = (size_t)(q - p);
    *bare = after_space(q, end) == end;
    if (*n < 3 || (*p == '`' && memchr(q, '`', (size_t)(end - q))))
        return 0;
    return *p;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

// The place behind the block whose fence opens in this line; NULL: none opens. Its lines are never
// markers.
static const char *after_fence(const char *line)
{
    size_t open, n;
    bool bare;
    char c = text_fence(line, strcspn(line, "\n"), &open, &bare);
    for (line = next_line(line); c && *line; line = next_line(line))
        if (text_fence(line, strcspn(line, "\n"), &n, &bare) == c && n >= open && bare)
            return next_line(line);
    return NULL;
}

static void escape_line(const char *line, size_t n, bool commented, buf *out)
{
    const char *end = line + n, *p = commented ? line : after_space(line, end);
    bool more = is_like_marker(line, end, commented);
    buf_add(out, line, (size_t)(p - line));
    buf_str(out, more ? "-- " : "");
    buf_add(out, p, (size_t)(end - p));
}

static void unescape_line(const char *line, size_t n, bool commented, buf *out)
{
    const char *end = line + n, *p = commented ? line : after_space(line, end);
    bool less = starts(p, end, commented ? "-- " : "-- --") && is_like_marker(p, end, commented);
    buf_add(out, line, (size_t)(p - line));
    p += less ? 3 : 0;
    buf_add(out, p, (size_t)(end - p));
}

static char *each_line(const cell *c, const char *text,
    void (*fn)(const char *line, size_t n, bool commented, buf *out))
{
    if (!strstr(text, "%%")) // as in most cells
        return mem_strdup(text);
    buf out = {0};
    bool commented = cell_is_commented(c);
    while (*text) {
        const char *after = c->kind == CELL_CODE ? NULL : after_fence(text);
        if (after) {
            buf_add(&out, text, (size_t)(after - text));
            text = after;
            continue;
        }
        size_t n = strcspn(text, "\n");
        fn(text, n, commented, &out);
        text += n;
        if (*text)
            buf_char(&out, *text++);
    }
    return out.data ? buf_take(&out) : mem_strdup("");
}

char *markers_escape(const cell *c, const char *text)
{
    return each_line(c, text, escape_line);
}

char *markers_unescape(const cell *c, const char *text)
{
    return each_line(c, text, unescape_line);
}
