// SPDX-License-Identifier: MIT
// vi's marks: a cell gets a letter, and a letter leads back to it. The next key is the letter; the
// cells that have one are listed meanwhile.
#include "base/mem.h"
#include "base/str.h"
#include "tui/view/notebook/notebook.h"

#include <ctype.h>
#include <string.h>

struct marks_view {
    view head;
    bool sets;
};

static struct notebook_view *below(const view *v)
{
    return (struct notebook_view *)v->below;
}

static void set_letter(struct notebook_view *v, char letter)
{
    bench *b = v->head.bench;
    AUTO_BUF name = {0};
    if (!slot_count(b))
        return;
    slot_set_letter(b, v->at, letter);
    slot_name(b, v->at, &name);
    bench_say(b, "“%s” is %c now: ' %c comes back to it", buf_cstr(&name), letter, letter);
}

static void go(struct notebook_view *v, char letter)
{
    bench *b = v->head.bench;
    for (size_t i = 0; i < slot_count(b); i++)
        if (slot_letter(b, i) == letter) {
            notebook_go(v, i, 0);
            return;
        }
    bench_complain(b, "no cell has the letter %c", letter);
}

static bool type(view *view_, key k)
{
    const struct marks_view *v = (const struct marks_view *)view_;
    struct notebook_view *cells = below(view_);
    uint32_t c = key_character(k);
    bool sets = v->sets;
    if (!sets && (c == '\'' || c == '`')) { // vi's way back
        view_pop(view_);
        notebook_act(cells, ACT_JUMP_BACK);
        return true;
    }
    if (c >= 128 || !isalnum((int)c))
        return false;
    view_pop(view_);
    if (sets)
        set_letter(cells, (char)c);
    else
        go(cells, (char)c);
    return true;
}

static int count(bench *b)
{
    int n = 0;
    for (size_t i = 0; i < slot_count(b); i++)
        n += slot_letter(b, i) != 0;
    return n;
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct marks_view *v = (const struct marks_view *)view_;
    bench *b = view_->bench;
    int n = count(b), rows = n < area.h - 2 ? n : area.h - 2;
    int y = area.y + area.h - 1 - rows;
    grid_fill(g, (rect){area.x, y - (rows > 0), area.w, rows + 1 + (rows > 0)}, ' ', (style){0});
    if (rows)
        grid_hline(g, area, area.x, y - 1, area.w, LOOK_ACCENT);
    for (size_t i = 0; i < slot_count(b) && y < area.y + area.h - 1; i++) {
        AUTO_BUF name = {0};
        if (!slot_letter(b, i))
            continue;
        slot_name(b, i, &name);
        grid_print(g, area, area.x + 2, y, LOOK_ACCENT, "%c", slot_letter(b, i));
        grid_put_short(g, area, area.x + 5, y++, area.w - 6, buf_cstr(&name), name.len, (style){0});
    }
    grid_print(g, area, area.x + 1, area.y + area.h - 1, LOOK_BOLD, "%s",
        v->sets ? "A letter for this cell:"
        : n     ? "Go to the cell with the letter:"
                : "No cell has a letter yet: g m gives it one");
    grid_park_cursor(g, area.x + 1, area.y + area.h - 1);
}

static bool act(view *v, enum action a)
{
    return false;
}

static void hint(const view *v, buf *out)
{
    buf_str(out, ((const struct marks_view *)v)->sets ? "a letter  Esc closes"
                                                      : "a letter  ' back  Esc closes");
}

void marks_push(struct notebook_view *cells, bool sets)
{
    struct marks_view *v = view_push(cells->head.bench, &marks_view_ops, sizeof *v);
    v->sets = sets;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Esc", ACT_BACK},
    {MODE_VIEW, "C-c", ACT_BACK},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops marks_view_ops = {.name = "letters",
    .keys = &keys,
    .overlay = true,
    .draw = draw,
    .act = act,
    .type = type,
    .hint = hint};
