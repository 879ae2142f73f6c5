// SPDX-License-Identifier: MIT
// The search among cells: what is typed after "/" is looked for as it is typed, from where the
// person is; Enter goes there, Esc goes back to what was on the screen. While a cell is edited it
// looks into sources alone, since going elsewhere would end that.
#include "base/mem.h"
#include "base/str.h"
#include "tui/view/notebook/notebook.h"

#include <string.h>

// What was before the first typed character.
struct seeking {
    char *searched;
    bool marks;
    size_t top;
    int top_row;
    struct look look;
    char **folded; // ids of headings; NULL-terminated
};

static bool is_at(const struct look *look, const bench *b, size_t i)
{
    return look->id && str_eq(look->id, slot_id(slot_at(b, i)));
}

const struct place *notebook_looked_at(const struct notebook_view *v, size_t i)
{
    return is_at(&v->look, v->head.bench, i) ? &v->look.place : NULL;
}

void notebook_look_nowhere(struct notebook_view *v)
{
    free(STEAL(v->look.id));
}

// The row of the cell's drawn output that has this line; -1: it is above what is drawn. Where
// several lines are alike they are counted from the end, as the drawing has the end of a long one.
static int output_row(bench *b, size_t i, size_t line, int width)
{
    size_t n, alike = 0, lines = search_output_lines(b, i);
    AUTO_FREE char *words = mem_strdup(search_output_line(b, i, line, &n));
    const grid *out = output_grid(b, i, width);
    for (size_t other = line + 1; other < lines; other++) {
        size_t m;
        const char *what = search_output_line(b, i, other, &m);
        alike += m == n && memcmp(what, words, n) == 0;
    }
    for (int y = out ? grid_area(out).h : 0; y-- > 0;) {
        AUTO_BUF row = {0};
        grid_row_text(out, y, &row);
        AUTO_FREE char *shown = str_trim(buf_cstr(&row), row.len);
        bool same = *shown && (strstr(words, shown) || strstr(buf_cstr(&row), words));
        if (same && alike-- == 0)
            return y;
    }
    return -1;
}

// Where a place stands among the rows of its cell. false: its output is not drawn there.
static bool place_row(struct notebook_view *v, const struct place *p, int *row)
{
    bench *b = v->head.bench;
    int width = v->area.w;
    if (p->part == PART_TITLE)
        *row = 0;
    else if (p->part == PART_SOURCE)
        *row = cellview_source_row(b, p->cell, width, p->line);
    else
        *row = cellview_output_row(b, p->cell, width, 0);
    if (p->part != PART_OUTPUT || slot_drawing(slot_at(b, p->cell))->output_folded)
        return p->part != PART_OUTPUT;
    int at = output_row(b, p->cell, p->line, width - OUTPUT_INDENT);
    *row += at > 0 ? at : 0;
    return at >= 0;
}

// Shows it on the screen without selecting its cell. false: O alone shows it.
static bool look_at(struct notebook_view *v, const struct place *p)
{
    bench *b = v->head.bench;
    int row;
    notebook_look_nowhere(v);
    v->look.id = mem_strdup(slot_id(slot_at(b, p->cell)));
    v->look.place = *p;
    section_reveal(b, p->cell);
    if (p->part == PART_SOURCE)
        slot_drawing(slot_at(b, p->cell))->input_folded = false;
    if (p->part == PART_OUTPUT)
        slot_drawing(slot_at(b, p->cell))->output_folded = false;
    bool drawn = place_row(v, p, &row);
    v->keep = false;
    notebook_show(v, p->cell, row, 1);
    return drawn;
}

void notebook_look_at(
    struct notebook_view *v, size_t i, enum part part, size_t line, size_t from, size_t to)
{
    look_at(v, &(struct place){i, part, line, from, to});
}

// Where the search goes on from: the place that is looked at, or the cursor of the edited cell;
// else the cell, of which then the first place counts, too.
static struct place origin(const struct notebook_view *v, bool *itself)
{
    bench *b = v->head.bench;
    const struct look *look = v->seeking ? &v->seeking->look : &v->look;
    *itself = false;
    if (v->editing) {
        pos p = edit_cursor(slot_edit(slot_at(b, v->at))), from, to;
        if (edit_selection(slot_edit(slot_at(b, v->at)), &from, &to))
            p = from;
        return (struct place){v->at, PART_SOURCE, p.line, p.byte, p.byte};
    }
    if (slot_count(b) && is_at(look, b, v->at)) {
        struct place p = look->place;
        p.cell = v->at;
        return p;
    }
    *itself = true;
    return (struct place){.cell = v->at};
}

// The place that comes next; SIZE_MAX: there is none. *around: the search went around.
static size_t next_place(
    const struct notebook_view *v, const struct place_list *found, bool backwards, bool *around)
{
    bool itself;
    struct place from = origin(v, &itself);
    size_t after = 0, before;
    while (after < found->n && place_compare(&found->list[after], &from) < (itself ? 0 : 1))
        after++;
    for (before = after; before && place_compare(&found->list[before - 1], &from) >= 0;)
        before--;
    *around = backwards ? before == 0 : after == found->n;
    if (!found->n)
        return SIZE_MAX;
    if (backwards)
        return (before ? before : found->n) - 1;
    return after < found->n ? after : 0;
}

static size_t find(struct notebook_view *v, const struct pattern *what, bool backwards,
    struct place_list *found, bool *around)
{
    search_find(v->head.bench, what, v->editing, found);
    return next_place(v, found, backwards, around);
}

// false: O alone shows it.
static bool go_to(struct notebook_view *v, const struct place *p)
{
    bench *b = v->head.bench;
    if (p->cell != v->at)
        notebook_select(v, p->cell, false);
    v->mark = v->at;
    if (p->part == PART_SOURCE)
        edit_select(slot_edit(slot_at(b, p->cell)), (pos){p->line, p->from}, (pos){p->line, p->to});
    bool drawn = look_at(v, p);
    v->keep = v->editing;
    return drawn;
}

bool notebook_search(struct notebook_view *v, bool backwards)
{
    bench *b = v->head.bench;
    CLEANUP(pattern_done) struct pattern what = {0};
    struct place_list found = {0};
    bool around;
    pattern_set(&what, bench_searched(b));
    bench_show_marks(b, !pattern_is_empty(&what));
    size_t at = find(v, &what, backwards, &found, &around);
    if (pattern_is_empty(&what)) {
        bench_say(b, "nothing is searched for yet: / searches");
    } else if (at == SIZE_MAX) {
        bench_say(b, "“%s” is nowhere%s", what.text, v->editing ? " in the cells' sources" : "");
    } else {
        bool drawn = go_to(v, &found.list[at]);
        bench_say(b, "“%s” %zu of %zu%s%s", what.text, at + 1, found.n,
            !around     ? ""
            : backwards ? "; the search went around to the end"
                        : "; the search went around to the start",
            drawn ? "" : "; it is further up in this output: O shows all of it");
    }
    free(found.list);
    return true;
}

static void begin(struct notebook_view *v)
{
    bench *b = v->head.bench;
    v->seeking = mem_alloc(sizeof *v->seeking);
    *v->seeking = (struct seeking){.searched = mem_strdup(bench_searched(b)),
        .marks = bench_marks(b),
        .top = v->top,
        .top_row = v->top_row,
        .look = v->look,
        .folded = mem_array(slot_count(b) + 1, sizeof(char *))};
    v->look.id = NULL;
    for (size_t i = 0, n = 0; i < slot_count(b); i++)
        if (section_is_folded(b, i))
            v->seeking->folded[n++] = mem_strdup(slot_id(slot_at(b, i)));
}

// Back to what was on the screen.
static void go_back(struct notebook_view *v)
{
    bench *b = v->head.bench;
    const struct seeking *s = v->seeking;
    size_t at;
    notebook_look_nowhere(v);
    for (char **id = s->folded; *id; id++)
        if (slot_by_id(b, *id, &at))
            section_fold(b, at, true);
    bench_search_for(b, s->searched);
    bench_show_marks(b, s->marks);
    v->top = s->top;
    v->top_row = s->top_row;
    notebook_scroll(v, 0);
}

static void end(struct notebook_view *v)
{
    if (!v->seeking)
        return;
    go_back(v);
    v->look = v->seeking->look;
    v->keep = v->editing;
    free(v->seeking->searched);
    strv_free(v->seeking->folded);
    free(STEAL(v->seeking));
}

static void look_for(struct notebook_view *v, const char *words, buf *said)
{
    bench *b = v->head.bench;
    CLEANUP(pattern_done) struct pattern what = {0};
    struct place_list found = {0};
    bool around;
    pattern_set(&what, words);
    bench_search_for(b, words);
    bench_show_marks(b, true);
    size_t at = find(v, &what, false, &found, &around);
    if (at != SIZE_MAX)
        look_at(v, &found.list[at]);
    if (at == SIZE_MAX)
        buf_str(said, "nowhere");
    else
        buf_fmt(said, "%zu of %zu", at + 1, found.n);
    free(found.list);
}

void notebook_seek(view *view_, const char *words, buf *said)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    if (!words) {
        end(v);
        return;
    }
    if (!v->seeking)
        begin(v);
    go_back(v);
    if (*words)
        look_for(v, words, said);
}
