// SPDX-License-Identifier: MIT
// Markdown as md4c parses it: blocks and spans come as calls, from the outside in, and become rows.
// md4c reports no line numbers; they follow from where its texts are in the source.
#include "tui/syntax/markdown_layout.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/markdown.h"
#include "base/text/utf8.h"
#include "tui/grid/layout.h"
#include "tui/syntax/markdown_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const style dim = {.attrs = ATTR_DIM};

static size_t level_count(const struct layout *l)
{
    return l->depth < MARKDOWN_DEPTH ? l->depth : MARKDOWN_DEPTH;
}

// The bars of quotes, and the blanks below a list's marks. The first row of an item has its mark.
static void put_prefix(struct layout *l)
{
    for (size_t i = 0; i < level_count(l); i++) {
        struct level *level = &l->levels[i];
        size_t n = level->mark_due ? strlen(level->mark) : 0;
        if (level->quote) {
            styled_add(&l->row, l->ascii ? "| " : "│ ", l->ascii ? 2 : 4, dim);
            continue;
        }
        styled_add(&l->row, level->mark, n, syntax_style(CLASS_LIST));
        for (int k = text_width(level->mark, n, 0); k < level->width; k++)
            styled_add(&l->row, " ", 1, (style){0});
        level->mark_due = false;
    }
}

int markdown_room(const struct layout *l)
{
    int w = l->width, least = l->width < 8 ? l->width : 8;
    for (size_t i = 0; i < level_count(l); i++)
        w -= l->levels[i].width;
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

// One empty row between blocks, none at the start. It takes no mark.
static void markdown_begin(struct layout *l)
{
    struct styled none = {0};
    bool due[MARKDOWN_DEPTH];
    for (size_t i = 0; i < level_count(l); i++) {
        due[i] = l->levels[i].mark_due;
        l->levels[i].mark_due = false;
    }
    if (l->gap_due && l->out->n > 0)
        markdown_row(l, &none, 0, 0);
    for (size_t i = 0; i < level_count(l); i++)
        l->levels[i].mark_due = due[i];
    l->gap_due = false;
}

static bool is_inside(const struct layout *l, const char *text)
{
    return text >= l->s && text < l->end;
}

// Is there an empty line, or one with only marks of quotes, between two places?
static bool is_blank_between(const char *from, const char *to)
{
    bool blank = false;
    for (; from < to; from++) {
        if (*from == '\n' && blank)
            return true;
        blank = *from == '\n' || (blank && strchr(" \t\r>", *from));
    }
    return false;
}

static void count_to(struct layout *l, const char *place)
{
    for (; l->counted < place; l->counted++)
        l->line_no += *l->counted == '\n';
}

// A block begins where its first text is.
static void locate(struct layout *l, const char *text, bool first)
{
    if (!is_inside(l, text))
        return;
    if (first && l->last && is_blank_between(l->last, text))
        l->gap_due = true;
    count_to(l, text);
    if (first)
        l->source = l->line_no > l->source ? l->line_no : l->source;
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

static void end_words(struct layout *l, bool even_empty)
{
    if (!l->words.text.len && !even_empty)
        return;
    markdown_begin(l);
    wrap(l, &l->words);
    styled_clear(&l->words);
}

static bool in_quote(const struct layout *l)
{
    for (size_t i = 0; i < level_count(l); i++)
        if (l->levels[i].quote)
            return true;
    return false;
}

static style paragraph_look(const struct layout *l)
{
    return in_quote(l) ? (style){.attrs = ATTR_ITALIC} : (style){0};
}

static style heading_look(unsigned level)
{
    static const uint32_t attrs[] = {ATTR_BOLD | ATTR_UNDERLINE, ATTR_BOLD, ATTR_BOLD | ATTR_ITALIC,
        ATTR_ITALIC, ATTR_ITALIC, ATTR_ITALIC};
    return (style){.fg = syntax_style(CLASS_HEADING).fg, .attrs = attrs[level - 1]};
}

static void push_level(struct layout *l, struct level level)
{
    end_words(l, false);
    if (l->depth < MARKDOWN_DEPTH)
        l->levels[l->depth] = level;
    l->depth++;
}

static void push_item(struct layout *l, const MD_BLOCK_LI_DETAIL *detail)
{
    static const char *const bullets[] = {"• ", "◦ ", "▪ "};
    struct level it = {.mark_due = true};
    size_t list = l->lists < MARKDOWN_DEPTH ? l->lists : MARKDOWN_DEPTH;
    unsigned *number = list ? &l->numbers[list - 1] : NULL;
    if (detail->is_task)
        strcpy(it.mark, detail->task_mark == ' ' ? "[ ] " : "[x] ");
    else if (number && *number)
        snprintf(it.mark, sizeof it.mark, "%u%c ", *number - 1, l->delimiter[list - 1]);
    else
        strcpy(it.mark, l->ascii ? "- " : bullets[(list ? list - 1 : 0) % 3]);
    if (number && *number)
        ++*number;
    it.width = text_width(it.mark, strlen(it.mark), 0);
    push_level(l, it);
}

// An item without a text still makes a row.
static void pop_level(struct layout *l)
{
    struct styled none = {0};
    end_words(l, false);
    if (l->depth <= MARKDOWN_DEPTH && l->levels[l->depth - 1].mark_due)
        markdown_row(l, &none, 0, 0);
    l->depth--;
}

static void open_list(struct layout *l, unsigned number, char delimiter)
{
    end_words(l, false);
    if (l->lists < MARKDOWN_DEPTH) {
        l->numbers[l->lists] = number;
        l->delimiter[l->lists] = delimiter;
    }
    l->lists++;
}

static void open_code(struct layout *l, const MD_BLOCK_CODE_DETAIL *detail)
{
    size_t n = 0;
    end_words(l, false);
    while (n < detail->lang.size && detail->lang.text[n] != '{')
        n++;
    AUTO_FREE char *name = mem_strndup(detail->lang.text ? detail->lang.text : "", n);
    l->language = syntax_by_name(name);
    l->state = 0;
    l->in_code = true;
    l->code_rows = 0;
}

// Tabs at the start of a line become blanks, up to stops of 4.
static void expand(const char *s, size_t n, buf *out)
{
    size_t i = 0;
    for (; i < n && (s[i] == ' ' || s[i] == '\t'); i++)
        do
            buf_char(out, ' ');
        while (s[i] == '\t' && out->len % 4);
    buf_add(out, s + i, n - i);
}

static void code_line(struct layout *l)
{
    struct styled line = {0};
    struct span spans[SYNTAX_SPANS];
    size_t count, at = 0;
    bool plain = l->language == SYNTAX_PLAIN || l->language == SYNTAX_MARKDOWN;
    AUTO_BUF words = {0};
    expand(buf_cstr(&l->line), l->line.len, &words);
    const char *s = buf_cstr(&words);
    l->state = syntax_line(l->language, l->state, s, words.len, spans, &count);
    styled_add(&line, "  ", 2, (style){0});
    for (size_t i = 0; i < count && !plain; at = spans[i++].to) {
        styled_add(&line, s + at, spans[i].from - at, (style){0});
        styled_add(
            &line, s + spans[i].from, spans[i].to - spans[i].from, syntax_style(spans[i].class));
    }
    styled_add(&line, s + at, words.len - at, plain ? syntax_style(CLASS_CODE) : (style){0});
    markdown_begin(l);
    markdown_row(l, &line, 0, line.text.len);
    styled_done(&line);
    buf_clear(&l->line);
    l->code_rows++;
}

static void code_text(struct layout *l, const char *text, size_t n)
{
    if (is_inside(l, text)) {
        locate(l, text, l->line.len == 0);
        l->gap_due = l->gap_due && l->code_rows == 0; // an empty line in it does not separate
                                                      // blocks
        l->last = text + n;
    }
    if (n == 1 && *text == '\n') {
        code_line(l);
        l->source++;
    } else {
        buf_add(&l->line, text, n);
    }
}

static void close_code(struct layout *l)
{
    if (l->line.len)
        code_line(l);
    l->source -= l->source > 0 && l->code_rows > 0;
    l->in_code = false;
    l->gap_due = true;
}

// md4c does not report where a rule is: it is in the next line that has only the marks of one.
static const char *find_rule(const struct layout *l)
{
    const char *line = l->last ? l->last : l->s;
    for (; line < l->end; line++) {
        const char *end = memchr(line, '\n', (size_t)(l->end - line));
        end = end ? end : l->end;
        const char *mark = end;
        size_t marks = 0;
        for (const char *p = end; p > line && strchr(" \t\r-*_", p[-1]); p--)
            if (strchr("-*_", p[-1]) && (!marks || p[-1] == *mark))
                mark = p - 1, marks++;
        if (marks >= 3)
            return mark;
        line = end;
    }
    return NULL;
}

static void rule(struct layout *l)
{
    struct styled line = {0};
    end_words(l, false);
    const char *at = find_rule(l);
    if (at) {
        locate(l, at, true);
        l->last = memchr(at, '\n', (size_t)(l->end - at));
        l->last = l->last ? l->last : l->end;
    }
    for (int i = markdown_room(l); i > 0; i--)
        styled_add(&line, l->ascii ? "-" : "─", l->ascii ? 1 : 3, dim);
    markdown_begin(l);
    markdown_row(l, &line, 0, line.text.len);
    styled_done(&line);
}

static void open_table(struct layout *l, const MD_BLOCK_TABLE_DETAIL *detail)
{
    end_words(l, false);
    l->table = (struct markdown_table){
        .columns = detail->col_count < MARKDOWN_COLUMNS ? detail->col_count : MARKDOWN_COLUMNS};
}

static void open_row(struct layout *l)
{
    struct markdown_table *t = &l->table;
    t->cells = mem_resize(t->cells, (t->rows + 1) * t->columns + 1, sizeof *t->cells);
    for (size_t i = 0; i < t->columns; i++)
        t->cells[t->rows * t->columns + i] = (struct styled){0};
    t->sources = mem_resize(t->sources, t->rows + 1, sizeof *t->sources);
    t->sources[t->rows] = t->rows ? t->sources[t->rows - 1] + (t->rows == 1 ? 2 : 1) : l->source;
    t->rows++;
    t->at = 0;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct layout *l = arg;
    l->base = paragraph_look(l);
    switch (type) {
    case MD_BLOCK_QUOTE:
        push_level(l, (struct level){.quote = true, .width = 2});
        break;
    case MD_BLOCK_UL:
        open_list(l, 0, 0);
        break;
    case MD_BLOCK_OL:
        open_list(l, ((MD_BLOCK_OL_DETAIL *)detail)->start + 1,
            ((MD_BLOCK_OL_DETAIL *)detail)->mark_delimiter);
        break;
    case MD_BLOCK_LI:
        push_item(l, detail);
        break;
    case MD_BLOCK_HR:
        rule(l);
        break;
    case MD_BLOCK_H:
        end_words(l, false);
        l->gap_due = true;
        l->base = heading_look(((MD_BLOCK_H_DETAIL *)detail)->level);
        break;
    case MD_BLOCK_CODE:
        open_code(l, detail);
        break;
    case MD_BLOCK_TABLE:
        open_table(l, detail);
        break;
    case MD_BLOCK_TR:
        open_row(l);
        break;
    case MD_BLOCK_TH:
        l->base = (style){.attrs = ATTR_BOLD};
        break;
    case MD_BLOCK_P:
    case MD_BLOCK_HTML:
        end_words(l, false);
        break;
    default:
        break;
    }
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct layout *l = arg;
    switch (type) {
    case MD_BLOCK_QUOTE:
    case MD_BLOCK_LI:
        pop_level(l);
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        l->lists--;
        break;
    case MD_BLOCK_H:
        end_words(l, true);
        l->gap_due = true;
        break;
    case MD_BLOCK_CODE:
        close_code(l);
        break;
    case MD_BLOCK_TABLE:
        markdown_begin(l);
        markdown_table_end(l);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        markdown_entry(l, ((MD_BLOCK_TD_DETAIL *)detail)->align);
        break;
    case MD_BLOCK_P:
    case MD_BLOCK_HTML:
        end_words(l, false);
        break;
    default:
        break;
    }
    return 0;
}

static char *attribute_text(const MD_ATTRIBUTE *a)
{
    return mem_strndup(a->text ? a->text : "", a->size);
}

static void close_link(struct layout *l)
{
    AUTO_FREE char *target = STEAL(l->target);
    const char *words = buf_cstr(&l->words.text) +
                        (l->link_from < l->words.text.len ? l->link_from : l->words.text.len);
    l->link--;
    if (!target || !*target || str_eq(words, target)) // <https://…> shows its target already
        return;
    style look = style_over(l->base, dim);
    styled_add(&l->words, " (", 2, look);
    styled_add(&l->words, target, strlen(target), look);
    styled_add(&l->words, ")", 1, look);
}

// For a link in a link (an image that is a link) the outer target is shown.
static void open_link(struct layout *l, const MD_ATTRIBUTE *target)
{
    if (l->link++ == 0) {
        free(l->target);
        l->target = attribute_text(target);
        l->link_from = l->words.text.len;
    }
}

static style words_look(const struct layout *l)
{
    style look = l->base;
    if (l->em)
        look = style_over(look, syntax_style(CLASS_EMPHASIS));
    if (l->strong)
        look = style_over(look, syntax_style(CLASS_STRONG));
    if (l->strike)
        look = style_over(look, (style){.attrs = ATTR_STRIKE | ATTR_DIM});
    if (l->link)
        look = style_over(look, syntax_style(CLASS_LINK));
    return l->code ? style_over(look, syntax_style(CLASS_CODE)) : look;
}

// A formula stays as it was written.
static void add_dollars(struct layout *l, MD_SPANTYPE type)
{
    if (type == MD_SPAN_LATEXMATH || type == MD_SPAN_LATEXMATH_DISPLAY)
        styled_add(&l->words, "$$", type == MD_SPAN_LATEXMATH ? 1 : 2, words_look(l));
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct layout *l = arg;
    l->em += type == MD_SPAN_EM;
    l->strong += type == MD_SPAN_STRONG;
    l->strike += type == MD_SPAN_DEL;
    l->code += type == MD_SPAN_CODE;
    add_dollars(l, type);
    if (type == MD_SPAN_A)
        open_link(l, &((MD_SPAN_A_DETAIL *)detail)->href);
    else if (type == MD_SPAN_IMG)
        open_link(l, &((MD_SPAN_IMG_DETAIL *)detail)->src);
    return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct layout *l = arg;
    l->em -= type == MD_SPAN_EM;
    l->strong -= type == MD_SPAN_STRONG;
    l->strike -= type == MD_SPAN_DEL;
    l->code -= type == MD_SPAN_CODE;
    add_dollars(l, type);
    if ((type == MD_SPAN_A || type == MD_SPAN_IMG) && l->link == 1)
        close_link(l);
    else if (type == MD_SPAN_A || type == MD_SPAN_IMG)
        l->link--;
    return 0;
}

static void add_words(struct layout *l, const char *text, size_t n)
{
    style look = words_look(l);
    for (size_t i = 0; i < n;) {
        size_t run = i;
        while (run < n && text[run] != '\t')
            run++;
        styled_add(&l->words, text + i, run - i, look);
        if (run < n)
            styled_add(&l->words, " ", 1, look);
        i = run + 1;
    }
}

// The common ones; others stay as they are.
static void add_entity(struct layout *l, const char *text, size_t n)
{
    static const char *const known[][2] = {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"},
        {"&quot;", "\""}, {"&apos;", "'"}, {"&nbsp;", " "}, {"&ndash;", "–"}, {"&mdash;", "—"},
        {"&hellip;", "…"}, {"&copy;", "©"}, {"&times;", "×"}, {"&rarr;", "→"}, {"&larr;", "←"}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strlen(known[i][0]) == n && strncmp(known[i][0], text, n) == 0 &&
            (!l->ascii || (known[i][1][0] & 0x80) == 0)) {
            add_words(l, known[i][1], strlen(known[i][1]));
            return;
        }
    add_words(l, text, n);
}

static int add_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE n, void *arg)
{
    struct layout *l = arg;
    if (l->in_code) {
        code_text(l, text, n);
        return 0;
    }
    bool first = l->words.text.len == 0;
    if (l->table.rows && is_inside(l, text)) {
        count_to(l, text);
        first = l->table.rows == 1 && l->table.at == 0 && first;
        l->table.sources[l->table.rows - 1] = l->line_no;
    }
    locate(l, text, first);
    if (is_inside(l, text))
        l->last = text + n;
    if (type == MD_TEXT_BR || (type == MD_TEXT_HTML && n == 1 && *text == '\n'))
        styled_add(&l->words, "\n", 1, words_look(l));
    else if (type == MD_TEXT_SOFTBR)
        styled_add(&l->words, " ", 1, words_look(l));
    else if (type == MD_TEXT_ENTITY)
        add_entity(l, text, n);
    else if (type == MD_TEXT_NULLCHAR)
        add_words(l, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
    else
        add_words(l, text, n);
    return 0;
}

markdown *markdown_new(const char *source, size_t source_n, int width, bool ascii)
{
    AUTO_FREE char *s = markdown_plain(source, source_n);
    size_t n = strlen(s);
    markdown *m = mem_alloc(sizeof *m);
    struct layout l = {.out = m, .s = s, .end = s + n, .counted = s, .ascii = ascii};
    MD_PARSER parser = {.flags = MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_LATEXMATHSPANS,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = add_text};
    l.width = width < 1 ? 1 : width;
    parser.flags |= markdown_has_many_bars(s, n) ? 0 : MD_FLAG_TABLES;
    if (md_parse(s, (MD_SIZE)n, &parser, &l) != 0)
        mem_out(n); // nothing else fails
    styled_done(&l.words);
    styled_done(&l.row);
    buf_done(&l.line);
    free(l.target);
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
