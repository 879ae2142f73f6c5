// SPDX-License-Identifier: MIT
// ":s" and ":%s" among cells. With "c" each place is shown, and a line at the bottom asks; what was
// agreed to is replaced at the end, as one step.
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/remote.h"
#include "tui/edit/substitute.h"
#include "tui/view/notebook/names.h"
#include "tui/view/notebook/notebook.h"

#include <string.h>

// The places in one cell, and which of them are to be replaced.
struct cell_places {
    char *id;
    uint64_t revision; // of its text, when they were looked for
    struct replacements found;
    bool *wanted;
};
struct places {
    struct cell_places *cells; // those that have any
    size_t n_cells, n;
    size_t left; // without g: places that are not the first on their line
};

static void places_done(struct places *p)
{
    for (size_t i = 0; i < p->n_cells; i++) {
        free(p->cells[i].id);
        free(p->cells[i].wanted);
        replacements_done(&p->cells[i].found);
    }
    free(p->cells);
    *p = (struct places){0};
}

static void find_in_cell(
    bench *b, size_t i, const struct substitute *what, size_t lo, size_t hi, struct places *out)
{
    const struct slot *s = slot_at(b, i);
    const text *t = edit_text(slot_edit(s));
    struct replacements found = {0};
    substitute_find(what, t, lo, hi, &found);
    out->left += found.left;
    if (!found.n) {
        replacements_done(&found);
        return;
    }
    out->cells = mem_resize(out->cells, out->n_cells + 1, sizeof *out->cells);
    out->cells[out->n_cells++] = (struct cell_places){.id = mem_strdup(slot_id(s)),
        .revision = text_revision(t),
        .found = found,
        .wanted = mem_array(found.n, sizeof(bool))};
    out->n += found.n;
}

// As in vi: all cells; else the lines that are selected in the edited cell, or the cursor's; else
// the selected cells.
static void find_places(
    struct notebook_view *v, const struct substitute *what, bool all, struct places *out)
{
    bench *b = v->head.bench;
    size_t lo, hi;
    notebook_selected(v, &lo, &hi);
    if (v->editing && !all) {
        edit *e = slot_edit(slot_at(b, v->at));
        pos from = edit_cursor(e), to = from;
        edit_selection(e, &from, &to);
        find_in_cell(b, v->at, what, from.line, to.line + 1, out);
        return;
    }
    for (size_t i = all ? 0 : lo; i < slot_count(b) && (all || i <= hi); i++)
        find_in_cell(b, i, what, 0, SIZE_MAX, out);
}

// In the cell that is being edited, as one step of its own undo.
static void put_into_edited(struct notebook_view *v, const char *words, size_t n)
{
    bench *b = v->head.bench;
    edit *e = slot_edit(slot_at(b, v->at));
    pos cursor = edit_cursor(e);
    edit_select(e, (pos){0}, text_end(edit_text(e)));
    edit_insert(e, words, n);
    edit_set_cursor(e, text_clamp(edit_text(e), cursor));
    slot_typed(b);
    v->keep = true;
}

static size_t count_wanted(const struct cell_places *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->found.n; i++)
        n += c->wanted[i];
    return n;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void say_replaced(
    bench *b, const struct places *p, size_t places, size_t cells, size_t changed, bool edited)
{
    AUTO_BUF more = {0};
    if (changed)
        buf_fmt(&more, "; %zu cell%s changed meanwhile and stay%s as %s", changed, plural(changed),
            changed == 1 ? "s" : "", changed == 1 ? "it is" : "they are");
    if (p->left)
        buf_fmt(&more, "; %zu more on these lines: g behind takes them too", p->left);
    bench_say(b, "%zu place%s in %zu cell%s replaced; %s brings the old text back%s", places,
        plural(places), cells, plural(cells), edited ? "C-_" : "z", buf_cstr(&more));
}

static void replace_wanted(struct notebook_view *v, const struct places *p)
{
    bench *b = v->head.bench;
    struct cell_text *texts = mem_array(p->n_cells + 1, sizeof *texts);
    buf *words = mem_array(p->n_cells + 1, sizeof *words);
    size_t n = 0, places = 0, changed = 0, at;
    for (size_t i = 0; i < p->n_cells; i++) {
        const struct cell_places *c = &p->cells[i];
        const struct slot *s = slot_by_id(b, c->id, &at);
        const text *t = s ? edit_text(slot_edit(s)) : NULL;
        bool same = t && text_revision(t) == c->revision;
        changed += !same && count_wanted(c);
        if (!same || !count_wanted(c))
            continue;
        replacements_apply(t, c->found.list, c->found.n, c->wanted, &words[n]);
        texts[n] = (struct cell_text){at, buf_cstr(&words[n])};
        places += count_wanted(c);
        n++;
    }
    bool edited = v->editing && n == 1 && texts[0].at == v->at;
    if (edited)
        put_into_edited(v, buf_cstr(&words[0]), words[0].len);
    else if (n)
        structure_texts(b, "replace", texts, n);
    if (n || changed)
        say_replaced(b, p, places, n, changed, edited);
    else
        bench_say(b, "nothing was replaced");
    for (size_t i = 0; i < n; i++)
        buf_done(&words[i]);
    free(words);
    free(texts);
}

struct replace_view {
    view head;
    struct places places;
    size_t cell, at; // the place that is asked about
    size_t number;   // of it, from 0, among all
    bool over;
};

static const struct replacement *asked(const struct replace_view *v, size_t *i)
{
    const struct cell_places *c = &v->places.cells[v->cell];
    return slot_by_id(v->head.bench, c->id, i) ? &c->found.list[v->at] : NULL;
}

static void finish(struct replace_view *v)
{
    struct notebook_view *below = (struct notebook_view *)v->head.below;
    struct places places = v->places;
    v->places = (struct places){0};
    view_pop(&v->head);
    notebook_look_nowhere(below);
    replace_wanted(below, &places);
    places_done(&places);
}

static void show(struct replace_view *v)
{
    size_t i;
    const struct replacement *r = asked(v, &i);
    if (r)
        notebook_look_at((struct notebook_view *)v->head.below, i, PART_SOURCE, r->from.line,
            r->from.byte, r->to.byte);
}

// false: there is none.
static bool next(struct replace_view *v)
{
    v->number++;
    if (++v->at < v->places.cells[v->cell].found.n)
        return true;
    v->at = 0;
    return ++v->cell < v->places.n_cells;
}

static bool act(view *view_, enum action a)
{
    struct replace_view *v = (struct replace_view *)view_;
    bool yes = a == ACT_PLACE_YES || a == ACT_PLACE_LAST || a == ACT_PLACE_REST;
    bool more = true;
    if (!yes && a != ACT_PLACE_NO && a != ACT_BACK)
        return false;
    do {
        v->places.cells[v->cell].wanted[v->at] = yes;
        more = a != ACT_BACK && a != ACT_PLACE_LAST && next(v);
    } while (more && a == ACT_PLACE_REST);
    if (more)
        show(v);
    else
        finish(v);
    return true;
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct replace_view *v = (const struct replace_view *)view_;
    const struct replacement *r = &v->places.cells[v->cell].found.list[v->at];
    rect row = {area.x, area.y + area.h - 1, area.w, 1};
    AUTO_BUF words = {0}, count = {0};
    buf_fmt(&words, "Replace with “%s”?", r->with);
    buf_fmt(&count, "%zu of %zu", v->number + 1, v->places.n);
    grid_fill(g, row, ' ', (style){0});
    int room = row.w - (int)count.len - 3;
    grid_put_short(g, row, row.x + 1, row.y, room, buf_cstr(&words), words.len, LOOK_WARN);
    grid_print(
        g, row, row.x + row.w - (int)count.len - 1, row.y, LOOK_BOLD, "%s", buf_cstr(&count));
    grid_park_cursor(g, row.x + 1, row.y);
}

static void hint(const view *v, buf *out)
{
    buf_str(out, "y n  a all  l last one  Esc ends");
}

static void done(view *view_)
{
    bench_show_marks(view_->bench, false);
    places_done(&((struct replace_view *)view_)->places);
}

static void ask_each(bench *b, struct places *p)
{
    struct replace_view *v = view_push(b, &replace_view_ops, sizeof *v);
    v->places = *p;
    *p = (struct places){0};
    bench_show_marks(b, true); // the place that is asked about stands out
    show(v);
}

void notebook_substitute(view *view_, const char *words, bool all)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    bench *b = view_->bench;
    err e = {0};
    CLEANUP(substitute_done) struct substitute what = {0};
    CLEANUP(places_done) struct places p = {0};
    if (substitute_set(&what, words, bench_searched(b), &e) < 0) {
        bench_complain(b, "%s", e.text);
        return;
    }
    if (!slot_count(b) || (!what.counts && !remote_ready(b, true)))
        return;
    bench_search_for(b, what.what.text);
    find_places(v, &what, all, &p);
    if (!p.n)
        bench_complain(b, "%s has %s",
            v->editing && !all ? "no selected line"
            : all              ? "no cell"
                               : "no selected cell",
            what.what.text);
    else if (what.counts)
        bench_say(b, "%zu place%s in %zu cell%s", p.n + p.left, plural(p.n + p.left), p.n_cells,
            plural(p.n_cells));
    else if (what.asks)
        ask_each(b, &p);
    else {
        for (size_t i = 0; i < p.n_cells; i++)
            memset(p.cells[i].wanted, true, p.cells[i].found.n * sizeof(bool));
        replace_wanted(v, &p);
    }
}

struct renaming {
    bench *bench;
    const char *name, *with;
    struct places *places;
};

static void add_place(void *arg, size_t i, pos at, bool is_set)
{
    struct renaming *r = arg;
    struct places *p = r->places;
    const struct slot *s = slot_at(r->bench, i);
    struct cell_places *c = p->n_cells ? &p->cells[p->n_cells - 1] : NULL;
    if (!c || !str_eq(c->id, slot_id(s))) {
        p->cells = mem_resize(p->cells, p->n_cells + 1, sizeof *p->cells);
        c = &p->cells[p->n_cells++];
        *c = (struct cell_places){
            .id = mem_strdup(slot_id(s)), .revision = text_revision(edit_text(slot_edit(s)))};
    }
    c->found.list = mem_resize(c->found.list, c->found.n + 1, sizeof *c->found.list);
    c->found.list[c->found.n++] =
        (struct replacement){at, {at.line, at.byte + strlen(r->name)}, mem_strdup(r->with)};
    c->wanted = mem_resize(c->wanted, c->found.n, sizeof *c->wanted);
    c->wanted[c->found.n - 1] = false;
    p->n++;
}

static bool is_name(const char *words)
{
    size_t n = strspn(words, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return n && !words[n] && !(*words >= '0' && *words <= '9');
}

void notebook_rename(view *view_, const char *with)
{
    struct notebook_view *v = (struct notebook_view *)view_;
    bench *b = view_->bench;
    CLEANUP(places_done) struct places p = {0};
    pos from;
    size_t n = slot_count(b);
    AUTO_FREE char *name =
        v->editing ? name_at(b, v->at, edit_cursor(slot_edit(slot_at(b, v->at))), &from) : NULL;
    if (!name)
        bench_complain(b, "rename works where the cursor is at a name, in a cell in Lua or Python");
    else if (!is_name(with))
        bench_complain(b, "rename NEW: a name has letters, digits and _");
    if (!name || !is_name(with) || !remote_ready(b, true))
        return;
    struct renaming r = {b, name, with, &p};
    for (size_t i = 0; i < n; i++)
        if (name_shared(b, i, v->at))
            name_places(b, i, name, add_place, &r);
    if (p.n)
        ask_each(b, &p);
    else
        bench_say(b, "%s stands in a string or a comment, or is a field", name);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "y", ACT_PLACE_YES},
    {MODE_VIEW, "n", ACT_PLACE_NO},
    {MODE_VIEW, "a", ACT_PLACE_REST},
    {MODE_VIEW, "l", ACT_PLACE_LAST},
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "q", ACT_BACK},
    {MODE_VIEW, "C-c", ACT_BACK},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops replace_view_ops = {.name = "replace",
    .keys = &keys,
    .overlay = true,
    .draw = draw,
    .act = act,
    .hint = hint,
    .done = done};
