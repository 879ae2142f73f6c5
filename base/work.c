// SPDX-License-Identifier: MIT
#include "base/work.h"

#include "base/clock.h"

#include <math.h>

// Seconds: how long an earlier rate is remembered, how long one must watch before one can say what
// is left, and how long nothing may move before that is said.
static const double memory = 4, watched = 2, patience = 3;

void work_begin(struct work *w, const char *what, enum work_unit unit, const char *noun)
{
    int64_t now = clock_mono();
    *w = (struct work){.what = what, .unit = unit, .noun = noun, .began = now};
    w->pace.looked = w->pace.moved = now;
}

void work_skip(struct work *w, int64_t n)
{
    if (!w)
        return;
    atomic_fetch_add(&w->skipped, n);
    atomic_fetch_add(&w->done, n);
}

void work_total(struct work *w, int64_t total)
{
    if (w)
        atomic_store(&w->total, total > 0 ? total : 0);
}

void work_more(struct work *w, int64_t n)
{
    if (w)
        atomic_fetch_add(&w->total, n);
}

void work_phase(struct work *w, const char *phase, enum work_unit unit, int64_t total)
{
    if (!w)
        return;
    atomic_store(&w->unit, unit);
    atomic_store(&w->total, total > 0 ? total : 0);
    atomic_store(&w->skipped, 0);
    atomic_store(&w->done, 0);
    atomic_store(&w->phase, phase);
}

void work_parts(struct work *w, int64_t parts)
{
    if (w)
        atomic_store(&w->parts, parts);
}

void work_part(struct work *w, bool cached)
{
    if (!w)
        return;
    atomic_fetch_add(&w->part, 1);
    if (cached)
        atomic_fetch_add(&w->cached, 1);
}

static double in_seconds(int64_t ns)
{
    return (double)ns / (double)CLOCK_SEC;
}

// Of a phase that begins, or of bytes that are sent again, less is done than before: no speed.
static void keep_pace(struct work_pace *p, int64_t at, int64_t now)
{
    double passed = in_seconds(now - p->looked);
    if (passed <= 0)
        return;
    if (at != p->at)
        p->moved = now;
    if (at >= p->at) {
        double old = exp(-passed / memory);
        p->rate = old * p->rate + (1 - old) * (double)(at - p->at) / passed;
        p->weight = old * p->weight + (1 - old);
    } else {
        p->rate = p->weight = 0;
    }
    p->at = at;
    p->looked = now;
}

struct work_state work_look(struct work *w, int64_t now)
{
    struct work_pace *p = &w->pace;
    struct work_state s = {.what = w->what,
        .noun = w->noun,
        .unit = (enum work_unit)atomic_load(&w->unit),
        .phase = atomic_load(&w->phase),
        .done = atomic_load(&w->done),
        .total = atomic_load(&w->total),
        .part = atomic_load(&w->part),
        .parts = atomic_load(&w->parts),
        .cached = atomic_load(&w->cached),
        .elapsed = in_seconds(now - w->began),
        .rate = NAN,
        .left = NAN};
    keep_pace(p, s.done - atomic_load(&w->skipped), now);
    double idle = in_seconds(now - p->moved);
    s.idle = idle >= patience ? idle : 0;
    if (s.total && s.total < s.done)
        s.total = s.done;
    if (p->weight > 0 && p->rate / p->weight > 0 && !s.idle)
        s.rate = p->rate / p->weight;
    if (s.total && s.elapsed >= watched && !isnan(s.rate))
        s.left = (double)(s.total - s.done) / s.rate;
    return s;
}

static const struct {
    double from, by;
} scales[] = {{999.95e6, 1e9}, {999.95e3, 1e6}, {1e3, 1e3}, {0, 1}};
static const char *const names[] = {"GB", "MB", "KB", "B"};

static size_t scale_of(int64_t bytes)
{
    size_t i = 0;
    while ((double)bytes < scales[i].from)
        i++;
    return i;
}

void work_bytes_text(buf *out, int64_t bytes)
{
    size_t i = scale_of(bytes > 0 ? bytes : 0);
    buf_fmt(out,
        i == 3 ? "%.0f %s"
        : i    ? "%.1f %s"
               : "%.2f %s",
        (double)bytes / scales[i].by, names[i]);
}

void work_rate_text(buf *out, double rate)
{
    if (rate >= 999.5)
        buf_fmt(out, "%.1fk/s", rate / 1000);
    else
        buf_fmt(out, rate >= 9.95 ? "%.0f/s" : rate >= 0.995 ? "%.1f/s" : "%.2f/s", rate);
}

void work_time_text(buf *out, double seconds)
{
    if (seconds < 60)
        buf_fmt(out, seconds < 9.95 ? "%.1fs" : "%.0fs", seconds);
    else if (seconds < 3.15e9)
        duration_format(out, (int64_t)(seconds * (double)CLOCK_SEC));
    else
        buf_str(out, "years");
}

static void next(buf *out, size_t from)
{
    if (out->len > from)
        buf_str(out, ", ");
}

// "41.2/120.0 MB", "3/10 files", "41.2 MB".
static void amount(const struct work_state *s, buf *out)
{
    const char *noun = s->noun && !s->parts ? s->noun : "";
    if (s->unit == WORK_BYTES && !s->total) {
        work_bytes_text(out, s->done);
    } else if (s->unit == WORK_BYTES) {
        size_t i = scale_of(s->total);
        buf_fmt(out, i == 3 ? "%.0f/" : i ? "%.1f/" : "%.2f/", (double)s->done / scales[i].by);
        work_bytes_text(out, s->total);
    } else if (s->total) {
        buf_fmt(
            out, "%lld/%lld%s%s", (long long)s->done, (long long)s->total, *noun ? " " : "", noun);
    } else {
        buf_fmt(out, "%lld%s%s", (long long)s->done, *noun ? " " : "", noun);
    }
}

static void speed(const struct work_state *s, double rate, buf *out)
{
    if (s->unit == WORK_BYTES) {
        work_bytes_text(out, (int64_t)rate);
        buf_str(out, "/s");
    } else {
        work_rate_text(out, rate);
    }
}

static void parts(const struct work_state *s, bool ended, size_t from, buf *out)
{
    const char *noun = s->noun ? s->noun : "parts";
    if (!s->parts)
        return;
    next(out, from);
    if (ended)
        buf_fmt(out, "%lld %s", (long long)s->parts, noun);
    else
        buf_fmt(out, "%lld/%lld %s", (long long)s->part, (long long)s->parts, noun);
    if (s->cached)
        buf_fmt(out, ", %lld cached", (long long)s->cached);
}

void work_words(const struct work_state *s, buf *out)
{
    size_t from = out->len;
    bool counts = s->done || s->total;
    if (s->phase)
        buf_fmt(out, "%s%s", s->phase, counts ? " " : "");
    if (counts)
        amount(s, out);
    if (!isnan(s->rate)) {
        next(out, from);
        speed(s, s->rate, out);
    }
    if (s->idle) {
        next(out, from);
        buf_str(out, counts ? "nothing new for " : "for ");
        work_time_text(out, counts ? s->idle : s->elapsed);
    } else if (!isnan(s->left)) {
        next(out, from);
        work_time_text(out, s->left);
        buf_str(out, " left");
    } else if (!counts) {
        next(out, from);
        buf_str(out, "for ");
        work_time_text(out, s->elapsed);
    }
    parts(s, false, from, out);
}

void work_result(const struct work_state *s, buf *out)
{
    size_t from = out->len;
    if (s->done)
        amount(&(struct work_state){.unit = s->unit, .done = s->done, .noun = s->noun}, out);
    buf_str(out, s->done ? " in " : "in ");
    work_time_text(out, s->elapsed);
    parts(s, true, from, out);
}
