// SPDX-License-Identifier: MIT
// Names for the cursor, in a list beside it. Typing narrows the list; a key that belongs to no name
// closes it and goes on to the cell.
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/bench/views.h"
#include "tui/part/scroll.h"

#include <ctype.h>
#include <string.h>

enum { ROWS = 8, WIDTH = 40 };

struct name {
    char *text, *kind, *detail; // the last: a sentence, "" for none
};

struct complete_view {
    view head;
    char *cell;
    pos from; // start of the name
    struct name *names;
    size_t n;
    const struct name **shown; // the names that begin with the typed text
    struct scroll scroll;
    size_t rows; // of the list on the screen
};

// The typed part of the name, in the slot's line; NULL when the cell has changed otherwise.
static const char *typed(const struct complete_view *v, struct slot **slot, size_t *n)
{
    *slot = slot_by_id(v->head.bench, v->cell, NULL);
    pos at = *slot ? edit_cursor(slot_edit(*slot)) : (pos){0};
    if (!*slot || at.line != v->from.line || at.byte < v->from.byte)
        return NULL;
    *n = at.byte - v->from.byte;
    return text_line(edit_text(slot_edit(*slot)), at.line, NULL) + v->from.byte;
}

// false: no name is left, or there is no place for the list.
static bool narrow(struct complete_view *v)
{
    struct slot *s;
    size_t n, left = 0;
    const char *words = typed(v, &s, &n);
    for (size_t i = 0; words && i < v->n; i++)
        if (strncmp(v->names[i].text, words, n) == 0)
            v->shown[left++] = &v->names[i];
    v->scroll.at = v->scroll.top = 0;
    v->scroll.n = left;
    return left > 0;
}

static void insert(bench *b, struct slot *s, const char *words, size_t n)
{
    edit_insert(slot_edit(s), words, n);
    slot_typed(b);
}

static void accept(struct complete_view *v)
{
    struct slot *s;
    size_t n;
    const char *name = v->scroll.n ? v->shown[v->scroll.at]->text : NULL;
    if (name && typed(v, &s, &n))
        insert(v->head.bench, s, name + n, strlen(name) - n);
    view_pop(&v->head);
}

static int columns(const char *s)
{
    return text_width(s, strlen(s), 0);
}

// The width of the widest name, with its kind on the right.
static int widest(const struct complete_view *v)
{
    int w = 0;
    for (size_t i = 0; i < v->scroll.n; i++) {
        const struct name *name = v->shown[i];
        int one = columns(name->text) + (*name->kind ? 2 + columns(name->kind) : 0);
        w = one > w ? one : w;
    }
    return w < WIDTH ? w : WIDTH;
}

// The place of the list: below the cursor if there is room, else above, and within the screen.
// false: there is no cursor, or nothing is typed there any more.
static bool place(const struct complete_view *v, rect area, rect *box)
{
    struct slot *s;
    size_t length;
    int caret_x, caret_y;
    const char *words = typed(v, &s, &length);
    if (!words || !bench_caret(v->head.bench, &caret_x, &caret_y))
        return false;
    int n = v->scroll.n < ROWS ? (int)v->scroll.n : ROWS, w = widest(v) + 2;
    int below = area.y + area.h - caret_y - 1, above = caret_y - area.y;
    bool down = below >= n || below >= above;
    n = n < (down ? below : above) ? n : down ? below : above;
    w = w < area.w ? w : area.w;
    int x = caret_x - text_width(words, length, 0) - 1;
    x = x + w > area.x + area.w ? area.x + area.w - w : x;
    *box = (rect){x < area.x ? area.x : x, down ? caret_y + 1 : caret_y - n, w, n};
    return true;
}

static void settle(view *view_, rect area)
{
    struct complete_view *v = (struct complete_view *)view_;
    rect box = {0};
    if (place(v, area, &box))
        scroll_fit(&v->scroll, v->scroll.n, box.h);
    v->rows = box.h > 0 ? (size_t)box.h : 0;
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct complete_view *v = (const struct complete_view *)view_;
    int caret_x, caret_y;
    rect box;
    if (!place(v, area, &box))
        return;
    for (int y = 0; y < box.h && v->scroll.top + (size_t)y < v->scroll.n; y++) {
        size_t i = v->scroll.top + (size_t)y;
        style look = i == v->scroll.at ? LOOK_BOLD : LOOK_SELECTED;
        rect row = {box.x, box.y + y, box.w, 1};
        grid_fill(g, row, ' ', look);
        const struct name *name = v->shown[i];
        int kind = columns(name->kind);
        int w = grid_put_short(
            g, row, row.x + 1, row.y, row.w - 2, name->text, strlen(name->text), look);
        if (w + kind + 3 < row.w)
            grid_put(g, row, row.x + row.w - 1 - kind, row.y, name->kind, strlen(name->kind),
                style_over(look, LOOK_DIM));
    }
    bool ascii = bench_ascii(v->head.bench);
    if (v->scroll.top > 0)
        grid_print(g, area, box.x, box.y, LOOK_SELECTED, "%s", ascii ? "^" : "▲");
    if (v->scroll.top + (size_t)box.h < v->scroll.n)
        grid_print(g, area, box.x, box.y + box.h - 1, LOOK_SELECTED, "%s", ascii ? "v" : "▼");
    bench_caret(v->head.bench, &caret_x, &caret_y);
    grid_set_cursor(g, caret_x, caret_y);
}

static void delete_back(struct complete_view *v)
{
    struct slot *s;
    size_t n;
    if (typed(v, &s, &n) && edit_act(slot_edit(s), ACT_DELETE_BACK, bench_clipboard(v->head.bench)))
        slot_typed(v->head.bench);
    if (!narrow(v))
        view_pop(&v->head);
}

static bool act(view *view_, enum action a)
{
    struct complete_view *v = (struct complete_view *)view_;
    if (a == ACT_ACCEPT || (a == ACT_ROW_NEXT && v->scroll.n == 1)) {
        accept(v);
        return true;
    }
    if (a == ACT_DELETE_BACK) {
        delete_back(v);
        return true;
    }
    bool last = v->scroll.at + 1 == v->scroll.n;
    if (a == ACT_ROW_NEXT && last)
        a = ACT_ROW_FIRST;
    else if (a == ACT_ROW_PREVIOUS && v->scroll.at == 0)
        a = ACT_ROW_LAST;
    return scroll_act(&v->scroll, a);
}

static bool type(view *view_, key k)
{
    struct complete_view *v = (struct complete_view *)view_;
    bench *b = v->head.bench;
    uint32_t c = key_character(k);
    struct slot *s;
    size_t n;
    char words[4];
    if (c < 0x80 && (isalnum((int)c) || c == '_') && typed(v, &s, &n)) {
        insert(b, s, words, utf8_encode(c, words));
        if (!narrow(v))
            view_pop(view_);
        return true;
    }
    view_pop_key(view_, k);
    return true;
}

static bool paste(view *view_, const char *words, size_t n)
{
    view_pop_paste(view_, words, n);
    return true;
}

static void free_names(struct name *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(names[i].text);
        free(names[i].kind);
        free(names[i].detail);
    }
    free(names);
}

static void done(view *view_)
{
    struct complete_view *v = (struct complete_view *)view_;
    free_names(v->names, v->n);
    free(v->shown);
    free(v->cell);
}

static void hint(const view *v, buf *out)
{
    const struct complete_view *c = (const struct complete_view *)v;
    const char *detail = c->scroll.at < c->scroll.n ? c->shown[c->scroll.at]->detail : "";
    if (*detail) {
        buf_str(out, detail);
        return;
    }
    if (c->rows && c->rows < c->scroll.n)
        buf_fmt(out, "%zu–%zu of %zu  ", c->scroll.top + 1, c->scroll.top + c->rows, c->scroll.n);
    buf_str(out, "Tab the next, Enter takes it, Esc closes");
}

// The longest common start of all names.
static size_t common(const struct name *names, size_t n)
{
    size_t same = n ? strlen(names[0].text) : 0;
    for (size_t i = 1; i < n; i++) {
        size_t k = utf8_common(names[0].text, names[i].text);
        same = k < same ? k : same;
    }
    return same;
}

// The names in the reply that continue the typed text.
static struct name *read_names(const cJSON *reply, const char *words, size_t n, size_t *count)
{
    const cJSON *matches = json_get(reply, "matches"), *kinds = json_get(reply, "kinds");
    const cJSON *details = json_get(reply, "details");
    const cJSON *m, *kind = kinds ? kinds->child : NULL, *detail = details ? details->child : NULL;
    struct name *names = mem_array((size_t)cJSON_GetArraySize(matches) + 1, sizeof *names);
    *count = 0;
    cJSON_ArrayForEach(m, matches)
    {
        if (cJSON_IsString(m) && strncmp(m->valuestring, words, n) == 0)
            names[(*count)++] = (struct name){mem_strdup(m->valuestring),
                mem_strdup(cJSON_IsString(kind) ? kind->valuestring : ""),
                mem_strdup(cJSON_IsString(detail) ? detail->valuestring : "")};
        kind = kind ? kind->next : NULL;
        detail = detail ? detail->next : NULL;
    }
    return names;
}

void complete_push(bench *b, struct slot *s, pos from, const cJSON *reply)
{
    size_t n, given = edit_cursor(slot_edit(s)).byte - from.byte;
    const char *words = text_line(edit_text(slot_edit(s)), from.line, NULL) + from.byte;
    struct name *names = read_names(reply, words, given, &n);
    size_t same = common(names, n);
    if (n == 0)
        bench_say(b, "no known name begins like this");
    if (n && same > given)
        insert(b, s, names[0].text + given, same - given);
    if (n < 2) {
        free_names(names, n);
        return;
    }
    struct complete_view *v = view_push(b, &complete_view_ops, sizeof *v);
    v->cell = mem_strdup(slot_id(s));
    v->from = from;
    v->names = names;
    v->n = n;
    v->shown = mem_array(n, sizeof *v->shown);
    narrow(v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Tab", ACT_ROW_NEXT},
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "S-Tab", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgUp", ACT_PAGE_UP},
    {MODE_VIEW, "Enter", ACT_ACCEPT},
    {MODE_VIEW, "Backspace", ACT_DELETE_BACK},
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "C-c", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops complete_view_ops = {.name = "names",
    .keys = &keys,
    .overlay = true,
    .settle = settle,
    .draw = draw,
    .act = act,
    .type = type,
    .paste = paste,
    .hint = hint,
    .done = done};
