// SPDX-License-Identifier: MIT
#include "trainer/show.h"

#include "base/clock.h"

enum { BAR = 30 };

static void send(const show *s, const buf *text)
{
    if (s->sink.text)
        s->sink.text(s->sink.ctx, buf_cstr(text), text->len);
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)CLOCK_SEC;
}

show show_begin(fit_sink sink, int verbose, size_t steps)
{
    return (show){.sink = sink, .verbose = verbose, .steps = steps, .began = clock_mono()};
}

void show_epoch(const show *s, int epoch, int epochs)
{
    AUTO_BUF text = {0};
    buf_fmt(&text, "Epoch %d/%d\n", epoch + 1, epochs);
    if (s->verbose > 0)
        send(s, &text);
}

// "469/938 [==============>...............]"; the arrow is the last character until the bar is
// full.
static void bar(const show *s, size_t done, buf *out)
{
    size_t full = done * BAR / s->steps;
    buf_fmt(out, "\r%zu/%zu [", done, s->steps);
    for (size_t i = 0; i < BAR; i++)
        buf_char(out, i < full ? (i + 1 == full && full < BAR ? '>' : '=') : '.');
    buf_char(out, ']');
}

void show_step(show *s, size_t done, const logs *l)
{
    if (s->verbose != 1 || done >= s->steps)
        return;
    int64_t now = clock_mono();
    if (now - s->drawn < CLOCK_SEC / 10)
        return;
    s->drawn = now;
    AUTO_BUF text = {0};
    bar(s, done, &text);
    buf_fmt(
        &text, " - ETA: %.0fs", seconds(now - s->began) / (double)done * (double)(s->steps - done));
    logs_format(l, &text);
    send(s, &text);
}

void show_end(const show *s, const logs *l)
{
    AUTO_BUF text = {0};
    double took = seconds(clock_mono() - s->began);
    if (s->verbose < 1)
        return;
    if (s->verbose == 1) {
        bar(s, s->steps, &text);
        buf_fmt(&text, " - %.0fs %.0fms/step", took, took * 1000 / (double)s->steps);
    } else {
        buf_fmt(&text, "%zu/%zu - %.0fs", s->steps, s->steps, took);
    }
    logs_format(l, &text);
    buf_char(&text, '\n');
    send(s, &text);
}
