// SPDX-License-Identifier: MIT
#include "tui/term/term.h"

#include "tui/term/ops.h"

void term_close(term *t)
{
    if (t)
        t->ops->close(t);
}

int term_fd(const term *t)
{
    return t->ops->fd(t);
}

bool term_ascii(const term *t)
{
    return t->ops->ascii(t);
}

int term_colors(const term *t)
{
    return t->ops->colors(t);
}

void term_size(const term *t, int *w, int *h)
{
    t->ops->size(t, w, h);
}

void term_present(term *t, const grid *g)
{
    t->ops->present(t, g);
}

void term_redraw(term *t)
{
    t->ops->redraw(t);
}

struct term_event term_read(term *t)
{
    return t->ops->read(t);
}

int term_wait_ms(const term *t)
{
    return t->ops->wait_ms(t);
}

void term_resized(term *t)
{
    t->ops->resized(t);
}

void term_leave(term *t)
{
    t->ops->leave(t);
}

int term_enter(term *t, err *e)
{
    return t->ops->enter(t, e);
}

int term_suspend(term *t, err *e)
{
    return t->ops->suspend(t, e);
}
