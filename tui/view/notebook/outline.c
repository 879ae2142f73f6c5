// SPDX-License-Identifier: MIT
#include "tui/view/notebook/outline.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/questions.h"
#include "tui/view/cell/cellview.h"
#include "tui/view/find/section.h"

#include <string.h>

// What is the matter with a cell, the worst last.
// X(symbol, mark, mark in ASCII, word, look)
#define STATES(X)                                                                                  \
    X(NONE, "", "", "", ((style){0}))                                                              \
    X(STALE, "~", "~", "stale", LOOK_WARN)                                                         \
    X(LIVE, "●", "o", "live", LOOK_ACCENT)                                                         \
    X(WAITS, "·", ".", "waits", LOOK_DIM)                                                          \
    X(RUNS, "*", "*", "runs running", style_over(LOOK_WARN, LOOK_BOLD))                            \
    X(FAILED, "✗", "x", "failed", LOOK_ERROR)                                                      \
    X(ASKS, "?", "?", "asks", style_over(LOOK_WARN, LOOK_BOLD))

enum state {
#define X(symbol, mark, ascii, word, look) STATE_OF_##symbol,
    STATES(X)
#undef X
};
static const struct {
    const char *mark, *ascii, *word;
} states[] = {
#define X(symbol, mark, ascii, word, look) {mark, ascii, word},
    STATES(X)
#undef X
};

static style look_of(enum state s)
{
    switch (s) {
#define X(symbol, mark, ascii, word, look)                                                         \
    case STATE_OF_##symbol:                                                                        \
        return look;
        STATES(X)
#undef X
    }
    return (style){0};
}

static bool is_live(const struct run_cell *r)
{
    for (size_t i = 0; i < r->n_outputs; i++)
        if (r->outputs[i].live)
            return true;
    return false;
}

static enum state state_of(bench *b, size_t i)
{
    const struct run_cell *r = slot_run(b, i);
    if (slot_cell(b, i)->kind != CELL_CODE)
        return STATE_OF_NONE;
    if (r && r->state == STATE_RUNNING)
        return question_of_cell(b, slot_id(slot_at(b, i))) ? STATE_OF_ASKS : STATE_OF_RUNS;
    if (r && r->state == STATE_QUEUED)
        return STATE_OF_WAITS;
    if (r && r->state == STATE_FAILED)
        return STATE_OF_FAILED;
    if (r && is_live(r))
        return STATE_OF_LIVE;
    return slot_stale(b, i) ? STATE_OF_STALE : STATE_OF_NONE;
}

static enum state worst_in(bench *b, size_t from, size_t to)
{
    enum state worst = STATE_OF_NONE;
    for (size_t i = from; i < to; i++) {
        enum state s = state_of(b, i);
        worst = s > worst ? s : worst;
    }
    return worst;
}

struct building {
    bench *b;
    struct outline *out;
    const struct pattern *filter;
    size_t cell;
    int level; // of the last heading
    bool all;  // also cells without a title
};

static void add_row(struct building *m, struct outline_row row)
{
    AUTO_BUF words = {0};
    struct outline *o = m->out;
    buf_fmt(&words, "%s %s", row.words, states[row.state].word);
    if (slot_head(m->b, row.cell) != HEAD_SAME)
        buf_str(&words, " changed");
    o->all++;
    if (!pattern_passes(m->filter, buf_cstr(&words), words.len)) {
        free(row.words);
        return;
    }
    o->rows = mem_resize(o->rows, o->n + 1, sizeof *o->rows);
    o->rows[o->n++] = row;
}

static bool add_heading(void *arg, const struct heading *h)
{
    struct building *m = arg;
    bool begins = section_level(m->b, m->cell) == h->level;
    size_t end = begins && section_hides(m->b, m->cell) ? section_end(m->b, m->cell) : 0;
    m->level = h->level;
    add_row(m, (struct outline_row){.cell = m->cell,
                   .line = h->line,
                   .level = h->level,
                   .indent = h->level - 1,
                   .state = end ? worst_in(m->b, m->cell, end) : STATE_OF_NONE,
                   .words = mem_strndup(h->words, h->n)});
    return true;
}

// The first line with a word in it.
static char *first_words(bench *b, size_t i)
{
    const text *t = edit_text(slot_edit(slot_at(b, i)));
    for (size_t line = 0; line < text_lines(t); line++) {
        size_t n;
        const char *words = text_line(t, line, &n), *from = words + strspn(words, " \t");
        if (*from)
            return mem_strndup(from, n - (size_t)(from - words));
    }
    return mem_strdup("");
}

static void add_cell(struct building *m, size_t i)
{
    const cell *c = slot_cell(m->b, i);
    m->cell = i;
    if (c->kind == CELL_MARKDOWN) {
        section_headings(edit_text(slot_edit(slot_at(m->b, i))), add_heading, m);
        return;
    }
    enum state s = state_of(m->b, i);
    const char *title = c->title ? c->title : cell_has_tag(c, "parameters") ? "Parameters" : NULL;
    if (title || m->all || s != STATE_OF_NONE || slot_head(m->b, i) != HEAD_SAME)
        add_row(m, (struct outline_row){.cell = i,
                       .indent = m->level,
                       .plain = !title,
                       .state = s,
                       .words = title ? mem_strdup(title) : first_words(m->b, i)});
}

static bool has_titles(bench *b)
{
    for (size_t i = 0; i < slot_count(b); i++)
        if (section_level(b, i) || slot_cell(b, i)->title)
            return true;
    return false;
}

void outline_build(bench *b, const struct pattern *filter, struct outline *out)
{
    struct building m = {.b = b, .out = out, .filter = filter, .all = !has_titles(b)};
    outline_done(out);
    for (size_t i = 0; i < slot_count(b); i++)
        add_cell(&m, i);
}

void outline_done(struct outline *o)
{
    for (size_t i = 0; i < o->n; i++)
        free(o->rows[i].words);
    free(o->rows);
    *o = (struct outline){0};
}

size_t outline_row_of(const struct outline *o, size_t i)
{
    size_t row = 0;
    while (row + 1 < o->n && o->rows[row + 1].cell <= i)
        row++;
    return row;
}

static void draw_row(const struct outline_row *r, bench *b, grid *g, rect row)
{
    enum { INDENT_MOST = 5 };
    enum head_state head = slot_head(b, r->cell);
    char letter[2] = {slot_letter(b, r->cell), '\0'};
    AUTO_BUF right = {0};
    const char *mark = bench_ascii(b) ? states[r->state].ascii : states[r->state].mark;
    if (head != HEAD_SAME && !r->level)
        buf_fmt(&right, " %s", head_mark(b, head));
    if (*letter)
        buf_fmt(&right, " '%s", letter);
    if (r->level && section_hides(b, r->cell))
        buf_fmt(&right, " %s%zu", bench_ascii(b) ? "+" : "▸", section_hides(b, r->cell));
    int wide = text_width(buf_cstr(&right), right.len, 0);
    int indent = 2 * (r->indent < INDENT_MOST ? r->indent : INDENT_MOST);
    grid_put(g, row, row.x + 1, row.y, mark, strlen(mark), look_of(r->state));
    grid_put_short(g, row, row.x + 3 + indent, row.y, row.w - 4 - indent - wide, r->words,
        strlen(r->words),
        r->level   ? LOOK_BOLD
        : r->plain ? LOOK_DIM
                   : (style){0});
    grid_put(g, row, row.x + row.w - wide - 1, row.y, buf_cstr(&right), right.len, LOOK_DIM);
}

void outline_draw(
    const struct outline *o, bench *b, grid *g, rect area, size_t top, size_t at, bool cursor)
{
    for (size_t i = top; i < o->n && i - top < (size_t)area.h; i++) {
        rect row = {area.x, area.y + (int)(i - top), area.w, 1};
        draw_row(&o->rows[i], b, g, row);
        if (i == at && cursor) {
            grid_restyle(g, row, LOOK_SELECTED);
            grid_park_cursor(g, row.x, row.y);
        } else if (i == at) {
            grid_print(g, row, row.x, row.y, LOOK_ACCENT, "▌");
        }
    }
}

rect outline_pane(rect area)
{
    enum { FROM = 110, BROAD = 160, LEAST = 34, MOST = 46 };
    int w = area.w < FROM ? 0 : area.w < BROAD ? LEAST : MOST;
    return (rect){area.x + area.w - w, area.y, w, area.h};
}
