// SPDX-License-Identifier: MIT
// Draws the charts: the raw curve faintly behind the smoothed one, bands of repeats, a letter at
// the end of each curve, and a legend with the values at the cursor.
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "tui/view/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 8, BESIDE = 60, GAP = 2, SIDE_LEGEND = 110, SIDE_WIDTH = 40, LETTERS = 26 };

static int grid_rows(const struct metrics_view *v, int *beside)
{
    int rows = v->h / LEAST_ROWS > 0 ? v->h / LEAST_ROWS : 1;
    *beside = v->w >= BESIDE && v->n_panels > 1 ? 2 : 1;
    int all = ((int)v->n_panels + *beside - 1) / *beside;
    return all < rows ? all : rows;
}

size_t metrics_shown(const struct metrics_view *v, size_t *first)
{
    int beside;
    *first = v->alone >= 0 ? (size_t)v->alone : 0;
    if (v->alone >= 0 || !v->n_panels)
        return v->n_panels ? 1 : 0;
    size_t fit = (size_t)(grid_rows(v, &beside) * beside);
    fit = fit < METRICS_GRID ? fit : METRICS_GRID;
    return fit < v->n_panels ? fit : v->n_panels;
}

// The series of one panel, with all that they borrow.
struct drawn {
    struct series list[3 * METRICS_PANEL];
    size_t n;
    double *scratch[4 * METRICS_PANEL];
    size_t n_scratch;
    const struct sampled *sampled[METRICS_PANEL * 2];
    size_t n_sampled;
};

static double *scratch(struct drawn *d, size_t n)
{
    return d->scratch[d->n_scratch++] = mem_array(n + 1, sizeof(double));
}

static void drawn_done(struct drawn *d)
{
    for (size_t i = 0; i < d->n_scratch; i++)
        free(d->scratch[i]);
}

bool metrics_is_even(const struct metrics_view *v, const struct metric_line *l)
{
    return metrics_weights[v->smooth] > 0 && l->n_even;
}

static void add_line(struct drawn *d, const struct metrics_view *v, const struct entry *e,
    const struct metric_line *l, char letter)
{
    bool even = metrics_is_even(v, l), plain = bench_ascii(v->head.bench);
    style look = plot_look(e->look), faint = look;
    faint.attrs |= ATTR_DIM;
    if (d->n_sampled < ARRAY_LEN(d->sampled))
        d->sampled[d->n_sampled++] = even ? &l->even : &l->raw;
    if (even && !plain)
        d->list[d->n++] = (struct series){
            .values = l->y, .n = l->n_drawn, .x = l->x, .style = faint, .stroke = 3}; // dots
    d->list[d->n++] = (struct series){.values = even ? l->even_y : l->y,
        .n = even ? l->n_even : l->n_drawn,
        .x = even ? l->even_x : l->x,
        .style = look,
        .name = e->name,
        .stroke = e->look + 1,
        .letter = letter};
}

static void band_range(const struct metrics_view *v, double *from, double *to)
{
    *from = v->from < v->to ? v->from : v->least;
    *to = v->from < v->to ? v->to : v->most;
    *from = v->log_x ? log10(fmax(*from, 1e-300)) : *from;
    *to = v->log_x ? log10(*to) : *to;
}

// The mean of repeats as a curve, over what lies between their ends.
static void add_band(
    struct drawn *d, const struct metrics_view *v, const struct entry *e, char letter, size_t n)
{
    const struct sampled *curves[METRICS_PANEL];
    double from, to, *x = scratch(d, n), *mean = scratch(d, n), *low = scratch(d, n),
                     *high = scratch(d, n);
    style look = plot_look(e->look), faint = look;
    faint.attrs |= ATTR_DIM;
    for (size_t i = 0; i < e->n; i++) {
        const struct metric_line *l = &v->lines[e->lines[i]];
        curves[i] = metrics_is_even(v, l) ? &l->even : &l->raw;
        if (d->n_sampled < ARRAY_LEN(d->sampled))
            d->sampled[d->n_sampled++] = curves[i];
    }
    band_range(v, &from, &to);
    sampled_band(curves, e->n, from, to, v->band == BAND_DEVIATION, n, x, mean, low, high);
    for (size_t i = 0; v->log_x && i < n; i++)
        x[i] = pow(10, x[i]);
    d->list[d->n++] = (struct series){
        .values = mean, .n = n, .x = x, .low = low, .high = high, .band = true, .style = faint};
    d->list[d->n++] = (struct series){.values = mean,
        .n = n,
        .x = x,
        .style = look,
        .name = e->name,
        .stroke = e->look + 1,
        .letter = letter};
}

static char letter_of(const struct entries *e, size_t i)
{
    return e->n > 1 ? (char)('a' + e->list[i].look % LETTERS) : 0;
}

static void gather(struct drawn *d, const struct metrics_view *v, const struct entries *e, int w)
{
    for (size_t i = 0; i < e->n; i++) {
        const struct entry *one = &e->list[i];
        if (one->n > 1)
            add_band(d, v, one, letter_of(e, i), (size_t)(w > 2 ? w * 2 : 4));
        else
            add_line(d, v, one, &v->lines[one->lines[0]], letter_of(e, i));
    }
}

static void set_range(const struct metrics_view *v, const struct drawn *d, struct plot *p)
{
    double from, to;
    band_range(v, &from, &to);
    if (v->robust)
        sampled_robust(d->sampled, d->n_sampled, from, to, &p->lo, &p->hi);
}

static void draw_panel(
    const struct metrics_view *v, grid *g, rect area, const struct entries *e, bool bare)
{
    struct drawn *d = mem_alloc(sizeof *d);
    bench *b = v->head.bench;
    gather(d, v, e, area.w);
    struct plot p = {.series = d->list,
        .n = d->n,
        .from = v->from,
        .to = v->to,
        .at = v->reads ? &v->at : NULL,
        .log = v->log_y,
        .log_x = v->log_x,
        .bare = bare,
        .ascii = bench_ascii(b),
        .dashes = bench_mono(b) || e->n > 7};
    if (!(p.from < p.to) && v->least < v->most) {
        p.from = v->least;
        p.to = v->most;
    }
    axis_words(v->axis, &p);
    set_range(v, d, &p);
    plot_chart(g, area, &p);
    drawn_done(d);
    free(d);
}

// The value of an entry at the cursor, else the last one.
static double value_of(const struct metrics_view *v, const struct entry *e, double *raw)
{
    double sum = 0, count = 0, at, value;
    *raw = NAN;
    for (size_t i = 0; i < e->n; i++) {
        const struct metric_line *l = &v->lines[e->lines[i]];
        value = l->last;
        if (v->reads && !metrics_near(v, l, v->at, &at, &value))
            continue;
        if (v->reads && metrics_is_even(v, l)) {
            double far = INFINITY, exact = value, x = v->at;
            for (size_t k = 0; k < l->n_even; k++)
                if (fabs(l->even_x[k] - x) < far && isfinite(l->even_y[k])) {
                    far = fabs(l->even_x[k] - x);
                    value = l->even_y[k];
                }
            *raw = exact;
        }
        if (!isfinite(value) && e->n > 1)
            continue;
        sum += value;
        count++;
    }
    return count > 0 ? sum / count : NAN;
}

static void value_words(const struct metrics_view *v, const struct entry *e, buf *out)
{
    double raw, value = value_of(v, e, &raw);
    if (isnan(value))
        buf_str(out, "nan");
    else
        buf_fmt(out, "%.4g", value);
    if (!isnan(raw) && e->n == 1)
        buf_fmt(out, " (%.4g)", raw);
}

// "a ── lr=0.1 units=32  0.0231"
struct legend {
    const struct metrics_view *v;
    const struct entries *e;
    char **values;
    int name_w, value_w; // the widest
};

static struct legend legend_of(const struct metrics_view *v, const struct entries *e, bool values)
{
    struct legend l = {v, e, mem_array(e->n + 1, sizeof(char *)), 0, 0};
    for (size_t i = 0; i < e->n; i++) {
        buf words = {0};
        if (values)
            value_words(v, &e->list[i], &words);
        l.values[i] = buf_take(&words);
        int name = text_width(e->list[i].name, strlen(e->list[i].name), 0),
            value = (int)strlen(l.values[i]);
        l.name_w = name > l.name_w ? name : l.name_w;
        l.value_w = value > l.value_w ? value : l.value_w;
    }
    return l;
}

static void legend_done(struct legend *l)
{
    for (size_t i = 0; i < l->e->n; i++)
        free(l->values[i]);
    free(l->values);
}

enum { LEGEND_HEAD = 5 }; // "a ── "

static void put_entry(const struct legend *l, grid *g, rect area, int x, int y, int w, size_t i)
{
    const struct entry *e = &l->e->list[i];
    bench *b = l->v->head.bench;
    style look = plot_look(e->look), bold = style_over(look, LOOK_BOLD);
    int value = l->value_w < w - LEGEND_HEAD - 3 ? l->value_w : 0;
    int room = w - LEGEND_HEAD - (value ? value + 1 : 0);
    if (letter_of(l->e, i))
        grid_print(g, area, x, y, bold, "%c", letter_of(l->e, i));
    else
        x -= 2;
    grid_print(g, area, x + 2, y, look, "%s",
        plot_stroke(e->look, bench_ascii(b), bench_mono(b) || l->e->n > 7));
    int took =
        grid_put_short(g, area, x + LEGEND_HEAD, y, room, e->name, strlen(e->name), (style){0});
    if (value)
        grid_print(g, area,
            x + LEGEND_HEAD + (took < l->name_w ? (l->name_w < room ? l->name_w : room) : took) + 1,
            y, LOOK_DIM, "%s", l->values[i]);
}

// Columns and rows of a legend in this width, in at most so many rows.
static void legend_fit(const struct legend *l, int w, int most, int *columns, int *rows)
{
    int one = LEGEND_HEAD + l->name_w + 1 + l->value_w + GAP, n = (int)l->e->n;
    *columns = one < w ? w / one : 1;
    *rows = (n + *columns - 1) / *columns;
    if (*rows > most && *columns < 3 && w / (*columns + 1) >= 24) { // names are cut instead
        *columns = w / 24 < 3 ? w / 24 : 3;
        *rows = (n + *columns - 1) / *columns;
    }
    *rows = *rows < most ? *rows : most;
}

static void draw_legend(const struct legend *l, grid *g, rect area, int columns)
{
    int w = area.w / columns, room = columns * area.h, n = (int)l->e->n;
    int shown = n <= room ? n : room - 1, own = LEGEND_HEAD + l->name_w + 1 + l->value_w + GAP;
    w = w > own && columns > 1 ? own : w;
    for (int i = 0; i < shown; i++)
        put_entry(l, g, area, area.x + i / area.h * w, area.y + i % area.h,
            w - GAP + (columns == 1) * GAP, (size_t)i);
    if (shown < n && room > 0)
        grid_print(g, area, area.x + shown / area.h * w, area.y + shown % area.h, LOOK_DIM,
            "… %d more", n - shown);
}

static void panel_title(const struct metrics_view *v, size_t panel, buf *out)
{
    const struct panel *p = &v->panels[panel];
    for (size_t i = 0; i < p->n; i++)
        buf_fmt(out, "%s%s", i ? " " : "", v->metrics[p->metrics[i]].name);
}

// The legend of all panels, below them: who is who, without values. Returns its rows.
static int draw_shared_legend(const struct metrics_view *v, grid *g, rect area, size_t panel)
{
    struct entries e = metrics_entries(v, panel);
    struct legend l = legend_of(v, &e, false);
    int columns, rows;
    legend_fit(&l, area.w, area.h / 4, &columns, &rows);
    if (rows > 0)
        draw_legend(&l, g, (rect){area.x, area.y + area.h - rows, area.w, rows}, columns);
    legend_done(&l);
    metrics_entries_done(&e);
    return rows;
}

static void draw_grid(const struct metrics_view *v, grid *g, rect area)
{
    int beside, rows = grid_rows(v, &beside);
    size_t first, n = metrics_shown(v, &first);
    if (!n || rows < 1)
        return;
    if (!metrics_is_single(v) && !v->one_chart)
        area.h -= draw_shared_legend(v, g, area, first);
    beside = n < 2 ? 1 : beside;
    rows = ((int)n + beside - 1) / beside;
    int w = beside == 2 ? (area.w - GAP) / 2 : area.w, h = area.h / rows;
    for (size_t i = 0; i < n; i++) {
        rect one = {area.x + (int)i % beside * (w + GAP), area.y + (int)i / beside * h, w, h};
        struct entries e = metrics_entries(v, first + i);
        bool own = metrics_is_single(v) && e.n <= 2;
        if (!own) {
            AUTO_BUF title = {0};
            panel_title(v, first + i, &title);
            grid_put_short(g, one, one.x, one.y, one.w, buf_cstr(&title), title.len, LOOK_BOLD);
            one.y++;
            one.h--;
        }
        draw_panel(v, g, one, &e, !own);
        metrics_entries_done(&e);
    }
}

// A chart with its legend below, or beside it where there is room.
static void draw_one(const struct metrics_view *v, grid *g, rect area, size_t panel)
{
    struct entries e = metrics_entries(v, panel);
    struct legend l = legend_of(v, &e, true);
    int columns = 1, rows = area.h, most = (area.h + 2) / 3;
    rect chart = area, below = area;
    if (area.w >= SIDE_LEGEND) {
        int own = LEGEND_HEAD + l.name_w + 1 + l.value_w;
        below.w = own < SIDE_WIDTH ? own : SIDE_WIDTH;
        below.x = area.x + area.w - below.w;
        chart.w = area.w - below.w - GAP;
    } else {
        legend_fit(&l, area.w, most, &columns, &rows);
        below.h = rows;
        below.y = area.y + area.h - rows;
        chart.h = area.h - rows;
    }
    draw_panel(v, g, chart, &e, true);
    if (e.n && below.h > 0)
        draw_legend(&l, g, below, columns);
    legend_done(&l);
    metrics_entries_done(&e);
}

static void title_words(const struct metrics_view *v, buf *out)
{
    size_t hidden = 0, n = 0;
    for (size_t i = 0; i < v->n_sources; i++) {
        hidden += v->sources[i].measures && v->sources[i].hidden;
        n += v->sources[i].measures;
    }
    if (n > 1)
        buf_fmt(out, hidden ? "  %zu of %zu runs" : "  %zu runs", hidden ? n - hidden : n, n);
    if (v->left_out)
        buf_fmt(out, ", %zu more", v->left_out);
    if (v->behind)
        buf_fmt(out, "  reading %zu", v->behind);
    if (metrics_weights[v->smooth] > 0)
        buf_fmt(out, "  smooth %g", metrics_weights[v->smooth]);
    buf_str(out, v->log_x ? v->log_y ? "  log x, y" : "  log x" : v->log_y ? "  log scale" : "");
    buf_str(out, v->robust ? "  without outliers" : "");
    if (v->repeats > 1)
        buf_str(out, v->band == BAND_ENDS        ? "  band min–max"
                     : v->band == BAND_DEVIATION ? "  band ±std"
                                                 : "");
    buf_str(out, v->from < v->to ? "  enlarged" : "");
}

static void draw_title(const struct metrics_view *v, grid *g, rect area)
{
    AUTO_BUF title = {0}, words = {0}, place = {0};
    int x = area.x + 1, end = area.x + area.w;
    if (v->alone >= 0 && v->n_panels)
        panel_title(v, (size_t)v->alone, &title);
    else
        buf_str(&title, "Metrics");
    x += grid_put_short(g, area, x, area.y, end - x, buf_cstr(&title), title.len, LOOK_BOLD);
    if (v->reads) {
        axis_place(v->axis, v->at, &place);
        x += grid_print(g, area, x, area.y, LOOK_ACCENT, "  at %s", buf_cstr(&place));
    }
    title_words(v, &words);
    if (x < end)
        grid_put_short(g, area, x, area.y, end - x, buf_cstr(&words), words.len, LOOK_DIM);
}

static const char *nothing(const struct metrics_view *v)
{
    for (size_t i = 0; i < v->feeds.n; i++)
        if (v->feeds.list[i].wrong)
            return v->feeds.list[i].wrong;
    return v->behind    ? "reading …"
           : v->n_lines ? "nothing is chosen: M chooses metrics, R runs"
                        : "no metrics yet: run.metric records them, trainings do so by themselves";
}

void metrics_draw(const view *view_, grid *g, rect area)
{
    const struct metrics_view *v = (const struct metrics_view *)view_;
    rect body = {area.x + 1, area.y + 1, area.w - 2, area.h - 1};
    size_t first;
    bool any = false;
    metrics_shown(v, &first);
    draw_title(v, g, area);
    grid_park_cursor(g, area.x + 1, area.y + 1);
    for (size_t i = 0; i < v->n_lines && !any; i++)
        any = metrics_in_sight(v, &v->lines[i]);
    if (!any)
        grid_print(g, body, body.x, body.y, LOOK_DIM, "%s", nothing(v));
    else if (v->alone >= 0 || v->n_panels == 1)
        draw_one(v, g, body, first);
    else
        draw_grid(v, g, body);
}
