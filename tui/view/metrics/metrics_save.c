// SPDX-License-Identifier: MIT
// What the chart shows, as a file of the working folder: every value as CSV, or a picture.
#include "base/clock.h"
#include "base/json/csvtext.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/view/metrics/metrics.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// "loss-20260102-030405.svg" in the working folder.
static char *path_of(const struct metrics_view *v, const char *ending)
{
    AUTO_BUF name = {0}, now = {0};
    size_t first, n = metrics_shown(v, &first);
    const struct panel *p = n == 1 ? &v->panels[first] : NULL;
    const char *words = p && p->n == 1 ? v->metrics[p->metrics[0]].name : "metrics";
    for (const char *at = words; *at; at++)
        buf_char(&name, isalnum((unsigned char)*at) || *at == '_' ? *at : '-');
    clock_rfc3339(&now, clock_wall(), CLOCK_SECONDS);
    buf_char(&name, '-');
    for (const char *at = buf_cstr(&now); *at && *at != 'Z'; at++)
        if (isdigit((unsigned char)*at) || *at == 'T')
            buf_char(&name, *at == 'T' ? '-' : *at);
    buf_str(&name, ending);
    return path_join(v->folder ? v->folder : ".", buf_cstr(&name));
}

static void csv_field(buf *out, const char *words)
{
    if (*words)
        csvtext_print_field(out, words, strlen(words), ',');
    buf_char(out, ',');
}

static void csv_point(const struct metrics_view *v, const struct metric_line *l,
    const struct metric_point *p, buf *out)
{
    const struct source *s = &v->sources[l->source];
    csv_field(out, v->feeds.list[s->feed].run);
    csv_field(out, s->child ? s->child : "");
    csv_field(out, l->branch ? l->branch : "");
    csv_field(out, v->metrics[l->metric].name);
    if (p->step != METRIC_NO_STEP)
        buf_fmt(out, "%lld", (long long)p->step);
    buf_char(out, ',');
    clock_rfc3339(out, p->wall, CLOCK_MICROS);
    buf_fmt(out, ",%.17g\n", p->value);
}

// Writes the values that are in sight. Returns how many; -1: errno says why not.
static long write_lines(const struct metrics_view *v, FILE *file)
{
    AUTO_BUF words = {0};
    long rows = 0;
    bool part = v->from < v->to;
    fputs("run,trial,branch,metric,step,time,value\n", file);
    for (size_t i = 0; i < v->n_lines; i++) {
        const struct metric_line *l = &v->lines[i];
        size_t count = 0, n, pieces = metrics_in_sight(v, l) ? l->n : 0;
        for (size_t k = 0; k < pieces; k++) {
            const struct metric_point *points = metrics_points(v, l, k, &n);
            for (size_t j = 0; j < n; j++) {
                double x = metrics_x(v, l, &points[j], count++);
                if (part && !(x >= v->from && x <= v->to))
                    continue;
                buf_clear(&words);
                csv_point(v, l, &points[j], &words);
                fwrite(words.data, 1, words.len, file);
                rows++;
            }
        }
    }
    return ferror(file) ? -1 : rows;
}

void metrics_save_csv(struct metrics_view *v)
{
    AUTO_FREE char *path = path_of(v, ".csv"), *name = path_basename(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file) {
        bench_complain(v->head.bench, "%s was not written: %s", name, strerror(errno));
        return;
    }
    long rows = write_lines(v, file);
    if (fclose(file) != 0 || rows < 0) {
        bench_complain(v->head.bench, "%s was not written: %s", name, strerror(errno));
        unlink(path); // a part would be taken for all of it
        return;
    }
    bench_say(v->head.bench, "%ld value%s written to %s", rows, rows == 1 ? "" : "s", name);
}

static void add_number(cJSON *list, double v)
{
    cJSON_AddItemToArray(list, isfinite(v) ? cJSON_CreateNumber(v) : cJSON_CreateNull());
}

static void add_series(
    const struct metrics_view *v, cJSON *series, const char *name, const struct metric_line *l)
{
    cJSON *one = cJSON_CreateObject(), *x = json_array_at(one, "x"), *y = json_array_at(one, "y");
    bool even = metrics_is_even(v, l);
    const double *xs = even ? l->even_x : l->x, *ys = even ? l->even_y : l->y;
    double zero = v->axis == AXIS_WALL ? v->least : 0;
    json_set_str(one, "name", name);
    for (size_t i = 0; i < (even ? l->n_even : l->n_drawn); i++) {
        add_number(x, v->log_x ? log10(xs[i]) : xs[i] - zero);
        add_number(y, v->log_y ? log10(ys[i]) : ys[i]);
    }
    cJSON_AddItemToArray(series, one);
}

static cJSON *picture_of(const struct metrics_view *v, size_t panel)
{
    cJSON *plot = cJSON_CreateObject(), *series = json_array_at(plot, "series");
    const struct panel *p = &v->panels[panel];
    struct entries e = metrics_entries(v, panel);
    AUTO_BUF title = {0}, x = {0};
    for (size_t i = 0; i < p->n; i++)
        buf_fmt(&title, "%s%s", i ? ", " : "", v->metrics[p->metrics[i]].name);
    for (size_t i = 0; i < e.n; i++)
        for (size_t k = 0; k < e.list[i].n; k++)
            add_series(v, series, e.list[i].name, &v->lines[e.list[i].lines[k]]);
    buf_fmt(&x, "%s%s%s", v->log_x ? "log10 of " : "",
        v->axis == AXIS_WALL ? "time since the first" : axis_name(v->axis),
        v->axis >= AXIS_RELATIVE ? " (s)" : "");
    json_set_str(plot, "title", buf_cstr(&title));
    json_set_str(plot, "x_label", buf_cstr(&x));
    json_set_str(plot, "y_label", v->log_y ? "log10" : NULL);
    metrics_entries_done(&e);
    return plot;
}

void metrics_save_picture(struct metrics_view *v)
{
    err e = {0};
    size_t first, n = metrics_shown(v, &first);
    if (n != 1) {
        bench_say(v->head.bench, "m shows one chart alone, and that is written");
        return;
    }
    AUTO_JSON *plot = picture_of(v, first);
    AUTO_FREE char *path = path_of(v, ".svg"), *name = path_basename(path);
    if (bench_write_picture(v->head.bench, path, plot, &e) < 0)
        bench_complain(v->head.bench, "%s was not written: %s", name, e.text);
    else
        bench_say(v->head.bench, "the chart is written to %s", name);
}
