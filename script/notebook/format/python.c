// SPDX-License-Identifier: MIT
// Lua that a .py keeps, as a translation of its text, line by line:
//
//   header, markers, text, other languages   -- …  <->  # …
//   code                                     x = 1 <->  # x = 1, below a marker with
//   language="lua",
//                                            which is how jupytext keeps another language
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

#define LUA_MARK " language=\"lua\""
struct text {
    const char *s;
    size_t n, whole; // without and with the line's end
};

static bool next_line(const char **at, const char *end, struct text *line)
{
    if (*at >= end)
        return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    line->s = *at;
    line->whole = newline ? (size_t)(newline + 1 - *at) : (size_t)(end - *at);
    line->n = line->whole - (newline != NULL);
    if (line->n && newline && line->s[line->n - 1] == '\r')
        line->n--;
    *at += line->whole;
    return true;
}

// Appends a line with another comment mark in place of the one at its beginning, if it has one.
static void change_mark(const struct text *l, const char *from, const char *to, buf *out)
{
    size_t n = strlen(from), indent = 0;
    while (indent < l->n && (l->s[indent] == ' ' || l->s[indent] == '\t'))
        indent++;
    bool has = l->n >= indent + n && memcmp(l->s + indent, from, n) == 0;
    buf_add(out, l->s, has ? indent : 0);
    if (has)
        buf_str(out, to);
    buf_add(out, l->s + (has ? indent + n : 0), l->whole - (has ? indent + n : 0));
}

static void add_mark(const struct text *l, buf *out)
{
    buf_str(out, l->n ? "# " : "#");
    buf_add(out, l->s, l->whole);
}

static void drop_mark(const struct text *l, buf *out)
{
    size_t mark = l->n >= 2 && memcmp(l->s, "# ", 2) == 0 ? 2 : l->n && *l->s == '#' ? 1 : 0;
    buf_add(out, l->s + mark, l->whole - mark);
}

// A line of a header: the comment mark, and the extension that it tells.
static void change_header(const struct text *l, bool to_python, buf *out)
{
    static const char *const ends[] = {"extension: .lua", "extension: .py"};
    const char *end = ends[!to_python];
    AUTO_BUF line = {0};
    change_mark(l, to_python ? "--" : "#", to_python ? "#" : "--", &line);
    const char *told = memmem(line.data, line.len, end, strlen(end));
    size_t before = told ? (size_t)(told - line.data) : line.len;
    buf_add(out, line.data, before);
    if (!told)
        return;
    buf_str(out, ends[to_python]);
    buf_str(out, told + strlen(end));
}

static void header_to_python(const char *text, size_t n, buf *out)
{
    struct text line;
    for (const char *at = text, *end = text + n; next_line(&at, end, &line);)
        if (line.n >= 2 && memcmp(line.s, "#!", 2) == 0)
            buf_add(out, line.s, line.whole);
        else
            change_header(&line, true, out);
}

static void cell_to_python(const cell *c, buf *out)
{
    bool commented = cell_is_commented(c), lua = !commented;
    struct text line;
    const char *at = c->kept->text, *end = at + c->kept->n;
    size_t rows = 0, row = 0;
    for (const char *p = at; next_line(&p, end, &line);)
        rows++;
    if (!c->kept->marked && lua)
        buf_str(out, "# %%" LUA_MARK "\n");
    for (; next_line(&at, end, &line); row++) {
        bool marker = row == 0 && c->kept->marked, blank = row + (size_t)c->kept->blank >= rows;
        if (marker && lua) {
            buf_str(out, "# ");
            const char *rest = memmem(line.s, line.n, "%%", 2);
            buf_add(out, rest, (size_t)(line.s + line.n - rest));
            buf_str(out, LUA_MARK);
            buf_add(out, line.s + line.n, line.whole - line.n);
        } else if (marker || commented) {
            change_mark(&line, "--", "#", out);
        } else if (lua && !blank) {
            add_mark(&line, out);
        } else {
            buf_add(out, line.s, line.whole);
        }
    }
}

int python_print_lua(const notebook *nb, buf *out, err *e)
{
    AUTO_BUF text = {0};
    notebook_print(nb, &text);
    notebook *whole = notebook_parse(buf_cstr(&text), text.len, e); // all cells have their bytes
    if (!whole)
        return -1;
    header_to_python(whole->header, whole->header_n, out);
    for (size_t i = 0; i < whole->n; i++)
        cell_to_python(whole->cells[i], out);
    notebook_free(whole);
    return 0;
}

// The text after "%%" of a marker line, NULL: it is none.
static const char *python_marker(const struct text *l)
{
    const char *p = l->s, *end = l->s + l->n;
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (p == end || *p++ != '#')
        return NULL;
    while (p < end && *p == ' ')
        p++;
    bool is =
        end - p >= 2 && memcmp(p, "%%", 2) == 0 && (end - p == 2 || p[2] == ' ' || p[2] == '%');
    return is ? p + 2 : NULL;
}

static bool ends_in(const struct text *l, const char *tail)
{
    size_t n = strlen(tail);
    return l->n >= n && memcmp(l->s + l->n - n, tail, n) == 0;
}

// Of a marker: is what follows commented in the file?
static bool opens_comment(const struct text *l, const char *marker)
{
    cell *c = cell_new();
    AUTO_FREE char *text = str_trim(marker, (size_t)(l->s + l->n - marker));
    cell_mark(c, text);
    bool commented = cell_is_commented(c);
    cell_free(c);
    return commented;
}

bool python_has_lua(const char *text, size_t n)
{
    size_t lua = 0, other = 0;
    struct text line;
    for (const char *at = text, *end = text + n; next_line(&at, end, &line);) {
        const char *marker = python_marker(&line);
        if (marker && ends_in(&line, LUA_MARK))
            lua++;
        else if (marker && !opens_comment(&line, marker))
            other++;
    }
    return lua && !other;
}

struct reading {
    bool commented, lua;
};

static void line_from_python(struct reading *r, const struct text *line, buf *out)
{
    const char *marker = python_marker(line);
    if (marker) {
        r->lua = ends_in(line, LUA_MARK);
        r->commented = !r->lua && opens_comment(line, marker);
        struct text shown = *line;
        if (r->lua)
            shown.n -= strlen(LUA_MARK);
        AUTO_BUF whole = {0};
        buf_add(&whole, shown.s, shown.n);
        buf_add(&whole, line->s + line->n, line->whole - line->n);
        shown = (struct text){whole.data, shown.n, whole.len};
        change_mark(&shown, "#", "--", out);
    } else if (r->lua) {
        drop_mark(line, out);
    } else if (r->commented) {
        change_mark(line, "#", "--", out);
    } else {
        buf_add(out, line->s, line->whole);
    }
}

// "# ---"
static bool is_rule(const struct text *l)
{
    size_t mark = l->n > 1 && l->s[1] == ' ' ? 2 : 1, n = l->n;
    while (n > 0 && isspace((unsigned char)l->s[n - 1]))
        n--;
    return n == mark + 3 && *l->s == '#' && memcmp(l->s + mark, "---", 3) == 0;
}

// The end of the header: "#!…", the line with the encoding, the block between two rules.
static const char *header_end(const char *text, const char *end)
{
    struct text line;
    const char *at = text, *top = text;
    if (next_line(&at, end, &line) && line.n >= 2 && memcmp(line.s, "#!", 2) == 0)
        top = at;
    at = top;
    if (next_line(&at, end, &line) && !python_marker(&line) && coding_line(line.s, line.n, "#"))
        top = at;
    at = top;
    if (!next_line(&at, end, &line) || !is_rule(&line))
        return top;
    while (next_line(&at, end, &line) && line.n && *line.s == '#')
        if (is_rule(&line))
            return at;
    return top;
}

notebook *python_parse_lua(const char *text, size_t n, err *e)
{
    struct reading r = {0};
    AUTO_BUF lua = {0};
    struct text line;
    const char *end = text + n, *body = header_end(text, end);
    for (const char *at = text; next_line(&at, body, &line);)
        if (line.n >= 2 && memcmp(line.s, "#!", 2) == 0)
            buf_add(&lua, line.s, line.whole);
        else
            change_header(&line, false, &lua);
    for (const char *at = body; next_line(&at, end, &line);)
        line_from_python(&r, &line, &lua);
    return notebook_parse(buf_cstr(&lua), lua.len, e);
}
