// SPDX-License-Identifier: MIT
// What the chart of metrics is made of (metrics.c has its keys; metrics_load.c follows the runs,
// metrics_draw.c draws, metrics_save.c writes files). Who is who:
//
//   feeds (journals) ──> sources (runs and trials) ──> lines (a metric of a source, or of one of
//   its branches) ──> panels (what shares a pair of axes) and entries (what the legend lists)
#pragma once
#include "tui/bench/views.h"
#include "tui/part/chart/axis.h"
#include "tui/part/chart/sampled.h"
#include "tui/part/chart/smooth.h"
#include "tui/view/metrics/feeds.h"
#include "tui/view/metrics/naming.h"

enum { METRICS_SOURCES = 64, METRICS_LINES = 512, METRICS_PANEL = 64, METRICS_GRID = 16 };

struct source {
    size_t feed;
    char *child; // NULL: the run itself
    cJSON *params;
    int64_t began;         // wall ns
    bool hidden, measures; // measures: there is a line of it
};
// Where the values of a line are: a series of the fold, or a copy of a training's epochs.
struct piece {
    size_t series;  // of the fold; SIZE_MAX: the copy
    int64_t shown;  // the display of the training
    unsigned state; // age of the series, updates of the display
    size_t seen;    // so many are in the samples
    struct metric_point *own;
    size_t n_own;
};
struct metric_line {
    size_t source, metric;
    char *branch;
    struct piece *pieces;
    size_t n;
    struct sampled raw, even; // even: smoothed
    struct smooth smooth;
    size_t count;                    // values that were added
    double last;                     // the last one, as it is drawn
    double reach;                    // the largest x, also beyond the piece that is enlarged
    bool stale;                      // to be sampled anew
    double *x, *y, *even_x, *even_y; // as they are drawn
    size_t n_drawn, n_even;
};
struct metric_of_view {
    char *name;
    bool chosen;
};
// What shares one pair of axes.
struct panel {
    size_t metrics[METRICS_PANEL], n;
};
enum band_kind { BAND_NONE, BAND_ENDS, BAND_DEVIATION, BAND_KINDS };

struct metrics_view {
    view head;
    struct feeds feeds;
    char *folder;
    struct source *sources;
    size_t n_sources, left_out; // left_out: sources beyond the most
    struct metric_line *lines;
    size_t n_lines;
    struct metric_of_view *metrics;
    size_t n_metrics;
    struct panel *panels;
    size_t n_panels;
    int alone;       // this panel; -1: all
    bool one_chart;  // all metrics together
    size_t repeats;  // lines in the largest group of repeats
    bool is_settled; // a person has chosen, so defaults stay away
    enum axis axis;
    bool log_x, log_y, robust;
    enum band_kind band;
    size_t smooth; // index of metrics_weights
    bool reads;
    double at;       // on the axis
    double from, to; // of x; the same: all
    double least, most;
    int w, h;
    size_t columns;
    size_t behind;
};
extern const double metrics_weights[];
enum { METRICS_WEIGHTS = 9 };

// metrics_load.c
void metrics_add(struct metrics_view *v, const char *run, bool whole); // "RUN" or "RUN/CHILD"
void metrics_follow(struct metrics_view *v, int ms);                   // takes in what is new
void metrics_anew(struct metrics_view *v);                             // all lines are sampled anew
void metrics_arrange(struct metrics_view *v);                          // panels, after a choice
bool metrics_is_shown(const struct metrics_view *v, const struct metric_line *l, size_t panel);
// In one of the panels that are on the screen?
bool metrics_in_sight(const struct metrics_view *v, const struct metric_line *l);
// Is its smoothed curve the one that is drawn?
bool metrics_is_even(const struct metrics_view *v, const struct metric_line *l);
bool metrics_is_single(const struct metrics_view *v); // there is one source, without branches
// The value of a line that is nearest to x. false: it has none.
bool metrics_near(
    const struct metrics_view *v, const struct metric_line *l, double x, double *at, double *value);
// Where a point is on the axis; NaN: it has no place there.
double metrics_x(const struct metrics_view *v, const struct metric_line *l,
    const struct metric_point *p, size_t count);
const struct metric_point *metrics_points(
    const struct metrics_view *v, const struct metric_line *l, size_t piece, size_t *n);

// metrics_names.c: names of lines, and which of them are repeats of one another (group: the first
// of each; without bands each is alone). Both new.
struct entry {
    char *name;
    size_t lines[METRICS_PANEL], n; // indices in `lines`
    size_t look;
};
struct entries {
    struct entry *list;
    size_t n;
};
struct entries metrics_entries(const struct metrics_view *v, size_t panel);
void metrics_entries_done(struct entries *e);

// metrics_draw.c
void metrics_draw(const view *view_, grid *g, rect area);
// The panels that are shown: from *first on.
size_t metrics_shown(const struct metrics_view *v, size_t *first);

// metrics_save.c: writes what is shown, as CSV or as a picture (SVG), and says so.
void metrics_save_csv(struct metrics_view *v);
void metrics_save_picture(struct metrics_view *v);

// choose.c: a list with marks, over the view that calls it. apply: with what is marked at the end.
typedef void choose_apply(view *of, const bool *chosen, size_t n);
void choose_push(view *of, const char *title, char *const *names, const bool *chosen, size_t n,
    choose_apply *apply);
