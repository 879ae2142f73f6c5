// SPDX-License-Identifier: MIT
// The percent format: text to cells and back, by jupytext's rules for Lua.
//
//   line of file     belongs to
//   -- ---         ┐
//   -- ---         │ header: shebang, coding line, "-- ---" to "-- ---", blank lines
//                  ┘
//   -- %% A        ┐ cell: marker
//   a = 1          │       source
//                  ┘       blank: one, or exactly two; what is more belongs to the source
//   -- %% B        …
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <string.h>

void lines_cut(const char *text, size_t n, struct lines *out)
{
    size_t cap = 0;
    for (const char *end = text + n; text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t whole = newline ? (size_t)(newline + 1 - text) : (size_t)(end - text);
        size_t len = whole - (newline != NULL);
        if (newline && len > 0 && text[len - 1] == '\r')
            len--;
        if (out->n == cap)
            out->list = mem_resize(out->list, cap = cap ? 2 * cap : 64, sizeof *out->list);
        out->list[out->n++] = (struct line){text, len, whole};
        text += whole;
    }
}

bool line_is_blank(const struct line *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (!isspace((unsigned char)l->text[i]))
            return false;
    return true;
}

static const char *marker_in(const struct line *l)
{
    return marker_of(l->text, l->n);
}

struct line line_uncommented(struct line l, const char *mark)
{
    size_t n = line_starts(&l, mark) ? strlen(mark) : 0;
    n += n && n < l.n && l.text[n] == ' ';
    return (struct line){l.text + n, l.n - n, l.whole - n};
}

static struct line uncommented(struct line l)
{
    return line_uncommented(l, "--");
}

static char fence_in(struct line l, const char *mark, size_t *n, bool *bare)
{
    l = line_uncommented(l, mark);
    return text_fence(l.text, l.n, n, bare);
}

size_t lines_after_fence(const struct lines *ls, size_t i, const char *mark)
{
    size_t open, n;
    bool bare;
    char c = fence_in(ls->list[i], mark, &open, &bare);
    if (!c)
        return 0;
    for (size_t k = i + 1; k < ls->n; k++)
        if (fence_in(ls->list[k], mark, &n, &bare) == c && n >= open && bare)
            return k + 1;
    return 0;
}

static bool is_rule(const struct line *l)
{
    struct line text = uncommented(*l);
    if (!line_starts(l, "--") || !line_starts(&text, "---"))
        return false;
    struct line rest = {text.text + 3, text.n - 3, 0};
    return line_is_blank(&rest);
}

// The number of lines in the header.
static size_t header_lines(const struct lines *ls)
{
    size_t i = 0;
    if (i < ls->n && line_starts(&ls->list[i], "#!"))
        i++;
    if (i < ls->n && coding_line(ls->list[i].text, ls->list[i].n, "--") && !marker_in(&ls->list[i]))
        i++;
    if (i < ls->n && is_rule(&ls->list[i])) {
        size_t k = i + 1;
        while (k < ls->n && line_starts(&ls->list[k], "--") && !is_rule(&ls->list[k]))
            k++;
        if (k < ls->n && is_rule(&ls->list[k]))
            i = k + 1;
    }
    while (i < ls->n && line_is_blank(&ls->list[i]))
        i++;
    return i;
}

size_t lines_blank(const struct lines *ls, size_t from, size_t to)
{
    const struct line *end = ls->list + to;
    if (to - from >= 3 && !line_is_blank(end - 3) && line_is_blank(end - 2) &&
        line_is_blank(end - 1))
        return 2;
    return to > from && end[-1].n == 0 ? 1 : 0;
}

static char *read_source(const cell *c, const struct lines *ls, size_t from, size_t to)
{
    buf text = {0};
    bool commented = cell_is_commented(c);
    for (size_t i = from; i < to; i++) {
        struct line l = commented ? uncommented(ls->list[i]) : ls->list[i];
        buf_add(&text, l.text, l.n);
        if (i + 1 < to)
            buf_char(&text, '\n');
    }
    if (!text.data)
        return mem_strdup("");
    char *source = markers_unescape(c, NULL, NULL, text.data);
    buf_done(&text);
    if (commented || c->options.file || c->options.template_)
        return source;
    char *clean = magics_uncomment(source);
    free(source);
    return clean;
}

static cell *read_cell(const struct lines *ls, size_t from, size_t to)
{
    cell *c = cell_new();
    const char *marker = marker_in(&ls->list[from]);
    if (marker) {
        AUTO_FREE char *text =
            str_trim(marker, (size_t)(ls->list[from].text + ls->list[from].n - marker));
        cell_mark(c, text);
    }
    size_t blank = lines_blank(ls, from, to), body = from + (marker != NULL);
    free(c->source);
    c->source = read_source(c, ls, body, to - blank > body ? to - blank : body);
    c->line = (int)from + 1;
    c->first_line = (int)body + 1;
    c->kept->marked = marker != NULL;
    c->kept->blank = (int)blank;
    c->kept->spaced = blank != (to < ls->n);
    c->kept->n = (size_t)(ls->list[to - 1].text + ls->list[to - 1].whole - ls->list[from].text);
    c->kept->text = mem_dup(ls->list[from].text, c->kept->n);
    return c;
}

static bool is_text_marker(const struct line *l, const char *marker)
{
    size_t n = (size_t)(l->text + l->n - marker);
    return memmem(marker, n, "[markdown]", 10) || memmem(marker, n, "[md]", 4) ||
           memmem(marker, n, "[raw]", 5);
}

static void read_cells(notebook *nb, const struct lines *ls, size_t from)
{
    while (from < ls->n) {
        const char *marker = marker_in(&ls->list[from]);
        bool text = marker && is_text_marker(&ls->list[from], marker);
        size_t to = from + 1;
        while (to < ls->n && !marker_in(&ls->list[to])) {
            size_t after = text ? lines_after_fence(ls, to, "--") : 0;
            to = after ? after : to + 1;
        }
        cell *c = read_cell(ls, from, to);
        nb->json = nb->json || marker_is_json(c->marker);
        notebook_add(nb, c);
        from = to;
    }
}

int lines_check(const char *text, size_t n, err *e)
{
    int line = 1;
    for (size_t i = 0; i < n;) {
        size_t len = utf8_len(text + i, n - i);
        if (text[i] == '\0')
            return err_set(e, ERR_INVALID, "line %d has a NUL byte", line);
        if (len == 0)
            return err_set(
                e, ERR_INVALID, "line %d is not UTF-8 (byte 0x%02x)", line, (unsigned char)text[i]);
        line += text[i] == '\n';
        i += len;
    }
    if (memchr(text, '\r', n) && !memchr(text, '\n', n))
        return err_set(e, ERR_INVALID,
            "its lines end in CR alone; `tr '\\r' '\\n'` makes them lines of today");
    return 0;
}

notebook *notebook_parse(const char *text, size_t n, err *e)
{
    if (lines_check(text, n, e) < 0)
        return NULL;
    size_t mark = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    struct lines ls = {0};
    lines_cut(text + mark, n - mark, &ls);
    notebook *nb = notebook_new();
    size_t first = header_lines(&ls);
    nb->crlf = ls.n > 0 && ls.list[0].whole == ls.list[0].n + 2;
    nb->header_n = (first < ls.n ? (size_t)(ls.list[first].text - text) : n);
    nb->header = mem_strndup(text, nb->header_n);
    if (strstr(nb->header, "jupyter:"))
        language_from_metadata(nb);
    read_cells(nb, &ls, first);
    free(ls.list);
    return nb;
}

void lines_print(const char *text, const char *mark, const char *newline, buf *out)
{
    for (;;) {
        size_t n = strcspn(text, "\n");
        if (mark)
            buf_fmt(out, n ? "%s " : "%s", mark);
        buf_add(out, text, n);
        buf_str(out, newline);
        if (!text[n])
            return;
        text += n + 1;
    }
}

// jupytext indents the marker like the first line of code.
void marker_line(const notebook *nb, const cell *c, const char *mark, const char *newline, buf *out)
{
    AUTO_BUF marker = {0};
    marker_print(c, nb->json, &marker);
    size_t indent = cell_is_commented(c) ? 0 : strspn(c->source, " \t");
    if (c->source[indent] && c->source[indent] != '\n')
        buf_add(out, c->source, indent);
    bool deep = json_int_or(c->kept->metadata, "cell_depth", 0) > 0; // "%%%": no title of "%"
    buf_fmt(out, "%s %%%%%s%s%s", mark, marker.len && !deep ? " " : "", buf_cstr(&marker), newline);
}

static void print_cell(const notebook *nb, const cell *c, buf *out)
{
    const char *newline = nb->crlf ? "\r\n" : "\n";
    if (c->kept->marked)
        marker_line(nb, c, "--", newline, out);
    bool commented = cell_is_commented(c);
    if (!*c->source && !commented)
        return;
    AUTO_FREE char *text = markers_escape(c, NULL, NULL, c->source);
    AUTO_BUF source = {0};
    if (commented || c->options.file || c->options.template_)
        buf_str(&source, text);
    else
        magics_comment(text, !nb->language, &source);
    lines_print(buf_cstr(&source), commented ? "--" : NULL, newline, out);
}

// Does the text go on with these bytes at *at? Then *at is behind them.
static bool goes_on(const char *text, size_t n, size_t *at, const char *bytes, size_t bytes_n)
{
    if (!bytes || bytes_n > n - *at || memcmp(text + *at, bytes, bytes_n) != 0)
        return false;
    *at += bytes_n;
    return true;
}

bool notebook_was_read_from(const notebook *nb, const char *text, size_t n)
{
    size_t at = 0;
    if (nb->header && !goes_on(text, n, &at, nb->header, nb->header_n))
        return false;
    for (size_t i = 0; i < nb->n; i++)
        if (!goes_on(text, n, &at, nb->cells[i]->kept->text, nb->cells[i]->kept->n))
            return false;
    return at == n;
}

void notebook_print(const notebook *nb, buf *out)
{
    if (nb->header)
        buf_add(out, nb->header, nb->header_n);
    for (size_t i = 0; i < nb->n; i++) {
        const cell *c = nb->cells[i];
        if (c->kept->text) {
            buf_add(out, c->kept->text, c->kept->n);
            continue;
        }
        print_cell(nb, c, out);
        for (int k = 0; k < c->kept->blank; k++)
            buf_str(out, nb->crlf ? "\r\n" : "\n");
    }
}
