// SPDX-License-Identifier: MIT
#include "tui/part/chart/sampled.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void sampled_init(struct sampled *s, size_t columns, double from, double to)
{
    *s = (struct sampled){.columns = mem_array(columns, sizeof *s->columns),
        .n = columns,
        .from = from,
        .to = to,
        .fixed = to > from};
}

void sampled_done(struct sampled *s)
{
    free(s->columns);
    *s = (struct sampled){0};
}

static void merge(struct sample *into, const struct sample *next)
{
    bool gap = into->gap || next->gap;
    if (!into->n) {
        *into = *next;
    } else if (next->n) {
        into->low = fmin(into->low, next->low);
        into->high = fmax(into->high, next->high);
        into->sum += next->sum;
        into->n += next->n;
        into->last = next->last;
        into->x_last = next->x_last;
    }
    into->gap = gap;
}

// Doubles the range: at its end, or at its beginning.
static void widen(struct sampled *s, bool at_end)
{
    size_t half = s->n / 2, to = at_end ? 0 : half;
    struct sample *merged = mem_array(s->n, sizeof *merged);
    for (size_t i = 0; i < half; i++) {
        merged[to + i] = s->columns[2 * i];
        merge(&merged[to + i], &s->columns[2 * i + 1]);
    }
    free(s->columns);
    s->columns = merged;
    if (at_end)
        s->to = s->from + 2 * (s->to - s->from);
    else
        s->from = s->to - 2 * (s->to - s->from);
}

// Makes room for x. false: it is outside of a range that is given.
static bool reach(struct sampled *s, double x)
{
    enum { MOST = 200 }; // doublings: beyond, x has no place among the others
    if (s->fixed)
        return x >= s->from && x <= s->to;
    if (!s->any) {
        double unit = fmax(1e-9, fabs(x) * 1e-9); // what doubles still tell apart
        s->from = x;
        s->to = x + unit * (double)s->n;
    }
    for (int i = 0; i < MOST && (x < s->from || x >= s->to); i++)
        widen(s, x >= s->to);
    return x >= s->from && x < s->to;
}

void sampled_add(struct sampled *s, double x, double y)
{
    if (!isfinite(x) || !reach(s, x))
        return;
    s->any = true;
    size_t i = (size_t)((x - s->from) / (s->to - s->from) * (double)s->n);
    struct sample *c = &s->columns[i < s->n ? i : s->n - 1];
    struct sample one = {y, y, y, y, y, x, x, 1, false};
    if (isfinite(y))
        merge(c, &one);
    else
        c->gap = true;
}

size_t sampled_curve(const struct sampled *s, double *x, double *y)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct sample *c = &s->columns[i];
        if (!c->n && !c->gap)
            continue;
        double middle = (c->x_first + c->x_last) / 2;
        if (c->n < 2) {
            x[n] =
                c->n ? c->x_first : s->from + ((double)i + 0.5) * (s->to - s->from) / (double)s->n;
            y[n++] = c->n ? c->first : NAN;
            continue;
        }
        const double xs[] = {c->x_first, middle, middle, c->x_last},
                     ys[] = {c->first, c->low, c->high, c->last};
        memcpy(x + n, xs, sizeof xs);
        memcpy(y + n, ys, sizeof ys);
        n += SAMPLED_POINTS;
    }
    return n;
}

bool sampled_extent(const struct sampled *s, double *from, double *to)
{
    size_t first = 0, last = s->n;
    while (first < s->n && !s->columns[first].n)
        first++;
    while (last > first && !s->columns[last - 1].n)
        last--;
    if (first == last)
        return false;
    *from = fmin(s->columns[first].x_first, s->columns[first].x_last);
    *to = fmax(s->columns[last - 1].x_first, s->columns[last - 1].x_last);
    return true;
}

// One of the curves while its band is made: the columns around the place.
struct walk {
    const struct sampled *s;
    size_t next; // the first column beyond
    const struct sample *before;
};

static double place(const struct sample *c)
{
    return (c->x_first + c->x_last) / 2;
}

// {mean, low, high} of the curve at x, by the columns on both sides. false: x is beyond its ends.
static bool walk_to(struct walk *w, double x, double out[3])
{
    const struct sampled *s = w->s;
    for (; w->next < s->n && (!s->columns[w->next].n || place(&s->columns[w->next]) <= x);
         w->next++)
        if (s->columns[w->next].n)
            w->before = &s->columns[w->next];
    const struct sample *a = w->before, *b = w->next < s->n ? &s->columns[w->next] : NULL;
    if (!a && b && b->x_first <= x)
        a = b;
    if (!a || (!b && x > a->x_last && x > place(a)))
        return false;
    b = b ? b : a;
    double wide = place(b) - place(a), part = wide > 0 ? (x - place(a)) / wide : 0;
    const double of_a[] = {a->sum / a->n, a->low, a->high},
                 of_b[] = {b->sum / b->n, b->low, b->high};
    for (int i = 0; i < 3; i++)
        out[i] = of_a[i] + part * (of_b[i] - of_a[i]);
    return true;
}

void sampled_band(const struct sampled *const *curves, size_t n_curves, double from, double to,
    bool deviation, size_t n, double *x, double *mean, double *low, double *high)
{
    AUTO_FREE struct walk *walks = mem_array(n_curves + 1, sizeof *walks);
    for (size_t k = 0; k < n_curves; k++)
        walks[k].s = curves[k];
    for (size_t i = 0; i < n; i++) {
        double sum = 0, squares = 0, one[3], count = 0;
        x[i] = n > 1 ? from + (to - from) * (double)i / (double)(n - 1) : from;
        low[i] = INFINITY;
        high[i] = -INFINITY;
        for (size_t k = 0; k < n_curves; k++) {
            if (!walk_to(&walks[k], x[i], one))
                continue;
            count++;
            sum += one[0];
            squares += one[0] * one[0];
            low[i] = fmin(low[i], one[1]);
            high[i] = fmax(high[i], one[2]);
        }
        mean[i] = count > 0 ? sum / count : NAN;
        double spread = count > 1 ? sqrt(fmax(0, (squares - sum * mean[i]) / (count - 1))) : 0;
        if (deviation || !(count > 0)) {
            low[i] = mean[i] - spread;
            high[i] = mean[i] + spread;
        }
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool sampled_robust(const struct sampled *const *curves, size_t n_curves, double from, double to,
    double *lo, double *hi)
{
    enum { LEAST = 5 };
    size_t n = 0, room = 1;
    for (size_t k = 0; k < n_curves; k++)
        room += 2 * curves[k]->n;
    AUTO_FREE double *values = mem_array(room, sizeof *values);
    for (size_t k = 0; k < n_curves; k++)
        for (size_t i = 0; i < curves[k]->n; i++) {
            const struct sample *c = &curves[k]->columns[i];
            if (!c->n || c->x_last < from || c->x_first > to)
                continue;
            values[n++] = c->low;
            if (c->n > 1)
                values[n++] = c->high;
        }
    if (n < LEAST)
        return false;
    qsort(values, n, sizeof *values, by_value);
    *lo = values[(size_t)(0.05 * (double)(n - 1))];
    *hi = values[(size_t)ceil(0.95 * (double)(n - 1))];
    double margin = 0.05 * (*hi - *lo);
    *hi += margin;
    *lo -= *lo > 0 && *lo < margin ? *lo / 2 : margin; // a positive one stays so, for logarithms
    return *hi > *lo;
}
