// SPDX-License-Identifier: MIT
// Which metrics share a pair of axes, and what the legend lists: what its curves are called.
#include "base/mem.h"
#include "base/str.h"
#include "tui/view/metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

bool metrics_is_single(const struct metrics_view *v)
{
    for (size_t i = 1; i < v->n_lines; i++)
        if (v->lines[i].source != v->lines[0].source ||
            !str_eq(v->lines[i].branch, v->lines[0].branch))
            return false;
    return true;
}

static const char *base_of(const char *metric)
{
    return metric + (str_starts(metric, "val_") ? 4 : 0);
}

// loss and accuracy come first, as below a cell.
static int worth(const char *metric)
{
    const char *base = base_of(metric);
    return str_eq(base, "loss") ? 0 : str_eq(base, "accuracy") ? 1 : 2;
}

static struct panel *panel_with(struct metrics_view *v, const char *base)
{
    for (size_t i = 0; i < v->n_panels; i++)
        if (str_eq(base_of(v->metrics[v->panels[i].metrics[0]].name), base))
            return &v->panels[i];
    return NULL;
}

static void place(struct metrics_view *v, size_t metric, bool pairs)
{
    const char *name = v->metrics[metric].name;
    struct panel *p = v->one_chart && v->n_panels ? &v->panels[0]
                      : pairs                     ? panel_with(v, base_of(name))
                                                  : NULL;
    if (!p) {
        v->panels = mem_resize(v->panels, v->n_panels + 1, sizeof *v->panels);
        p = &v->panels[v->n_panels++];
        *p = (struct panel){0};
    }
    if (p->n < METRICS_PANEL)
        p->metrics[p->n++] = metric;
}

bool metrics_is_shown(const struct metrics_view *v, const struct metric_line *l, size_t panel)
{
    const struct panel *p = &v->panels[panel];
    if (v->sources[l->source].hidden || !l->n)
        return false;
    for (size_t i = 0; i < p->n; i++)
        if (p->metrics[i] == l->metric)
            return true;
    return false;
}

static struct named named_of(const struct metrics_view *v, const struct metric_line *l)
{
    const struct source *s = &v->sources[l->source];
    const fold *f = feed_fold(&v->feeds, s->feed);
    return (struct named){.run = v->feeds.list[s->feed].run,
        .child = s->child,
        .branch = l->branch,
        .metric = v->metrics[l->metric].name,
        .notebook = f ? json_str(fold_first(f), "path") : NULL,
        .params = s->params};
}

static cJSON *without_seeds(const cJSON *params)
{
    cJSON *left = cJSON_CreateObject();
    const cJSON *p;
    cJSON_ArrayForEach(p, params)
    {
        if (!naming_is_seed(p->string))
            json_set(left, p->string, cJSON_Duplicate(p, true));
    }
    return left;
}

// The number of its source and branch, so that these look the same in all panels.
static size_t who_of(const struct metrics_view *v, const struct metric_line *l)
{
    size_t n = 0;
    for (const struct metric_line *one = v->lines; one < v->lines + v->n_lines; one++) {
        const struct metric_line *before = v->lines;
        while (
            before < one && (before->source != one->source || !str_eq(before->branch, one->branch)))
            before++;
        if (before < one)
            continue;
        if (one->source == l->source && str_eq(one->branch, l->branch))
            break;
        n++;
    }
    return n;
}

// The lines of a panel, as far as there is room for them.
static size_t lines_of(const struct metrics_view *v, size_t panel, size_t *lines)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_lines && n < METRICS_PANEL; i++)
        if (metrics_is_shown(v, &v->lines[i], panel))
            lines[n++] = i;
    return n;
}

// How many lines are in the largest group of repeats.
static size_t most_repeats(const struct metrics_view *v)
{
    size_t lines[METRICS_PANEL], group[METRICS_PANEL], most = 0;
    struct named named[METRICS_PANEL];
    for (size_t p = 0; p < v->n_panels; p++) {
        size_t n = lines_of(v, p, lines), count[METRICS_PANEL] = {0};
        for (size_t i = 0; i < n; i++)
            named[i] = named_of(v, &v->lines[lines[i]]);
        naming_repeats(named, n, group);
        for (size_t i = 0; i < n; i++)
            most = ++count[group[i]] > most ? count[group[i]] : most;
    }
    return most;
}

void metrics_arrange(struct metrics_view *v)
{
    bool single = metrics_is_single(v);
    v->panels = v->panels ? v->panels : mem_alloc(sizeof *v->panels);
    v->n_panels = 0;
    for (int rank = 0; rank < 3; rank++)
        for (int val = 0; val < 2; val++)
            for (size_t i = 0; i < v->n_metrics; i++) {
                const char *name = v->metrics[i].name;
                if (v->metrics[i].chosen && worth(name) == rank &&
                    (rank == 2 ? !val : (base_of(name) != name) == val))
                    place(v, i, single);
            }
    v->repeats = most_repeats(v);
    if (!v->is_settled) {
        v->alone = single ? -1 : 0;
        v->band = v->repeats > 2 ? BAND_ENDS : BAND_NONE;
    }
    if (v->alone >= (int)v->n_panels || (v->alone < 0 && v->n_panels == 1))
        v->alone = v->n_panels == 1 ? 0 : -1;
}

// A repeated curve is called by what differs between curves that are no repeats of one another.
static void name_bands(struct entries *e, const struct named *lines)
{
    struct named first[METRICS_PANEL];
    cJSON *own[METRICS_PANEL];
    for (size_t i = 0; i < e->n; i++) {
        first[i] = lines[e->list[i].look];
        own[i] = without_seeds(first[i].params);
        first[i].params = own[i];
        if (e->list[i].n > 1 && first[i].child)
            first[i].child = NULL;
    }
    char **names = naming_of(first, e->n);
    for (size_t i = 0; i < e->n; i++) {
        e->list[i].name =
            e->list[i].n > 1 ? str_fmt("%s ×%zu", names[i], e->list[i].n) : mem_strdup(names[i]);
        cJSON_Delete(own[i]);
    }
    strv_free(names);
}

struct entries metrics_entries(const struct metrics_view *v, size_t panel)
{
    size_t lines[METRICS_PANEL], group[METRICS_PANEL], n = lines_of(v, panel, lines);
    struct named named[METRICS_PANEL];
    struct entries e = {mem_array(n + 1, sizeof *e.list), 0};
    for (size_t i = 0; i < n; i++) {
        named[i] = named_of(v, &v->lines[lines[i]]);
        group[i] = i;
    }
    if (v->band != BAND_NONE)
        naming_repeats(named, n, group);
    for (size_t i = 0; i < n; i++) {
        if (group[i] != i)
            continue;
        struct entry *one = &e.list[e.n++];
        *one = (struct entry){.look = i};
        for (size_t k = i; k < n; k++)
            if (group[k] == i)
                one->lines[one->n++] = lines[k];
    }
    if (v->band != BAND_NONE && e.n < n) {
        name_bands(&e, named);
    } else {
        char **names = naming_of(named, n);
        for (size_t i = 0; i < e.n; i++)
            e.list[i].name = mem_strdup(names[e.list[i].look]);
        strv_free(names);
    }
    for (size_t i = 0; i < e.n; i++)
        e.list[i].look = v->panels[panel].n > 1 ? i : who_of(v, &v->lines[e.list[i].lines[0]]);
    return e;
}

void metrics_entries_done(struct entries *e)
{
    for (size_t i = 0; i < e->n; i++)
        free(e->list[i].name);
    free(e->list);
    *e = (struct entries){0};
}
