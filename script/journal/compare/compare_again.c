// SPDX-License-Identifier: MIT
// Checks whether a run reproduced another one, after nbval's idea: outputs are compared, numbers
// within the tolerance of their cell; outputs that are declared not to be repeatable are left out.
#include "base/clock.h"
#include "base/data/linediff.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/compare/compare.h"
#include "script/journal/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct again {
    const struct compared *a, *b;
    size_t *partner; // of a's cells
    cJSON *out;
};

static cJSON *result(
    struct again *w, const char *what, const char *name, const char *verdict, const char *why)
{
    cJSON *r = cJSON_CreateObject();
    json_set_str(r, "what", what);
    json_set_str(r, "name", name);
    json_set_str(r, "verdict", verdict);
    json_set_str(r, "why", why);
    cJSON_AddItemToArray(json_array_at(w->out, "results"), r);
    json_set_int(w->out, verdict, json_int_or(w->out, verdict, 0) + 1);
    return r;
}

// A difference of numbers is relative to them if they are larger than 1.
static bool within(double a, double b, double tolerance)
{
    double scale = fmax(1, fmax(fabs(a), fabs(b)));
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * scale;
}

// Reads the number at *s and moves *s past it; false: there is none.
static bool take_number(const char **s, double *number)
{
    char *end;
    const char *digits = *s + (**s == '-' || **s == '+');
    if (!isdigit((unsigned char)*digits) && !str_starts(digits, "nan") &&
        !str_starts(digits, "inf"))
        return false;
    *number = strtod(*s, &end);
    bool is = end > *s;
    *s = is ? end : *s;
    return is;
}

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " \t");
}

// Skips the blanks at both places. Their number means nothing: a table's columns are as wide as its
// numbers. false: only one of the texts has blanks here.
static bool skip_both(const char **a, const char **b, bool begins)
{
    const char *x = skip_blanks(*a), *y = skip_blanks(*b);
    bool same = (x > *a) == (y > *b) || begins || (*x == '\n' && *y == '\n') || (!*x && !*y);
    *a = x;
    *b = y;
    return same;
}

// Are the texts equal except for blanks, and for numbers that differ by at most the tolerance?
static bool is_near(const char *a, const char *b, double tolerance)
{
    for (bool begins = true; *a || *b; begins = a[-1] == '\n') { // of a line
        double x, y;
        if (!skip_both(&a, &b, begins))
            return false;
        if (!*a || !*b)
            break;
        const char *p = a, *q = b;
        if (take_number(&p, &x) && take_number(&q, &y)) {
            if (!within(x, y, tolerance))
                return false;
            a = p, b = q;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return !*a && !*b;
}

// What a cell has shown and could show again. Not a live display or a list of pods, which change
// with their cluster; a training's display is compared by its metrics. Returns whether something
// was left out that is compared nowhere.
static bool repeatable(
    const struct compared *run, const struct run_cell *c, const char *branch, buf *out)
{
    bool left_out = false;
    for (size_t i = 0; i < c->n_outputs; i++) {
        const struct output *o = &c->outputs[i];
        if (!compare_is_of(o, branch))
            continue;
        bool moves = compare_is_of_cluster(o) ||
                     (o->kind == OUTPUT_DISPLAY && (o->live || o->updates || o->spool));
        if (moves)
            left_out |= !compare_is_progress(o);
        else
            output_text(o, run->spool_dir, 0, out, NULL);
    }
    return left_out;
}

// Do they differ only in what the runs' clusters gave them?
static bool is_given(const struct again *w, const buf *was, const buf *is)
{
    AUTO_BUF a = {0}, b = {0};
    if (!compare_has_cluster(w->a->fold) || !compare_has_cluster(w->b->fold))
        return false;
    compare_given(buf_cstr(was), w->a->fold, &a);
    compare_given(buf_cstr(is), w->b->fold, &b);
    return str_eq(buf_cstr(&a), buf_cstr(&b));
}

static void compare_branch(struct again *w, const char *title, const char *branch, const cell *c,
    const struct run_cell *a, const struct run_cell *b)
{
    AUTO_BUF was = {0}, is = {0}, was_settled = {0}, is_settled = {0}, diff = {0};
    bool left_out = repeatable(w->a, a, branch, &was);
    left_out = repeatable(w->b, b, branch, &is) || left_out; // both complete their text
    if (left_out)
        result(w, "display", title, "unknown", "it is as the cluster was");
    if (!was.len && !is.len)
        return;
    if (was.len == is.len && memcmp(buf_cstr(&was), buf_cstr(&is), was.len) == 0) {
        result(w, "output", title, "equal", NULL);
        return;
    }
    compare_settle(buf_cstr(&was), fold_run(w->a->fold), &was_settled);
    compare_settle(buf_cstr(&is), fold_run(w->b->fold), &is_settled);
    if (str_eq(buf_cstr(&was_settled), buf_cstr(&is_settled))) {
        result(w, "output", title, "equal", "but for durations and addresses");
        return;
    }
    if (is_given(w, &was_settled, &is_settled)) {
        result(w, "output", title, "equal", "but for what its cluster gave it");
        return;
    }
    bool near = c->options.tolerance > 0 &&
                is_near(buf_cstr(&was_settled), buf_cstr(&is_settled), c->options.tolerance);
    cJSON *r = result(w, "output", title, near ? "within" : "moved", NULL);
    linediff(&diff, "a", "b", buf_cstr(&was_settled), buf_cstr(&is_settled));
    json_set_str(r, "diff", buf_cstr(&diff));
}

static void compare_shown(struct again *w, const char *title, const cell *c,
    const struct run_cell *a, const struct run_cell *b)
{
    char **branches = compare_branches(a, b);
    for (char **branch = branches; *branch; branch++) {
        AUTO_FREE char *name = compare_branch_title(title, *branch);
        compare_branch(w, name, *branch, c, a, b);
    }
    strv_free(branches);
}

static const char *ignores(const cell *c)
{
    static const char *const tags[] = {"nbval-ignore-output", "nbval-skip"};
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (cell_has_tag(c, tags[i]))
            return "its tag says so";
    return NULL;
}

static void compare_cell(struct again *w, size_t i)
{
    const notebook *nb_a = fold_notebook(w->a->fold), *nb_b = fold_notebook(w->b->fold);
    const cell *c = notebook_cell(nb_a, i);
    AUTO_FREE char *title = notebook_cell_title(nb_a, i);
    const struct run_cell *a = fold_cell_by_id(w->a->fold, c->id, NULL), *b = NULL;
    if (w->partner[i] != SIZE_MAX)
        b = fold_cell_by_id(w->b->fold, notebook_cell(nb_b, w->partner[i])->id, NULL);
    if (c->kind != CELL_CODE || !a || !a->started || cell_has_tag(c, "injected-parameters"))
        return;
    if (ignores(c))
        result(w, "output", title, "unknown", ignores(c));
    else if (!b || !b->started)
        result(w, "output", title, "unknown", "the cell did not run again");
    else if (a->state != b->state)
        result(w, "cell", title, "moved", cell_state_name(b->state));
    else
        compare_shown(w, title, c, a, b);
}

static double tolerance_of(const fold *f, const char *id)
{
    size_t i;
    return id && notebook_find(fold_notebook(f), id, &i)
               ? notebook_cell(fold_notebook(f), i)->options.tolerance
               : 0;
}

static void compare_value(
    struct again *w, const char *what, const cJSON *recorded, const cJSON *a, const cJSON *b)
{
    double tolerance =
        str_eq(what, "metric") ? tolerance_of(w->a->fold, json_str(recorded, "cell")) : 0;
    double x = 0, y = 0;
    bool numbers = json_number(a, &x) && json_number(b, &y);
    bool exact = cJSON_IsNumber(a) && cJSON_IsNumber(b);
    bool same = exact ? x == y : a && b && json_equal(a, b);
    const char *verdict = !b                                   ? "unknown"
                          : same                               ? "equal"
                          : numbers && within(x, y, tolerance) ? "within"
                                                               : "moved";
    cJSON *r = result(w, what, recorded->string, verdict, b ? NULL : "it was not recorded again");
    json_set(r, "a", cJSON_Duplicate(a, true));
    if (b)
        json_set(r, "b", cJSON_Duplicate(b, true));
    if (tolerance > 0)
        json_set(r, "tolerance", cJSON_CreateNumber(tolerance));
}

static void compare_values(struct again *w, const char *what, const char *list, const char *member)
{
    const struct paired pair = {w->a->fold, w->b->fold, w->partner};
    AUTO_JSON *was = compare_recorded(&pair, pair.a, list);
    AUTO_JSON *is = compare_recorded(&pair, pair.b, list);
    const cJSON *m;
    cJSON_ArrayForEach(m, was)
        compare_value(w, what, m, json_get(m, member), json_get(json_get(is, m->string), member));
}

cJSON *compare_again(const struct compared *a, const struct compared *b)
{
    struct again w = {
        a, b, compare_match(fold_notebook(a->fold), fold_notebook(b->fold)), cJSON_CreateObject()};
    static const char *const verdicts[] = {"equal", "within", "moved", "unknown"};
    json_set_str(w.out, "a", fold_run(a->fold));
    json_set_str(w.out, "b", fold_run(b->fold));
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
        json_set_int(w.out, verdicts[i], 0);
    compare_values(&w, "metric", "metrics", "value");
    compare_values(&w, "artifact", "artifacts", "sha256");
    for (size_t i = 0; i < notebook_count(fold_notebook(a->fold)); i++)
        compare_cell(&w, i);
    free(w.partner);
    return w.out;
}
