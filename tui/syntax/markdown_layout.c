// SPDX-License-Identifier: MIT
// The blocks of Markdown, a source line at a time: a line continues the open block (a fence, a
// paragraph, a table) or ends it.
#include "tui/syntax/markdown_layout.h"

#include "base/mem.h"
#include "base/text/utf8.h"
#include "tui/grid/layout.h"
#include "tui/syntax/markdown_private.h"

#include <ctype.h>
#include <string.h>

static const style dim = {.attrs = ATTR_DIM};

// The bars of quotes, and the blanks below a list's marks. *marks: the first row of an item has it.
static void put_prefix(struct layout *l)
{
    for (int i = 0; i < l->quotes; i++)
        styled_add(&l->row, l->ascii ? "| " : "│ ", l->ascii ? 2 : 4, dim);
    for (size_t i = 0; i < l->depth; i++) {
        bool mark = l->mark_due && i + 1 == l->depth;
        int w = l->items[i].width;
        if (mark)
            styled_add(
                &l->row, l->items[i].mark, strlen(l->items[i].mark), syntax_style(CLASS_LIST));
        for (int k = mark ? text_width(l->items[i].mark, strlen(l->items[i].mark), 0) : 0; k < w;
             k++)
            styled_add(&l->row, " ", 1, (style){0});
    }
    l->mark_due = false;
}

int markdown_room(const struct layout *l)
{
    int w = l->width - 2 * l->quotes;
    for (size_t i = 0; i < l->depth; i++)
        w -= l->items[i].width;
    int least = l->width < 8 ? l->width : 8;
    return w > least ? w : least;
}

void markdown_row(struct layout *l, const struct styled *words, size_t from, size_t to)
{
    struct markdown *m = l->out;
    styled_clear(&l->row);
    put_prefix(l);
    if (to > from)
        styled_copy(&l->row, words, from, to);
    styled_trim(&l->row);
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 64;
        m->rows = mem_resize(m->rows, m->cap, sizeof *m->rows);
    }
    while (m->n_spans + l->row.n > m->spans_cap) {
        m->spans_cap = m->spans_cap ? 2 * m->spans_cap : 128;
        m->spans = mem_resize(m->spans, m->spans_cap, sizeof *m->spans);
    }
    m->rows[m->n++] = (struct row){m->text.len, l->row.text.len, m->n_spans, l->row.n, l->source};
    buf_add(&m->text, l->row.text.data, l->row.text.len);
    for (size_t i = 0; i < l->row.n; i++)
        m->spans[m->n_spans++] = l->row.spans[i];
}

// One empty row between blocks, none at the start.
static void gap(struct layout *l)
{
    bool any = l->gap_due && l->out->n > 0;
    l->gap_due = false;
    if (!any)
        return;
    bool mark = l->mark_due;
    struct styled none = {0};
    l->mark_due = false;
    markdown_row(l, &none, 0, 0);
    l->mark_due = mark;
}

void markdown_begin(struct layout *l)
{
    gap(l);
}

static void wrap(struct layout *l, const struct styled *words)
{
    const char *s = buf_cstr(&words->text);
    size_t at = 0, n = words->text.len;
    do {
        const char *newline = memchr(s + at, '\n', n - at);
        size_t line = newline ? (size_t)(newline - s) - at : n - at;
        size_t fit = line ? layout_wrap(s + at, line, markdown_room(l)) : 0;
        markdown_row(l, words, at, at + fit);
        at += fit;
        at += at < n && fit == line; // the newline
        while (fit < line && at < n && s[at] == ' ')
            at++;
    } while (at < n);
}

static void end_paragraph(struct layout *l, style base)
{
    if (!l->words.len)
        return;
    struct styled words = {0};
    styled_markdown(&words, l->words.data, l->words.len, base);
    gap(l);
    wrap(l, &words);
    styled_done(&words);
    buf_clear(&l->words);
}

static style paragraph_look(const struct layout *l)
{
    return l->quotes ? (style){.attrs = ATTR_ITALIC} : (style){0};
}

void markdown_end_paragraph(struct layout *l)
{
    end_paragraph(l, paragraph_look(l));
}

static void heading(struct layout *l, const char *s, size_t n, size_t level)
{
    static const uint32_t attrs[] = {ATTR_BOLD | ATTR_UNDERLINE, ATTR_BOLD, ATTR_BOLD | ATTR_ITALIC,
        ATTR_ITALIC, ATTR_ITALIC, ATTR_ITALIC};
    style look = {.fg = syntax_style(CLASS_HEADING).fg, .attrs = attrs[level - 1]};
    l->gap_due = l->gap_due || l->out->n > 0;
    buf_clear(&l->words);
    buf_add(&l->words, s, n);
    buf_str(&l->words, n ? "" : " ");
    end_paragraph(l, look);
    l->gap_due = true;
}

static size_t run_of(const char *s, size_t n, char c)
{
    size_t k = 0;
    while (k < n && s[k] == c)
        k++;
    return k;
}

static bool atx(struct layout *l, const char *s, size_t n)
{
    size_t level = run_of(s, n, '#');
    if (level < 1 || level > 6 || (level < n && s[level] != ' '))
        return false;
    markdown_end_paragraph(l);
    s += level, n -= level;
    while (n && s[0] == ' ')
        s++, n--;
    size_t end = n;
    while (end && s[end - 1] == '#')
        end--;
    if (end < n && (!end || s[end - 1] == ' ')) // "# Title #"
        n = end;
    heading(l, s, n, level);
    return true;
}

// "---" or "* * *"; and the line under a heading.
static bool is_rule(const char *s, size_t n, const char *marks, size_t least)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] != s[0] && s[i] != ' ')
            return false;
        count += s[i] == s[0];
    }
    return n && strchr(marks, s[0]) && count >= least;
}

static bool setext(struct layout *l, const char *s, size_t n)
{
    bool under =
        l->words.len && !memchr(s, ' ', n) && is_rule(s, n, "=-", 1) && (s[0] == '=' || n >= 2);
    if (!under)
        return false;
    AUTO_BUF title = {0};
    buf_add(&title, l->words.data, l->words.len);
    buf_clear(&l->words);
    heading(l, title.data, title.len, s[0] == '=' ? 1 : 2);
    return true;
}

static bool rule(struct layout *l, const char *s, size_t n)
{
    if (!is_rule(s, n, "-*_", 3))
        return false;
    markdown_end_paragraph(l);
    struct styled line = {0};
    for (int i = markdown_room(l); i > 0; i--)
        styled_add(&line, l->ascii ? "-" : "─", l->ascii ? 1 : 3, dim);
    gap(l);
    markdown_row(l, &line, 0, line.text.len);
    styled_done(&line);
    return true;
}

static bool fence(struct layout *l, const char *s, size_t n, size_t indent)
{
    size_t marks = n ? run_of(s, n, s[0]) : 0;
    if (marks < 3 || (s[0] != '`' && s[0] != '~') ||
        (s[0] == '`' && memchr(s + marks, '`', n - marks)))
        return false;
    markdown_end_paragraph(l);
    const char *word = s + marks;
    size_t rest = n - marks, length = 0;
    while (rest && *word == ' ')
        word++, rest--;
    while (length < rest && !isspace((unsigned char)word[length]) && word[length] != '{')
        length++;
    AUTO_FREE char *name = mem_strndup(word, length);
    l->fence = (struct fence){.mark = s[0], .n = marks, .indent = indent};
    l->fence.language = syntax_by_name(name);
    gap(l);
    return true;
}

static void code_line(struct layout *l, const char *s, size_t n)
{
    struct styled line = {0};
    struct span spans[SYNTAX_SPANS];
    size_t count, at = 0;
    bool plain = l->fence.language == SYNTAX_PLAIN || l->fence.language == SYNTAX_MARKDOWN;
    l->fence.state = syntax_line(l->fence.language, l->fence.state, s, n, spans, &count);
    styled_add(&line, "  ", 2, (style){0});
    for (size_t i = 0; i < count && !plain; at = spans[i++].to) {
        styled_add(&line, s + at, spans[i].from - at, (style){0});
        styled_add(
            &line, s + spans[i].from, spans[i].to - spans[i].from, syntax_style(spans[i].class));
    }
    styled_add(&line, s + at, n - at, plain ? syntax_style(CLASS_CODE) : (style){0});
    markdown_row(l, &line, 0, line.text.len);
    styled_done(&line);
}

static void in_fence(struct layout *l, const char *s, size_t n)
{
    size_t blanks = run_of(s, n, ' ');
    size_t marks = run_of(s + blanks, n - blanks, l->fence.mark);
    if (blanks < l->fence.indent + 4 && marks >= l->fence.n && blanks + marks == n) {
        l->fence.n = 0;
        l->gap_due = true;
        return;
    }
    size_t skip = blanks < l->fence.indent ? blanks : l->fence.indent;
    code_line(l, s + skip, n - skip);
}

// "- ", "12. ": the bytes of a list's mark with one blank, 0 when there is none.
static size_t item_mark(const char *s, size_t n)
{
    size_t digits = 0;
    while (digits < n && digits < 9 && isdigit((unsigned char)s[digits]))
        digits++;
    size_t mark = digits && digits < n && (s[digits] == '.' || s[digits] == ')') ? digits + 1
                  : n && !digits && strchr("-*+", s[0]) && s[0]                  ? 1
                                                                                 : 0;
    return mark && (mark == n || s[mark] == ' ') ? mark + (mark < n) : 0;
}

static void push_item(struct layout *l, const char *s, size_t mark, size_t indent)
{
    static const char *const bullets[] = {"• ", "◦ ", "▪ "};
    struct item *it = &l->items[l->depth];
    *it = (struct item){.indent = indent, .content = indent + mark};
    if (isdigit((unsigned char)s[0]))
        memcpy(it->mark, s, mark < sizeof it->mark ? mark : sizeof it->mark - 1);
    else
        strcpy(it->mark, l->ascii ? "- " : bullets[l->depth % 3]);
    it->width = text_width(it->mark, strlen(it->mark), 0);
    l->depth++;
    l->mark_due = true;
}

// Items whose text stands further to the right than this line are over.
void markdown_leave_items(struct layout *l, size_t indent)
{
    for (; l->depth && l->items[l->depth - 1].content > indent; l->depth--)
        l->mark_due = false;
}

// An item without a text is a row all the same.
static void end_item(struct layout *l)
{
    struct styled none = {0};
    if (l->mark_due)
        markdown_row(l, &none, 0, 0);
}

// A paragraph goes on without its indentation ("lazily"); everything else is where it stands.
static bool item(struct layout *l, const char **s, size_t *n, size_t *indent)
{
    size_t mark = item_mark(*s, *n);
    if (!mark || is_rule(*s, *n, "-*_", 3))
        return false;
    markdown_end_paragraph(l);
    end_item(l);
    markdown_leave_items(l, *indent);
    if (l->depth == MARKDOWN_DEPTH)
        l->depth--;
    push_item(l, *s, mark, *indent);
    *s += mark;
    *n -= mark;
    *indent += mark;
    return true;
}

static void add_words(struct layout *l, const char *s, size_t n)
{
    bool hard = n && s[n - 1] == '\\', blanks = n > 2 && s[n - 1] == ' ' && s[n - 2] == ' ';
    n -= hard;
    while (n && s[n - 1] == ' ')
        n--;
    if (l->words.len && l->words.data[l->words.len - 1] != '\n')
        buf_char(&l->words, ' ');
    for (size_t i = 0; i < n; i++)
        buf_char(&l->words, s[i] == '\t' ? ' ' : s[i]);
    if (hard || blanks)
        buf_char(&l->words, '\n');
}

static size_t skip_blanks(const char **s, size_t *n, size_t most)
{
    size_t k = run_of(*s, *n < most ? *n : most, ' ');
    *s += k;
    *n -= k;
    return k;
}

static void blank(struct layout *l)
{
    markdown_end_paragraph(l);
    l->gap_due = true;
    l->after_blank = true;
}

static int quote_marks(const char **s, size_t *n)
{
    int quotes = 0;
    for (;;) {
        size_t blanks = run_of(*s, *n, ' ');
        if (blanks > 3 || blanks == *n || (*s)[blanks] != '>' || quotes == MARKDOWN_DEPTH)
            return quotes;
        *s += blanks + 1;
        *n -= blanks + 1;
        if (*n && **s == ' ')
            (*s)++, (*n)--;
        quotes++;
    }
}

static void line(struct layout *l, const char *s, size_t n)
{
    int quotes = l->fence.n && !l->quotes ? 0 : quote_marks(&s, &n);
    if (l->fence.n && quotes >= l->quotes) {
        in_fence(l, s, n);
        return;
    }
    l->fence.n = 0;
    bool lazy = l->words.len && quotes == 0 && l->quotes;
    size_t indent = skip_blanks(&s, &n, n);
    if (quotes != l->quotes && (!lazy || !n)) {
        markdown_end_paragraph(l);
        l->depth = 0;
        l->quotes = quotes;
    }
    if (!n) {
        blank(l);
        return;
    }
    if (l->after_blank)
        markdown_leave_items(l, indent);
    l->after_blank = false;
    while (item(l, &s, &n, &indent))
        indent += skip_blanks(&s, &n, 4);
    size_t from = l->depth ? l->items[l->depth - 1].content : 0;
    if (!l->words.len && indent >= from + 4 && !l->mark_due) {
        gap(l);
        l->fence.language = SYNTAX_PLAIN;
        l->fence.state = 0;
        code_line(l, s - (indent - from - 4), n + (indent - from - 4));
        return;
    }
    if (!n || setext(l, s, n) || atx(l, s, n) || fence(l, s, n, indent) || rule(l, s, n))
        return;
    if (!l->words.len)
        markdown_leave_items(l, indent);
    add_words(l, s, n);
}

// Tabs at the start of a line become blanks, up to stops of 4.
static void expand(const char *s, size_t n, buf *out)
{
    size_t i = 0;
    buf_clear(out);
    n -= n && s[n - 1] == '\r';
    for (; i < n && (s[i] == ' ' || s[i] == '\t'); i++)
        do
            buf_char(out, ' ');
        while (s[i] == '\t' && out->len % 4);
    buf_add(out, s + i, n - i);
}

markdown *markdown_new(const char *s, size_t n, int width, bool ascii)
{
    markdown *m = mem_alloc(sizeof *m);
    struct layout l = {.out = m, .width = width < 1 ? 1 : width, .ascii = ascii};
    AUTO_BUF words = {0};
    for (size_t at = 0; at < n; l.next++) {
        const char *newline = memchr(s + at, '\n', n - at);
        size_t end = newline ? (size_t)(newline - s) : n;
        if (!l.words.len)
            l.source = l.next;
        size_t rows = l.fence.n ? 0 : markdown_table(&l, s + at, n - at);
        if (rows) {
            for (; rows > 0 && at < n; rows--, l.next++) {
                newline = memchr(s + at, '\n', n - at);
                at = newline ? (size_t)(newline - s) + 1 : n;
            }
            l.next--;
            continue;
        }
        expand(s + at, end - at, &words);
        line(&l, buf_cstr(&words), words.len);
        at = end + 1;
    }
    markdown_end_paragraph(&l);
    end_item(&l);
    buf_done(&l.words);
    styled_done(&l.row);
    return m;
}

void markdown_free(markdown *m)
{
    if (!m)
        return;
    buf_done(&m->text);
    free(m->spans);
    free(m->rows);
    free(m);
}

size_t markdown_lines(const markdown *m)
{
    return m->n;
}

struct ansi_line markdown_line(const markdown *m, size_t i)
{
    const struct row *r = &m->rows[i];
    const struct ansi_span *spans = m->spans ? m->spans + r->span : NULL;
    return (struct ansi_line){buf_cstr(&m->text) + r->from, r->n, spans, r->n_spans};
}

size_t markdown_source(const markdown *m, size_t i)
{
    return i < m->n ? m->rows[i].source : 0;
}
