// SPDX-License-Identifier: MIT
// Lines of a cell that look like a marker. In the file such a line has one comment mark more, so
// that it starts no cell; jupytext, which would cut the cell there, then leaves it alone.
//
//   in a Lua cell      in the file          in a text cell      in the file
//   -- %% A            -- -- %% A           %% A                -- -- %% A
//   -- -- %% A         -- -- -- %% A        -- %% A             -- -- -- %% A
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/others/rules.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

// "%%", "%% A", "%%%% A": the place after the first two, or NULL.
static const char *percents(const char *p, const char *end)
{
    p = bytes_after_space(p, end);
    if (!bytes_start(p, end, "%%"))
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
    const char *end = line + n, *p = bytes_after_space(line, end);
    return bytes_start(p, end, "--") ? percents(p + 2, end) : NULL;
}

// How the lines of a cell are commented, and what is a marker there.
struct marks {
    const struct dialect *dialect; // NULL: Lua's
    const char *mark;
    bool commented; // the file has a mark in front of each line
};

static const char *marker_with(const struct marks *m, const char *p, const char *end)
{
    return m->dialect ? script_marker(m->dialect, p, (size_t)(end - p))
                      : marker_of(p, (size_t)(end - p));
}

// Would the line, without some or all of its comment marks, be a marker in the file?
static bool is_like_marker(const struct marks *m, const char *p, const char *end)
{
    size_t mark = strlen(m->mark);
    if (!m->commented)
        p = bytes_after_space(p, end);
    for (;; p += mark + 1) {
        if (!m->commented && !bytes_start(p, end, m->mark))
            return false;
        AUTO_BUF whole = {0};
        buf_str(&whole, m->commented ? m->mark : "");
        buf_str(&whole, m->commented ? " " : "");
        buf_add(&whole, p, (size_t)(end - p));
        if (marker_with(m, buf_cstr(&whole), buf_cstr(&whole) + whole.len))
            return true;
        if (!bytes_start(p, end, m->mark) || p + mark == end || p[mark] != ' ')
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
    *bare = bytes_after_space(q, end) == end;
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

static void escape_line(const struct marks *m, const char *line, size_t n, buf *out)
{
    const char *end = line + n, *p = m->commented ? line : bytes_after_space(line, end);
    bool more = is_like_marker(m, line, end);
    buf_add(out, line, (size_t)(p - line));
    if (more)
        buf_fmt(out, "%s ", m->mark);
    buf_add(out, p, (size_t)(end - p));
}

static void unescape_line(const struct marks *m, const char *line, size_t n, buf *out)
{
    const char *end = line + n, *p = m->commented ? line : bytes_after_space(line, end);
    size_t mark = strlen(m->mark) + 1;
    bool has = bytes_start(p, end, m->mark) && (size_t)(end - p) >= mark && p[mark - 1] == ' ';
    bool less =
        has && (m->commented || bytes_start(p + mark, end, m->mark)) && is_like_marker(m, p, end);
    buf_add(out, line, (size_t)(p - line));
    p += less ? mark : 0;
    buf_add(out, p, (size_t)(end - p));
}

static char *each_line(const cell *c, const struct dialect *d, const struct rules *r,
    const char *text, void (*fn)(const struct marks *m, const char *line, size_t n, buf *out))
{
    if (!strstr(text, "%%") && !(d && (strstr(text, "In[") || strstr(text, "<codecell>"))))
        return mem_strdup(text); // as in most cells
    struct marks m = {d, d ? d->mark : "--", d ? !r : cell_is_commented(c)};
    quotes q = {.off = true};
    buf out = {0};
    if (r && !m.commented)
        quotes_begin(&q, r);
    while (*text) {
        const char *after = c->kind == CELL_CODE ? NULL : after_fence(text);
        if (after) {
            buf_add(&out, text, (size_t)(after - text));
            text = after;
            continue;
        }
        size_t n = strcspn(text, "\n");
        if (q.triple)
            buf_add(&out, text, n);
        else
            fn(&m, text, n, &out);
        quotes_feed(&q, text, n);
        text += n;
        if (*text)
            buf_char(&out, *text++);
    }
    return out.data ? buf_take(&out) : mem_strdup("");
}

char *markers_escape(
    const cell *c, const struct dialect *d, const struct rules *r, const char *text)
{
    return each_line(c, d, r, text, escape_line);
}

char *markers_unescape(
    const cell *c, const struct dialect *d, const struct rules *r, const char *text)
{
    return each_line(c, d, r, text, unescape_line);
}
