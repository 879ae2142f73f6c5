// SPDX-License-Identifier: MIT
// A terminal in memory: it parses keys from their names, and keeps grids.
#include "base/mem.h"
#include "base/str.h"
#include "tui/term/ops.h"

#include <string.h>

struct event {
    struct term_event event;
    char *text;
};

struct fake {
    term base;
    grid *shown;
    int w, h, presents;
    struct event *events; // a queue: [next…n)
    size_t next, n;
    char *lent; // the text of the paste that was read last
};

static void push(struct fake *f, struct term_event ev, char *text)
{
    f->events = mem_resize(f->events, f->n + 1, sizeof *f->events);
    f->events[f->n++] = (struct event){ev, text};
}

void term_fake_type(term *t, const char *keys)
{
    for (size_t len; *keys; keys += len) {
        if (*keys == ' ') {
            len = 1;
            continue;
        }
        key k = key_parse(keys, strlen(keys), &len);
        if (!k)
            abort(); // the test has a wrong key name
        push((struct fake *)t, (struct term_event){.kind = EVENT_KEY, .key = k}, NULL);
    }
}

void term_fake_paste(term *t, const char *text)
{
    char *copy = mem_strdup(text);
    struct term_event ev = {.kind = EVENT_PASTE, .text = copy, .n = strlen(text)};
    push((struct fake *)t, ev, copy);
}

void term_fake_resize(term *t, int w, int h)
{
    struct fake *f = (struct fake *)t;
    f->w = w;
    f->h = h;
    push(f, (struct term_event){.kind = EVENT_RESIZE, .w = w, .h = h}, NULL);
}

const grid *term_fake_grid(const term *t)
{
    return ((const struct fake *)t)->shown;
}

int term_fake_presents(const term *t)
{
    return ((const struct fake *)t)->presents;
}

static struct term_event fake_read(term *t)
{
    struct fake *f = (struct fake *)t;
    free(f->lent);
    f->lent = NULL;
    if (f->next == f->n)
        return (struct term_event){.kind = EVENT_NONE};
    struct event *ev = &f->events[f->next++];
    f->lent = STEAL(ev->text);
    return ev->event;
}

static void fake_close(term *t)
{
    struct fake *f = (struct fake *)t;
    for (size_t i = f->next; i < f->n; i++)
        free(f->events[i].text);
    free(f->events);
    free(f->lent);
    grid_free(f->shown);
    free(f);
}

static void fake_present(term *t, const grid *g)
{
    struct fake *f = (struct fake *)t;
    grid_copy(f->shown, g);
    f->presents++;
}

static void fake_size(const term *t, int *w, int *h)
{
    *w = ((const struct fake *)t)->w;
    *h = ((const struct fake *)t)->h;
}

static int fake_fd(const term *t)
{
    return -1;
}

static bool fake_ascii(const term *t)
{
    return false;
}

static int fake_colors(const term *t)
{
    return 256;
}

static void fake_nothing(term *t)
{
}

static int fake_wait_ms(const term *t)
{
    return -1;
}

static int fake_succeed(term *t, err *e)
{
    return 0;
}

static enum focus fake_focus(const term *t)
{
    return FOCUS_UNKNOWN;
}

static bool fake_mouse(term *t, bool on)
{
    return true;
}

static int fake_copy(term *t, const char *bytes, size_t n, err *e)
{
    return 0;
}

static void fake_title(term *t, const char *text)
{
}

static void fake_notify(term *t, const char *title, const char *words)
{
}

static const struct term_ops fake_ops = {
    .close = fake_close,
    .fd = fake_fd,
    .ascii = fake_ascii,
    .colors = fake_colors,
    .size = fake_size,
    .present = fake_present,
    .redraw = fake_nothing,
    .read = fake_read,
    .wait_ms = fake_wait_ms,
    .resized = fake_nothing,
    .continued = fake_nothing,
    .leave = fake_nothing,
    .enter = fake_succeed,
    .suspend = fake_succeed,
    .focus = fake_focus,
    .mouse = fake_mouse,
    .title = fake_title,
    .copy = fake_copy,
    .notify = fake_notify,
};

term *term_fake_open(int w, int h)
{
    struct fake *f = mem_alloc(sizeof *f);
    f->base.ops = &fake_ops;
    f->shown = grid_new(w, h);
    f->w = w;
    f->h = h;
    return &f->base;
}
