// SPDX-License-Identifier: MIT
// Follows runs: finds what they measure, and takes each value into the columns of its line once.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/view/metrics/metrics.h"

#include <math.h>
#include <string.h>

enum { DESCRIBE_MS = 1000 };

const double metrics_weights[METRICS_WEIGHTS] = {0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999};

static const fold *fold_of(const struct metrics_view *v, const struct source *s)
{
    return feed_fold(&v->feeds, s->feed);
}

static size_t add_source(struct metrics_view *v, size_t feed, const char *child)
{
    for (size_t i = 0; i < v->n_sources; i++)
        if (v->sources[i].feed == feed && str_eq(v->sources[i].child, child))
            return i;
    if (v->n_sources == METRICS_SOURCES) {
        v->left_out++;
        return SIZE_MAX;
    }
    v->sources = mem_resize(v->sources, v->n_sources + 1, sizeof *v->sources);
    v->sources[v->n_sources] = (struct source){.feed = feed, .child = mem_strdup(child)};
    return v->n_sources++;
}

void metrics_add(struct metrics_view *v, const char *run, bool whole)
{
    const char *slash = strchr(run, '/');
    AUTO_FREE char *of = mem_strndup(run, slash ? (size_t)(slash - run) : strlen(run));
    size_t feed = feeds_add(&v->feeds, of);
    v->feeds.list[feed].whole = v->feeds.list[feed].whole || (whole && !slash);
    add_source(v, feed, slash ? slash + 1 : NULL);
}

static size_t source_of(struct metrics_view *v, size_t feed, const char *child)
{
    for (size_t i = 0; i < v->n_sources; i++)
        if (v->sources[i].feed == feed && str_eq(v->sources[i].child, child))
            return i;
    return v->feeds.list[feed].whole ? add_source(v, feed, child) : SIZE_MAX;
}

static size_t metric_named(struct metrics_view *v, const char *name)
{
    for (size_t i = 0; i < v->n_metrics; i++)
        if (str_eq(v->metrics[i].name, name))
            return i;
    v->metrics = mem_resize(v->metrics, v->n_metrics + 1, sizeof *v->metrics);
    // what tells where one is, is nothing to look at
    bool place = str_eq(name, "epoch") || str_eq(name, "step");
    v->metrics[v->n_metrics] = (struct metric_of_view){mem_strdup(name), !place};
    return v->n_metrics++;
}

static struct metric_line *line_of(
    struct metrics_view *v, size_t feed, const struct fold_series *s, size_t most)
{
    size_t source = source_of(v, feed, s->child);
    if (source == SIZE_MAX)
        return NULL;
    size_t metric = metric_named(v, s->name);
    for (size_t i = 0; i < v->n_lines; i++) {
        struct metric_line *l = &v->lines[i];
        if (l->source == source && l->metric == metric && str_eq(l->branch, s->branch))
            return l;
    }
    if (v->n_lines >= most)
        return NULL;
    v->lines = mem_resize(v->lines, v->n_lines + 1, sizeof *v->lines);
    struct metric_line *l = &v->lines[v->n_lines++];
    *l = (struct metric_line){.source = source, .metric = metric, .branch = mem_strdup(s->branch)};
    l->stale = true;
    v->sources[source].measures = true;
    return l;
}

static struct piece *add_piece(struct metric_line *l, size_t series, int64_t shown)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->pieces[i].series == series && l->pieces[i].shown == shown)
            return &l->pieces[i];
    l->pieces = mem_resize(l->pieces, l->n + 1, sizeof *l->pieces);
    l->pieces[l->n] = (struct piece){.series = series, .shown = shown};
    l->stale = l->stale || l->count; // what came before is among the others now
    return &l->pieces[l->n++];
}

struct looking {
    struct metrics_view *v;
    size_t feed;
};

// Epochs of a training: a copy, since their display is another one after the next update.
static void take_training(void *arg, const struct fold_shown_series *s)
{
    const struct looking *look = arg;
    struct metric_line *l = line_of(look->v, look->feed, &s->series, METRICS_LINES);
    struct piece *p = l ? add_piece(l, SIZE_MAX, s->display) : NULL;
    if (!p || (p->own && p->state == s->updates && p->n_own == s->series.n))
        return;
    bool grew = p->n_own <= s->series.n &&
                (!p->n_own || memcmp(p->own, s->series.points, p->n_own * sizeof *p->own) == 0);
    l->stale = l->stale || !grew;
    p->own = mem_resize(p->own, s->series.n + 1, sizeof *p->own);
    memcpy(p->own, s->series.points, s->series.n * sizeof *p->own);
    p->n_own = s->series.n;
    p->state = s->updates;
}

// The parameters by which sources are told apart.
static void describe(struct metrics_view *v, size_t feed)
{
    const fold *f = feed_fold(&v->feeds, feed);
    AUTO_JSON *results = NULL, *children = NULL;
    for (size_t i = 0; i < v->n_sources; i++) {
        struct source *s = &v->sources[i];
        const cJSON *child, *params = NULL;
        if (s->feed != feed)
            continue;
        s->began = fold_started(f);
        if (!s->child) {
            results = results ? results : fold_results(f);
            params = json_get(results, "params");
        } else {
            children = children ? children : fold_children(f);
            cJSON_ArrayForEach(child, children)
            {
                const char *name = json_str_or(child, "run", ""), *slash = strchr(name, '/');
                if (!slash || !str_eq(slash + 1, s->child))
                    continue;
                params = json_get(child, "params");
                s->began = json_int_or(child, "began", s->began);
            }
        }
        cJSON_Delete(s->params);
        s->params = params ? cJSON_Duplicate(params, true) : NULL;
    }
}

// A run that begins anew in the open notebook: all that was known of it is of the past.
static void forget_feed(struct metrics_view *v, size_t feed)
{
    for (size_t i = 0; i < v->n_lines; i++) {
        struct metric_line *l = &v->lines[i];
        if (v->sources[l->source].feed != feed)
            continue;
        for (size_t k = 0; k < l->n; k++)
            free(l->pieces[k].own);
        l->n = 0;
        l->stale = true;
    }
    v->feeds.list[feed].known = 0;
}

static bool find_new(struct metrics_view *v, size_t i)
{
    struct feed *feed = &v->feeds.list[i];
    const fold *f = feed_fold(&v->feeds, i);
    if (!f || feed->seq == fold_seq(f))
        return false;
    size_t n_lines = v->n_lines, n_sources = v->n_sources, n = fold_series_count(f);
    if (fold_seq(f) < feed->seq || n < feed->known)
        forget_feed(v, i);
    for (; feed->known < n; feed->known++) {
        struct fold_series s = fold_series(f, feed->known);
        struct metric_line *l = line_of(v, i, &s, METRICS_LINES);
        if (l)
            add_piece(l, feed->known, 0);
    }
    struct looking look = {v, i};
    fold_trainings(f, take_training, &look);
    feed->seq = fold_seq(f);
    bool found = n_lines != v->n_lines || n_sources != v->n_sources;
    bool due = clock_mono() - feed->described > DESCRIBE_MS * CLOCK_MS;
    if (!found && !due)
        return false;
    describe(v, i);
    feed->described = clock_mono();
    return true;
}

const struct metric_point *metrics_points(
    const struct metrics_view *v, const struct metric_line *l, size_t piece, size_t *n)
{
    const struct piece *p = &l->pieces[piece];
    if (p->series == SIZE_MAX) {
        *n = p->n_own;
        return p->own;
    }
    struct fold_series s = fold_series(fold_of(v, &v->sources[l->source]), p->series);
    *n = s.n;
    return s.points;
}

// The epoch that was recorded at this step, or before it.
static double epoch_at(
    const struct metrics_view *v, const struct metric_line *l, const struct metric_point *p)
{
    const struct metric_line *epochs = NULL;
    for (size_t i = 0; i < v->n_lines && !epochs; i++)
        if (v->lines[i].source == l->source && str_eq(v->lines[i].branch, l->branch) &&
            str_eq(v->metrics[v->lines[i].metric].name, "epoch"))
            epochs = &v->lines[i];
    size_t n = 0, lo = 0;
    const struct metric_point *all = epochs && epochs->n ? metrics_points(v, epochs, 0, &n) : NULL;
    for (size_t hi = n; lo < hi;) {
        size_t middle = (lo + hi) / 2;
        if (all[middle].step <= p->step)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo ? all[lo - 1].value : NAN;
}

double metrics_x(const struct metrics_view *v, const struct metric_line *l,
    const struct metric_point *p, size_t count)
{
    switch (v->axis) {
    case AXIS_EPOCH:
        return l->pieces[0].series == SIZE_MAX ? (double)p->step : epoch_at(v, l, p);
    case AXIS_RELATIVE:
        return (double)(p->wall - v->sources[l->source].began) / (double)CLOCK_SEC;
    case AXIS_WALL:
        return (double)p->wall / (double)CLOCK_SEC;
    default:
        return p->step != METRIC_NO_STEP ? (double)p->step : (double)count + 1;
    }
}

static void begin_anew(const struct metrics_view *v, struct metric_line *l)
{
    sampled_done(&l->raw);
    sampled_done(&l->even);
    double from = v->log_x && v->from > 0 ? log10(v->from) : v->from,
           to = v->log_x && v->from > 0 ? log10(v->to) : v->to;
    bool part = v->from < v->to && (!v->log_x || v->from > 0);
    sampled_init(&l->raw, v->columns, part ? from : 0, part ? to : 0);
    if (metrics_weights[v->smooth] > 0)
        sampled_init(&l->even, v->columns, part ? from : 0, part ? to : 0);
    l->smooth = smooth_of(metrics_weights[v->smooth]);
    l->count = 0;
    l->last = NAN;
    l->reach = -INFINITY;
    l->stale = false;
    for (size_t i = 0; i < l->n; i++)
        l->pieces[i].seen = 0;
}

static void look_at_age(const struct metrics_view *v, struct metric_line *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct piece *p = &l->pieces[i];
        if (p->series == SIZE_MAX)
            continue;
        struct fold_series s = fold_series(fold_of(v, &v->sources[l->source]), p->series);
        l->stale = l->stale || (p->seen && (s.age != p->state || s.n < p->seen));
        p->state = s.age;
    }
}

static void draw_anew(
    struct metric_line *l, const struct sampled *s, bool log, double **x, double **y, size_t *n)
{
    *x = mem_resize(*x, s->n * SAMPLED_POINTS + 1, sizeof **x);
    *y = mem_resize(*y, s->n * SAMPLED_POINTS + 1, sizeof **y);
    *n = sampled_curve(s, *x, *y);
    for (size_t i = 0; log && i < *n; i++)
        (*x)[i] = pow(10, (*x)[i]);
}

// Takes the values that are new into the columns.
static void sample(const struct metrics_view *v, struct metric_line *l)
{
    look_at_age(v, l);
    bool anew = l->stale;
    if (anew)
        begin_anew(v, l);
    size_t was = l->count;
    for (size_t i = 0; i < l->n; i++) {
        size_t n;
        const struct metric_point *points = metrics_points(v, l, i, &n);
        for (struct piece *p = &l->pieces[i]; p->seen < n; p->seen++) {
            double x = metrics_x(v, l, &points[p->seen], l->count++),
                   y = smooth_next(&l->smooth, points[p->seen].value);
            l->reach = isfinite(x) ? fmax(l->reach, x) : l->reach;
            x = !v->log_x ? x : x > 0 ? log10(x) : NAN;
            sampled_add(&l->raw, x, points[p->seen].value);
            if (l->even.n)
                sampled_add(&l->even, x, y);
            l->last = y;
        }
    }
    if (!anew && l->count == was)
        return;
    draw_anew(l, &l->raw, v->log_x, &l->x, &l->y, &l->n_drawn);
    l->n_even = 0;
    if (l->even.n)
        draw_anew(l, &l->even, v->log_x, &l->even_x, &l->even_y, &l->n_even);
}

void metrics_anew(struct metrics_view *v)
{
    for (size_t i = 0; i < v->n_lines; i++)
        v->lines[i].stale = true;
}

bool metrics_in_sight(const struct metrics_view *v, const struct metric_line *l)
{
    size_t first, n = metrics_shown(v, &first);
    for (size_t i = first; i < first + n; i++)
        if (metrics_is_shown(v, l, i))
            return true;
    return false;
}

static void find_ends(struct metrics_view *v)
{
    double from, to;
    v->least = INFINITY;
    v->most = -INFINITY;
    for (size_t i = 0; i < v->n_lines; i++) {
        if (v->lines[i].stale || !v->lines[i].raw.n || !metrics_in_sight(v, &v->lines[i]) ||
            !sampled_extent(&v->lines[i].raw, &from, &to))
            continue;
        v->least = fmin(v->least, v->log_x ? pow(10, from) : from);
        v->most = fmax(v->most, v->log_x ? pow(10, to) : to);
    }
}

void metrics_follow(struct metrics_view *v, int ms)
{
    bool found = false;
    feeds_read(&v->feeds, ms);
    v->left_out = 0;
    for (size_t i = 0; i < v->feeds.n; i++)
        found = find_new(v, i) || found;
    size_t behind = feeds_behind(&v->feeds);
    if (found || !v->panels || behind != v->behind)
        metrics_arrange(v);
    v->behind = behind;
    bool part = v->from < v->to;
    for (size_t i = 0; i < v->n_lines; i++) {
        struct metric_line *l = &v->lines[i];
        if (!metrics_in_sight(v, l))
            continue;
        sample(v, l);
        v->most = part ? fmax(v->most, l->reach) : v->most;
    }
    if (!part)
        find_ends(v);
}

bool metrics_near(
    const struct metrics_view *v, const struct metric_line *l, double x, double *at, double *value)
{
    size_t count = 0, n;
    double best = INFINITY;
    for (size_t i = 0; i < l->n; i++) {
        const struct metric_point *points = metrics_points(v, l, i, &n);
        for (size_t k = 0; k < n; k++) {
            double here = metrics_x(v, l, &points[k], count++), far = fabs(here - x);
            if (!(far < best) || !isfinite(points[k].value))
                continue;
            best = far;
            *at = here;
            *value = points[k].value;
        }
    }
    return isfinite(best);
}
