// SPDX-License-Identifier: MIT
#include "tui/part/filter.h"

#include "base/data/pattern.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "tui/edit/keymap.h"
#include "tui/grid/look.h"

#include <string.h>

void filter_done(struct filter *f)
{
    line_free(STEAL(f->line));
    f->typing = false;
}

const char *filter_text(const struct filter *f)
{
    return f->line ? line_text(f->line) : "";
}

unsigned filter_mode(const struct filter *f)
{
    return f->typing ? MODE_LINE : MODE_VIEW;
}

bool filter_act(struct filter *f, enum action a, buf *clipboard)
{
    if (a == ACT_FILTER && !f->typing) {
        f->line = f->line ? f->line : line_new("");
        f->typing = true;
        if (f->past)
            past_begin(f->past);
        return true;
    }
    if (a == ACT_BACK && f->line) {
        filter_done(f);
        return true;
    }
    if (!f->typing)
        return false;
    if (a == ACT_ACCEPT) {
        f->typing = false;
        if (f->past)
            past_add(f->past, filter_text(f));
        if (!*filter_text(f))
            filter_done(f);
        return true;
    }
    if ((a == ACT_UP || a == ACT_DOWN) && f->past) {
        past_turn(f->past, f->line, a == ACT_UP);
        return true;
    }
    return line_act(f->line, a, clipboard, false);
}

bool filter_type(struct filter *f, key k)
{
    if (f->typing)
        line_type(f->line, k);
    return f->typing && key_character(k);
}

bool filter_paste(struct filter *f, const char *words, size_t n)
{
    if (f->typing)
        line_paste(f->line, words, n);
    return f->typing;
}

static void say_at_end(const char *words, grid *g, rect row)
{
    enum { LEAST = 20 }; // for what is typed
    int w = text_width(words, strlen(words), 0);
    w = w < row.w - LEAST ? w : row.w - LEAST;
    if (w > 0)
        grid_put_short(g, row, row.x + row.w - w, row.y, w, words, strlen(words), LOOK_WARN);
}

void filter_draw_wrong(const char *words, grid *g, rect row)
{
    struct pattern p = {0};
    AUTO_BUF text = {0};
    pattern_set_filter(&p, words);
    buf_fmt(&text, " as it stands: %s", p.wrong);
    if (*p.wrong)
        say_at_end(buf_cstr(&text), g, row);
    pattern_done(&p);
}

void filter_draw(const struct filter *f, grid *g, rect row)
{
    if (!f->typing)
        return;
    grid_fill(g, row, ' ', (style){0});
    grid_print(g, row, row.x, row.y, LOOK_BOLD, "%s", f->mark ? f->mark : "/");
    line_draw(f->line, g, (rect){row.x + 1, row.y, row.w - 1, 1}, false);
    if (f->wrong && *f->wrong)
        say_at_end(f->wrong, g, row);
    else
        filter_draw_wrong(filter_text(f), g, row);
}
