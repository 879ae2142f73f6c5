// SPDX-License-Identifier: MIT
#include "tui/part/scroll.h"

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

void scroll_fit(struct scroll *s, size_t n, int h)
{
    size_t rows = h > 0 ? (size_t)h : 1;
    s->n = n;
    s->h = h;
    s->at = at_most(s->at, n ? n - 1 : 0);
    s->top = at_most(s->top, n > rows ? n - rows : 0);
    s->top = at_most(s->top, s->at);
    if (s->at >= s->top + rows)
        s->top = s->at - rows + 1;
}

void scroll_fit_text(struct scroll *s, size_t n, int h)
{
    size_t rows = h > 0 ? (size_t)h : 1;
    s->n = n;
    s->h = h;
    s->top = s->at = at_most(s->at, n > rows ? n - rows : 0);
}

bool scroll_act(struct scroll *s, enum action a)
{
    size_t page = s->h > 2 ? (size_t)s->h - 1 : 1, last = s->n ? s->n - 1 : 0;
    switch ((int)a) {
    case ACT_ROW_NEXT:
        s->at = at_most(s->at + 1, last);
        return true;
    case ACT_ROW_PREVIOUS:
        s->at -= s->at > 0;
        return true;
    case ACT_PAGE_DOWN:
        s->at = at_most(s->at + page, last);
        return true;
    case ACT_PAGE_UP:
        s->at -= at_most(page, s->at);
        return true;
    case ACT_ROW_FIRST:
        s->at = 0;
        return true;
    case ACT_ROW_LAST:
        s->at = last;
        return true;
    }
    return false;
}

enum pointed scroll_point(struct scroll *s, const struct mouse *m, int y)
{
    enum { WHEEL = 3 };
    size_t last = s->n ? s->n - 1 : 0, row = m->y < y ? s->n : s->top + (size_t)(m->y - y);
    switch (m->kind) {
    case MOUSE_UP:
        s->at -= at_most(WHEEL, s->at);
        return POINT_MOVED;
    case MOUSE_DOWN:
        s->at = at_most(s->at + WHEEL, last);
        return POINT_MOVED;
    default:
        if (row >= s->n || m->y - y >= s->h)
            return POINT_NONE;
        s->at = row;
        return m->kind == MOUSE_DOUBLE ? POINT_OPEN : POINT_MOVED;
    }
}
