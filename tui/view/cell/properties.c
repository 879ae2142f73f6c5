// SPDX-License-Identifier: MIT
// The properties of a cell as a form over the notebook. Faults are shown at once below their
// fields; accepting the form is one step of the notebook's history. Only fields that the person
// changed are written, so another client's changes stay.
#include "script/notebook/properties.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/remote.h"
#include "tui/bench/structure.h"
#include "tui/bench/views.h"
#include "tui/grid/layout.h"
#include "tui/part/line.h"
#include "tui/part/scroll.h"
#include "tui/view/cell/propertywords.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { WIDTH = 72, LABELS = 11 };

struct properties_view {
    view head;
    char *cell;
    struct properties was;       // the cell's values
    line *lines[PROPERTY_COUNT]; // the values typed here
    property at;
    char *problems[PROPERTY_COUNT];
    char *notes[PROPERTY_COUNT]; // another client's changes, possible words; until a key
    // What was typed on a choice since the last other key, and its value before that.
    enum { TYPED_NONE, TYPED_BLANKS, TYPED_LETTER, TYPED_WORDS } typed;
    char *untyped;
    int top, width; // first row on the screen; width of the fields
};

static const char *value(const struct properties_view *v, property p)
{
    return line_text(v->lines[p]);
}

static bool applies(const struct properties_view *v, property p)
{
    return property_applies(p, value(v, PROPERTY_KIND));
}

static void set(struct properties_view *v, property p, const char *words)
{
    line_free(v->lines[p]);
    v->lines[p] = line_new(words);
}

static bool is_changed(const struct properties_view *v, property p)
{
    return !str_eq(value(v, p), v->was.values[p]);
}

// The cell as it is now; false: another client has deleted it.
static bool find_cell(const struct properties_view *v, size_t *i, const char **marker, buf *source)
{
    bench *b = v->head.bench;
    struct slot *s = slot_by_id(b, v->cell, i);
    if (!s)
        return false;
    text_all(edit_text(slot_edit(s)), source);
    *marker = slot_cell(b, *i)->marker;
    return true;
}

static void values_of(const struct properties_view *v, struct properties *out)
{
    for (property p = 0; p < PROPERTY_COUNT; p++)
        out->values[p] = mem_strdup(value(v, p));
}

// A file may be anywhere, but one outside of the notebook's folder gets a note.
static void note_file(struct properties_view *v)
{
    const char *file = value(v, PROPERTY_FILE);
    if (*file && applies(v, PROPERTY_FILE) && !path_is_below(file) && !v->notes[PROPERTY_FILE])
        v->notes[PROPERTY_FILE] = mem_strdup("this is outside of the notebook's folder");
}

static void forget(char *texts[PROPERTY_COUNT])
{
    for (property p = 0; p < PROPERTY_COUNT; p++)
        free(STEAL(texts[p]));
}

static bool check(struct properties_view *v)
{
    size_t i;
    const char *marker;
    AUTO_BUF source = {0};
    struct properties now;
    forget(v->problems);
    if (!find_cell(v, &i, &marker, &source)) {
        v->problems[PROPERTY_TITLE] = mem_strdup("another client has deleted this cell");
        return false;
    }
    values_of(v, &now);
    bool good = properties_check(marker, buf_cstr(&source), &now, v->problems);
    properties_done(&now);
    note_file(v);
    return good;
}

static void changed(struct properties_view *v)
{
    forget(v->notes);
    check(v);
}

static void go(struct properties_view *v, int step)
{
    int n = PROPERTY_COUNT, at = (int)v->at;
    do {
        at = (at + n + step) % n;
    } while (!applies(v, (property)at));
    v->at = (property)at;
}

// A kind that writes a file gets a suggested name, unless one was typed.
static void suggest_file(struct properties_view *v, const char *kind_was)
{
    const char *before = property_suggested_file(kind_was);
    const char *suggested = property_suggested_file(value(v, PROPERTY_KIND));
    const char *file = value(v, PROPERTY_FILE);
    if (suggested && (!*file || str_eq(file, before)))
        set(v, PROPERTY_FILE, suggested);
    else if (!suggested && str_eq(file, before))
        set(v, PROPERTY_FILE, "");
}

static void choose(struct properties_view *v, const char *choice)
{
    AUTO_FREE char *was = mem_strdup(value(v, PROPERTY_KIND));
    property p = v->at;
    set(v, p, choice);
    if (p == PROPERTY_KIND)
        suggest_file(v, was);
    changed(v);
}

// The cell's own value comes after the choices, if it is none of them.
static void turn(struct properties_view *v, int step)
{
    const char *const *choices = property_choices(v->at), *was = v->was.values[v->at];
    int n = 0, at = -1;
    bool own = true;
    for (; choices[n]; n++) {
        own = own && !str_eq(choices[n], was);
        at = str_eq(choices[n], value(v, v->at)) ? n : at;
    }
    at = at < 0 ? n : at;
    n += own;
    at = (at + step + n) % n;
    choose(v, choices[at] ? choices[at] : was);
}

// The next choice that begins with this letter; false: there is none.
static bool turn_to(struct properties_view *v, int letter)
{
    const char *const *choices = property_choices(v->at);
    int n = 0, at = -1;
    for (; choices[n]; n++)
        at = str_eq(choices[n], value(v, v->at)) ? n : at;
    for (int k = 1; k <= n; k++) {
        const char *choice = choices[(at + k + n) % n];
        if (tolower((unsigned char)*choice) == tolower(letter)) {
            choose(v, choice);
            return true;
        }
    }
    return false;
}

// What is typed was meant for another field: nothing of it counts.
static void refuse_words(struct properties_view *v)
{
    if (v->typed == TYPED_BLANKS || v->typed == TYPED_LETTER)
        choose(v, v->untyped);
    v->typed = TYPED_WORDS;
    free(v->notes[v->at]);
    v->notes[v->at] = mem_strdup("this is a choice: Left, Right or Space change it");
}

// A letter chooses when it alone is typed; never an effect, which a stray letter must not grant.
static void type_choice(struct properties_view *v, uint32_t c)
{
    if (v->typed == TYPED_NONE) {
        free(v->untyped);
        v->untyped = mem_strdup(value(v, v->at));
    }
    bool letter = v->typed == TYPED_NONE && v->at != PROPERTY_EFFECTS && c < 128;
    if (c == ' ' && v->typed <= TYPED_BLANKS) {
        turn(v, 1);
        v->typed = TYPED_BLANKS;
    } else if (c != ' ' && letter && turn_to(v, (int)c)) {
        v->typed = TYPED_LETTER;
    } else {
        refuse_words(v);
    }
}

static size_t common(char *const *words)
{
    size_t n = strlen(*words);
    for (char *const *word = words + 1; *word; word++) {
        size_t k = utf8_common(*words, *word);
        n = k < n ? k : n;
    }
    return n;
}

// Completes a word. false: nothing can be completed there.
static bool complete(struct properties_view *v)
{
    size_t typed;
    char **words = property_words(v->head.bench, v->at, value(v, v->at), &typed);
    size_t n = strv_len(words), more = n ? common(words) : 0;
    bool any = n > 0 && (more > typed || n > 1);
    if (any) {
        line_act(v->lines[v->at], ACT_LINE_END, NULL, false);
        line_paste(v->lines[v->at], *words + typed, more - typed);
        changed(v);
    }
    if (n > 1) {
        AUTO_BUF list = {0};
        for (char **word = words; *word; word++)
            buf_fmt(&list, "%s%s", list.len ? "  " : "", *word);
        free(v->notes[v->at]);
        v->notes[v->at] = mem_strdup(buf_cstr(&list));
    }
    strv_free(words);
    return any;
}

static void take(struct properties_view *v)
{
    bench *b = v->head.bench;
    size_t i;
    const char *marker;
    AUTO_BUF source = {0};
    AUTO_FREE char *new_marker = NULL, *new_source = NULL;
    struct properties now;
    if (!find_cell(v, &i, &marker, &source)) {
        view_pop(&v->head);
        bench_complain(b, "another client has deleted this cell");
        return;
    }
    if (!check(v)) {
        for (property p = PROPERTY_COUNT; p-- > 0;)
            v->at = v->problems[p] ? p : v->at;
        return;
    }
    values_of(v, &now);
    properties_write(marker, buf_cstr(&source), &now, &new_marker, &new_source);
    properties_done(&now);
    view_pop(&v->head);
    structure_mark(b, i, new_marker, new_source);
}

static bool act(view *view_, enum action a)
{
    struct properties_view *v = (struct properties_view *)view_;
    bool choice = property_choices(v->at) != NULL;
    v->typed = TYPED_NONE;
    switch ((int)a) {
    case ACT_ACCEPT:
        take(v);
        return true;
    case ACT_FIELD_NEXT:
        if (choice || !complete(v))
            go(v, 1);
        return true;
    case ACT_ROW_NEXT:
    case ACT_ROW_PREVIOUS:
        go(v, a == ACT_ROW_NEXT ? 1 : -1);
        return true;
    case ACT_LEFT:
    case ACT_RIGHT:
        if (!choice)
            break;
        turn(v, a == ACT_RIGHT ? 1 : -1);
        return true;
    }
    if (choice || !line_act(v->lines[v->at], a, bench_clipboard(view_->bench), false))
        return false;
    changed(v);
    return true;
}

static bool type(view *view_, key k)
{
    struct properties_view *v = (struct properties_view *)view_;
    uint32_t c = key_character(k);
    if (!c)
        return false;
    if (property_choices(v->at)) {
        type_choice(v, c);
    } else {
        line_type(v->lines[v->at], k);
        changed(v);
    }
    return true;
}

static bool paste(view *view_, const char *words, size_t n)
{
    struct properties_view *v = (struct properties_view *)view_;
    if (property_choices(v->at)) {
        refuse_words(v);
        return true;
    }
    line_paste(v->lines[v->at], words, n);
    changed(v);
    return true;
}

// Another client's changes are shown in fields without changes here; other fields get a note.
static void heard(view *view_, const cJSON *event)
{
    struct properties_view *v = (struct properties_view *)view_;
    const char *what = json_str(event, "type"), *marker;
    size_t i;
    AUTO_BUF source = {0};
    struct properties now;
    if (event && !str_eq(what, "edited") && !str_eq(what, "document"))
        return;
    if (!find_cell(v, &i, &marker, &source)) {
        check(v);
        return;
    }
    properties_read(marker, buf_cstr(&source), &now);
    for (property p = 0; p < PROPERTY_COUNT; p++) {
        if (str_eq(now.values[p], v->was.values[p]))
            continue;
        if (!is_changed(v, p)) {
            set(v, p, now.values[p]);
        } else if (!str_eq(value(v, p), now.values[p])) {
            free(v->notes[p]);
            v->notes[p] = str_fmt("another client has set it to “%s”", now.values[p]);
        }
    }
    properties_done(&v->was);
    v->was = now;
    check(v);
}

static const char *remark(const struct properties_view *v, property p)
{
    return v->problems[p] ? v->problems[p] : v->notes[p] ? v->notes[p] : "";
}

// Draws the remark on a field; without a grid only counts its rows.
static int put_remark(const struct properties_view *v, grid *g, rect clip, int y, property p)
{
    const char *words = remark(v, p);
    int rows = 0;
    for (size_t left = strlen(words); left > 0; rows++) {
        size_t n = layout_wrap(words, left, v->width);
        if (g && y + rows >= clip.y && y + rows < clip.y + clip.h)
            grid_put(g, clip, clip.x + LABELS, y + rows, words, n,
                v->problems[p] ? LOOK_ERROR : LOOK_WARN);
        words += n;
        left -= n;
    }
    return rows;
}

// The row of a field, from the top of the form; PROPERTY_COUNT: the number of rows.
static int row_of(const struct properties_view *v, property p)
{
    int row = 0;
    for (property i = 0; i < p; i++)
        row += 1 + put_remark(v, NULL, (rect){0}, 0, i);
    return row;
}

struct place {
    rect box, inside; // the scrolling part is inside
    bool explains;    // there is room for what the field means
};

static struct place place(const struct properties_view *v, rect area)
{
    enum { EXPLANATION = 2 }; // rows, with a blank one above it
    int w = area.w < WIDTH + 2 ? area.w : WIDTH, h = row_of(v, PROPERTY_COUNT) + 3;
    bool explains = h + EXPLANATION <= area.h;
    h += explains ? EXPLANATION : 0;
    h = h > area.h ? area.h : h;
    rect box = {area.x + (area.w - w) / 2, area.y + (area.h - h) / 2, w, h};
    int below = 3 + (explains ? EXPLANATION : 0);
    return (struct place){box, {box.x + 2, box.y + 1, w - 4, h - below}, explains};
}

static void settle(view *view_, rect area)
{
    struct properties_view *v = (struct properties_view *)view_;
    v->width = (area.w < WIDTH + 2 ? area.w : WIDTH) - 4 - LABELS;
    v->width = v->width > 0 ? v->width : 1;
    struct place p = place(v, area);
    int first = row_of(v, v->at), last = row_of(v, v->at + 1) - 1, n = row_of(v, PROPERTY_COUNT);
    if (v->top + p.inside.h <= last)
        v->top = last - p.inside.h + 1;
    if (v->top > first)
        v->top = first;
    if (v->top > n - p.inside.h)
        v->top = n > p.inside.h ? n - p.inside.h : 0;
}

static void draw_field(const struct properties_view *v, grid *g, rect clip, int y, property p)
{
    bool here = p == v->at, does = applies(v, p);
    const char *label = property_name(p), *words = value(v, p);
    rect row = {clip.x + LABELS, y, clip.w - LABELS, 1};
    style look = is_changed(v, p) && does ? LOOK_BOLD : does ? (style){0} : LOOK_DIM;
    grid_put(g, clip, clip.x, y, label, strlen(label), here ? LOOK_ACCENT : LOOK_DIM);
    if (!does) {
        grid_put(g, clip, row.x, y, "-", 1, LOOK_DIM);
    } else if (property_choices(p)) {
        const char *shown = *words ? words : "(asks)";
        int x = grid_print(g, clip, row.x, y, here ? LOOK_ACCENT : LOOK_DIM, here ? "< " : "");
        x += grid_put(g, clip, row.x + x, y, shown, strlen(shown), *words ? look : LOOK_DIM);
        if (here) {
            grid_print(g, clip, row.x + x, y, LOOK_ACCENT, " >");
            grid_set_cursor(g, row.x, y);
        }
    } else if (here) {
        line_draw(v->lines[p], g, row, false);
    } else {
        grid_put_short(g, clip, row.x, y, row.w, words, strlen(words), look);
    }
}

static void draw_form(const struct properties_view *v, grid *g, rect inside)
{
    for (property p = 0; p < PROPERTY_COUNT; p++) {
        int y = inside.y + row_of(v, p) - v->top;
        if (y >= inside.y && y < inside.y + inside.h)
            draw_field(v, g, inside, y, p);
        put_remark(v, g, inside, y + 1, p);
    }
}

static void hint(const view *view_, buf *out)
{
    const struct properties_view *v = (const struct properties_view *)view_;
    buf_str(out, property_choices(v->at) ? "Enter applies  Left Right change  Esc cancels"
                                         : "Enter applies  Tab completes  Esc cancels");
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct properties_view *v = (const struct properties_view *)view_;
    struct place p = place(v, area);
    AUTO_BUF keys = {0};
    const char *about = property_about(v->at);
    grid_fill(g, p.box, ' ', (style){0});
    grid_box(g, p.box, LOOK_ACCENT, "Properties of the cell");
    hint(view_, &keys);
    if (p.explains)
        grid_put_short(g, p.box, p.inside.x, p.box.y + p.box.h - 3, p.inside.w, about,
            strlen(about), LOOK_DIM);
    grid_put_short(g, p.box, p.inside.x, p.box.y + p.box.h - 2, p.inside.w, buf_cstr(&keys),
        keys.len, LOOK_ACCENT);
    draw_form(v, g, p.inside);
}

static unsigned mode(const view *v)
{
    return MODE_VIEW | MODE_LINE;
}

static void done(view *view_)
{
    struct properties_view *v = (struct properties_view *)view_;
    for (property p = 0; p < PROPERTY_COUNT; p++)
        line_free(v->lines[p]);
    forget(v->problems);
    forget(v->notes);
    properties_done(&v->was);
    free(v->cell);
    free(v->untyped);
}

void properties_push(bench *b, struct slot *s)
{
    struct properties_view *v;
    size_t i;
    const char *marker = ""; // stays so if the cell has just been deleted, which check says
    AUTO_BUF source = {0};
    if (!remote_ready(b, true))
        return;
    v = view_push(b, &properties_view_ops, sizeof *v);
    v->cell = mem_strdup(slot_id(s));
    find_cell(v, &i, &marker, &source);
    properties_read(marker, buf_cstr(&source), &v->was);
    for (property p = 0; p < PROPERTY_COUNT; p++)
        v->lines[p] = line_new(v->was.values[p]);
    check(v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "C-s", ACT_ACCEPT},
    {MODE_VIEW, "Tab", ACT_FIELD_NEXT},
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "S-Tab", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "C-c", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops properties_view_ops = {.name = "properties",
    .keys = &keys,
    .overlay = true,
    .mode = mode,
    .settle = settle,
    .draw = draw,
    .act = act,
    .type = type,
    .paste = paste,
    .heard = heard,
    .hint = hint,
    .done = done};
