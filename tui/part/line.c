// SPDX-License-Identifier: MIT
#include "tui/part/line.h"

#include "base/mem.h"
#include "base/text/utf8.h"
#include "tui/edit/edit.h"

#include <string.h>

struct line {
    edit *edit;
    int scroll; // columns
};

line *line_new(const char *words)
{
    line *l = mem_alloc(sizeof *l);
    l->edit = edit_new(words, strlen(words));
    edit_set_cursor(l->edit, text_end(edit_text(l->edit)));
    return l;
}

void line_set(line *l, const char *words)
{
    edit_free(l->edit);
    l->edit = edit_new(words, strlen(words));
    edit_set_cursor(l->edit, text_end(edit_text(l->edit)));
    l->scroll = 0;
}

void line_free(line *l)
{
    if (l)
        edit_free(l->edit);
    free(l);
}

const char *line_text(line *l)
{
    return text_line(edit_text(l->edit), 0, NULL);
}

bool line_act(line *l, enum action a, buf *clipboard, bool secret)
{
    AUTO_BUF own = {0};
    switch ((int)a) {
    case ACT_LEFT:
    case ACT_RIGHT:
    case ACT_WORD_LEFT:
    case ACT_WORD_RIGHT:
    case ACT_LINE_START:
    case ACT_LINE_END:
    case ACT_DELETE_BACK:
    case ACT_DELETE_FORWARD:
    case ACT_DELETE_WORD_BACK:
    case ACT_DELETE_WORD_FORWARD:
    case ACT_KILL_LINE:
    case ACT_KILL_LINE_BACK:
    case ACT_UNDO:
        edit_act(l->edit, a, secret ? &own : clipboard);
        return true;
    case ACT_YANK:
        line_paste(l, buf_cstr(clipboard), clipboard->len);
        return true;
    }
    return false;
}

void line_type(line *l, key k)
{
    char words[4];
    uint32_t c = key_character(k);
    if (c)
        edit_insert(l->edit, words, utf8_encode(c, words));
}

void line_paste(line *l, const char *words, size_t n)
{
    size_t end = 0;
    while (end < n && words[end] != '\n' && words[end] != '\r')
        end++;
    edit_paste(l->edit, words, end);
}

static size_t characters(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i += utf8_cluster(s + i, n - i))
        count++;
    return count;
}

void line_draw(line *l, grid *g, rect row, bool secret)
{
    const char *words = line_text(l);
    size_t n = strlen(words), at = edit_cursor(l->edit).byte;
    AUTO_BUF stars = {0};
    if (secret) {
        at = characters(words, at);
        for (size_t left = characters(words, n); left > 0; left--)
            buf_char(&stars, '*');
        words = buf_cstr(&stars);
        n = stars.len;
    }
    int column = text_width(words, at, 0);
    if (column < l->scroll)
        l->scroll = column;
    if (column > l->scroll + row.w - 1)
        l->scroll = column - row.w + 1;
    grid_put(g, row, row.x - l->scroll, row.y, words, n, (style){0});
    grid_set_cursor(g, row.x + column - l->scroll, row.y);
}
