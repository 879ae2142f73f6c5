// SPDX-License-Identifier: MIT
#include "tui/edit/cursor.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <ctype.h>
#include <string.h>

// Letters, digits and underscores; anything beyond ASCII counts as a letter.
static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static pos left(const text *t, pos p)
{
    size_t n;
    const char *line = text_line(t, p.line, &n);
    if (p.byte > 0)
        return (pos){p.line, p.byte - utf8_cluster_before(line, p.byte)};
    if (p.line == 0)
        return p;
    text_line(t, p.line - 1, &n);
    return (pos){p.line - 1, n};
}

static pos right(const text *t, pos p)
{
    size_t n;
    const char *line = text_line(t, p.line, &n);
    if (p.byte < n)
        return (pos){p.line, p.byte + utf8_cluster(line + p.byte, n - p.byte)};
    return p.line + 1 < text_lines(t) ? (pos){p.line + 1, 0} : p;
}

static pos word_left(const text *t, pos p)
{
    if (p.byte == 0)
        p = left(t, p);
    const char *line = text_line(t, p.line, NULL);
    size_t len;
    while ((len = utf8_cluster_before(line, p.byte)) && !is_word(line[p.byte - len]))
        p.byte -= len;
    while ((len = utf8_cluster_before(line, p.byte)) && is_word(line[p.byte - len]))
        p.byte -= len;
    return p;
}

static pos word_right(const text *t, pos p)
{
    size_t n;
    text_line(t, p.line, &n);
    if (p.byte == n)
        p = right(t, p);
    const char *line = text_line(t, p.line, &n);
    while (p.byte < n && !is_word(line[p.byte]))
        p.byte += utf8_cluster(line + p.byte, n - p.byte);
    while (p.byte < n && is_word(line[p.byte]))
        p.byte += utf8_cluster(line + p.byte, n - p.byte);
    return p;
}

int cursor_column(const text *t, pos p)
{
    return text_width(text_line(t, p.line, NULL), p.byte, 0);
}

// The position at (or left of) a screen column.
static pos cursor_at_column(const text *t, size_t line, int column)
{
    size_t n;
    const char *s = text_line(t, line, &n);
    int width;
    size_t byte = column > 0 ? text_fit(s, n, column, &width) : 0;
    return (pos){line, byte};
}

static pos vertical(const text *t, pos p, bool down, size_t lines, int *goal)
{
    if (*goal < 0)
        *goal = cursor_column(t, p);
    size_t last = text_lines(t) - 1;
    if (down)
        p.line = last - p.line < lines ? last : p.line + lines;
    else
        p.line = p.line < lines ? 0 : p.line - lines;
    return cursor_at_column(t, p.line, *goal);
}

static pos line_start(const text *t, pos p)
{
    const char *line = text_line(t, p.line, NULL);
    size_t indent = strspn(line, " \t");
    return (pos){p.line, p.byte == indent ? 0 : indent};
}

static pos horizontal(const text *t, pos p, enum move m)
{
    size_t n;
    switch (m) {
    case MOVE_LEFT:
        return left(t, p);
    case MOVE_RIGHT:
        return right(t, p);
    case MOVE_WORD_LEFT:
        return word_left(t, p);
    case MOVE_WORD_RIGHT:
        return word_right(t, p);
    case MOVE_LINE_START:
        return line_start(t, p);
    case MOVE_LINE_END:
        text_line(t, p.line, &n);
        return (pos){p.line, n};
    case MOVE_TEXT_START:
        return (pos){0, 0};
    case MOVE_TEXT_END:
        return text_end(t);
    default:
        return p;
    }
}

pos cursor_move(const text *t, pos p, enum move m, size_t page, int *goal)
{
    switch (m) {
    case MOVE_UP:
    case MOVE_DOWN:
        return vertical(t, p, m == MOVE_DOWN, 1, goal);
    case MOVE_PAGE_UP:
    case MOVE_PAGE_DOWN:
        return vertical(t, p, m == MOVE_PAGE_DOWN, page ? page : 1, goal);
    default:
        p = horizontal(t, p, m);
        *goal = -1; // computed again when a vertical move needs it
        return p;
    }
}

// The bracket at p, 0: none; *other is its partner, *back tells whether that stands before it.
static char bracket_at(const text *t, pos p, char *other, bool *back)
{
    static const char pairs[] = "()[]{}";
    size_t n;
    const char *line = text_line(t, p.line, &n), *found;
    if (p.byte >= n || !(found = strchr(pairs, line[p.byte])) || !*found)
        return 0;
    *back = (found - pairs) % 2;
    *other = *back ? found[-1] : found[1];
    return *found;
}

static bool step(const text *t, pos *p, bool back)
{
    size_t n;
    text_line(t, p->line, &n);
    if (back ? p->byte > 0 : p->byte + 1 < n) {
        p->byte += back ? (size_t)-1 : 1;
        return true;
    }
    do {
        if (back ? p->line == 0 : p->line + 1 >= text_lines(t))
            return false;
        p->line += back ? (size_t)-1 : 1;
        text_line(t, p->line, &n);
    } while (!n);
    p->byte = back ? n - 1 : 0;
    return true;
}

bool cursor_bracket(const text *t, pos p, pos *here, pos *there)
{
    enum { FAR = 8000 };
    char other, own;
    bool back;
    *here = p;
    if (!(own = bracket_at(t, p, &other, &back))) {
        if (!p.byte)
            return false;
        here->byte--;
        if (!(own = bracket_at(t, *here, &other, &back)))
            return false;
    }
    int depth = 1;
    *there = *here;
    for (int left = FAR; left > 0 && step(t, there, back); left--) {
        char c = text_line(t, there->line, NULL)[there->byte];
        depth += (c == own) - (c == other);
        if (!depth)
            return true;
    }
    return false;
}
