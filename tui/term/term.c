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

void term_continued(term *t)
{
    t->ops->continued(t);
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

enum focus term_focus(const term *t)
{
    return t->ops->focus(t);
}

bool term_mouse(term *t, bool on)
{
    return t->ops->mouse(t, on);
}

void term_title(term *t, const char *text)
{
    t->ops->title(t, text);
}

int term_copy(term *t, const char *bytes, size_t n, err *e)
{
    if (n > TERM_COPY_MAX)
        return err_set(e, ERR_LIMIT,
            "%zu KiB are too much for a terminal's clipboard, which takes %d", (n + 1023) / 1024,
            TERM_COPY_MAX / 1024);
    return t->ops->copy(t, bytes, n, e);
}

void term_notify(term *t, const char *title, const char *words)
{
    t->ops->notify(t, title, words);
}
