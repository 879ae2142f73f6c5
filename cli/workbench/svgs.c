// SPDX-License-Identifier: MIT
#include "cli/workbench/svgs.h"

#include "base/data/digest.h"
#include "base/loop/child.h"
#include "base/mem.h"
#include "base/str.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE = 32, SECONDS = 10, PNG_BYTES = 16 << 20, USUAL_W = 600, USUAL_H = 400, MOST = 2000 };

struct waiting {
    char key[SHA256_HEX];
    char *svg;
    size_t n;
};

struct svgs {
    loop *loop;
    album *album;
    void (*changed)(void *arg);
    void *arg;
    struct waiting queue[QUEUE];
    size_t n;
    child *child; // converts the first of the queue
    loop_timer *timer;
    buf png;
    bool over; // it has taken too long or said too much
};

// The number of an attribute, in pixels: "460.8pt", "100"; 0: it has none, or in another unit.
static double attribute(const char *tag, const char *name)
{
    AUTO_FREE char *wanted = str_fmt(" %s=", name);
    const char *at = strstr(tag, wanted);
    if (!at)
        return 0;
    at += strlen(wanted);
    char *end;
    double value = strtod(at + (*at == '"' || *at == '\''), &end);
    if (str_starts(end, "pt"))
        return value * 4 / 3;
    return *end == '"' || *end == '\'' || str_starts(end, "px") ? value : 0;
}

static bool view_box(const char *tag, double *w, double *h)
{
    const char *at = strstr(tag, " viewBox=");
    double x, y;
    return at && sscanf(at + strlen(" viewBox=") + 1, "%lf%*[ ,]%lf%*[ ,]%lf%*[ ,]%lf", &x, &y, w,
                     h) == 4;
}

void svgs_size(const char *svg, size_t n, int *width, int *height)
{
    AUTO_FREE char *words = mem_strndup(svg, n);
    char *tag = strstr(words, "<svg");
    char *end = tag ? strchr(tag, '>') : NULL;
    double w = 0, h = 0;
    if (end)
        *end = '\0';
    for (char *at = tag; at && *at; at++)
        if (*at == '\n' || *at == '\t' || *at == '\r')
            *at = ' ';
    if (tag) {
        w = attribute(tag, "width");
        h = attribute(tag, "height");
    }
    if (tag && !(w > 0 && h > 0) && !view_box(tag, &w, &h))
        w = h = 0;
    bool known = w >= 1 && h >= 1;
    double shrink = known && (w > h ? w : h) > MOST ? MOST / (w > h ? w : h) : 1;
    *width = known ? (int)(w * shrink + 0.5) : USUAL_W;
    *height = known ? (int)(h * shrink + 0.5) : USUAL_H;
    *width = *width < 1 ? 1 : *width;
    *height = *height < 1 ? 1 : *height;
}

static void begin(svgs *s);

static void drop_first(svgs *s)
{
    free(s->queue[0].svg);
    memmove(s->queue, s->queue + 1, --s->n * sizeof *s->queue);
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    svgs *s = arg;
    if (fd != 1)
        return;
    s->over = s->over || s->png.len + n > PNG_BYTES;
    if (s->over)
        child_kill(s->child, SIGKILL);
    else
        buf_add(&s->png, bytes, n);
}

static void on_late(void *arg)
{
    svgs *s = arg;
    s->over = true;
    if (s->child)
        child_kill(s->child, SIGKILL);
}

static void on_exited(void *arg, int code, int signum)
{
    svgs *s = arg;
    bool made = code == 0 && !s->over && s->png.len;
    loop_timer_stop(s->timer);
    child_free(STEAL(s->child));
    album_converted(s->album, s->queue[0].key, s->png.data, made ? s->png.len : 0);
    drop_first(s);
    if (made)
        s->changed(s->arg);
    begin(s);
}

// Without the program, SVGs are lines, as before.
static void give_up(svgs *s)
{
    album_converter(s->album, NULL, NULL);
    while (s->n)
        drop_first(s);
}

static void begin(svgs *s)
{
    static const struct child_ops ops = {.output = on_output, .exited = on_exited};
    err e = {0};
    char width[16], height[16];
    int w, h;
    if (s->child || !s->n)
        return;
    svgs_size(s->queue[0].svg, s->queue[0].n, &w, &h);
    snprintf(width, sizeof width, "%d", w);
    snprintf(height, sizeof height, "%d", h);
    const char *argv[] = {"rsvg-convert", "--format", "png", "--keep-aspect-ratio", "--width",
        width, "--height", height, NULL};
    struct child_spec spec = {
        .argv = argv, .cwd = "/", .input = s->queue[0].svg, .input_n = s->queue[0].n};
    buf_clear(&s->png);
    s->over = false;
    s->child = child_spawn(s->loop, &spec, &ops, s, &e);
    if (!s->child)
        give_up(s);
    else
        loop_timer_start(s->timer, SECONDS * 1000, 0);
}

static void convert(void *arg, const char *key, const char *svg, size_t n)
{
    svgs *s = arg;
    if (s->n == QUEUE)
        return;
    struct waiting *one = &s->queue[s->n++];
    *one = (struct waiting){.svg = mem_strndup(svg, n), .n = n};
    str_fit(one->key, sizeof one->key, key);
    begin(s);
}

svgs *svgs_new(loop *l, album *a, void (*changed)(void *arg), void *arg)
{
    svgs *s = mem_alloc(sizeof *s);
    *s = (svgs){.loop = l, .album = a, .changed = changed, .arg = arg};
    s->timer = loop_timer_new(l, on_late, s);
    album_converter(a, convert, s);
    return s;
}

void svgs_free(svgs *s)
{
    if (!s)
        return;
    child_free(s->child);
    album_converter(s->album, NULL, NULL);
    while (s->n)
        drop_first(s);
    loop_timer_free(s->timer);
    buf_done(&s->png);
    free(s);
}
