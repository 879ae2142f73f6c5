// SPDX-License-Identifier: MIT
// Counts of true and false positives, and the metrics computed from them.
#include "base/mem.h"
#include "base/str.h"
#include "trainer/watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(name, text) text,
    CONFUSIONS(X)
#undef X
};

// Of one class, or of all.
struct counts {
    double tp, fp, tn, fn;
};

struct confusion {
    confusion_spec spec;
    size_t classes;      // 0: no batch was seen
    struct counts *each; // [classes]
};

static bool is_score(const struct confusion *c)
{
    return c->spec.kind == CONFUSION_F1_SCORE || c->spec.kind == CONFUSION_F_BETA_SCORE;
}

static void reset(void *ctx)
{
    struct confusion *c = ctx;
    free(c->each);
    c->each = NULL;
    c->classes = 0;
}

// How many outputs of the row are greater than output j; equal ones before it count, as in Keras,
// where the first of them is among the greatest.
static size_t greater_than(const tensor *p, size_t row, size_t n, size_t j)
{
    size_t greater = 0;
    double mine = tensor_at(p, row * n + j);
    for (size_t k = 0; k < n; k++) {
        double other = tensor_at(p, row * n + k);
        greater += other > mine || (other == mine && k < j);
    }
    return greater;
}

// As Keras's F scores: all outputs that equal the greatest one, unless it is practically 0.
static bool is_greatest(const tensor *p, size_t row, size_t n, size_t j)
{
    double mine = tensor_at(p, row * n + j);
    for (size_t k = 0; k < n; k++)
        if (tensor_at(p, row * n + k) > mine)
            return false;
    return fabs(mine) > 1e-9;
}

static bool is_positive(const struct confusion *c, const tensor *p, size_t row, size_t n, size_t j)
{
    if (c->spec.top_k && greater_than(p, row, n, j) >= (size_t)c->spec.top_k)
        return false;
    if (isnan(c->spec.threshold))
        return !is_score(c) || is_greatest(p, row, n, j);
    return (float)tensor_at(p, row * n + j) > (float)c->spec.threshold;
}

static int check_shapes(const struct confusion *c, const tensor *y, const tensor *p, err *e)
{
    const char *name = names[c->spec.kind];
    size_t n = tensor_row_size(p);
    if (tensor_count(y) != tensor_count(p)) {
        AUTO_BUF want = {0}, got = {0};
        tensor_shape_text(p, &want);
        tensor_shape_text(y, &got);
        return err_set(e, ERR_USAGE,
            "%s needs a target for each output: the outputs have shape %s, the targets %s; of "
            "class "
            "numbers nn.confusion_matrix(y, model:predict(x)) counts all classes",
            name, buf_cstr(&want), buf_cstr(&got));
    }
    if (c->spec.class_id >= (int64_t)n)
        return err_set(e, ERR_USAGE, "%s: class_id %" PRId64 " is none of the %zu outputs", name,
            c->spec.class_id, n);
    if (c->spec.top_k > (int64_t)n)
        return err_set(e, ERR_USAGE, "%s: top_k = %" PRId64 " of a row of %zu outputs", name,
            c->spec.top_k, n);
    if (is_score(c) && n == 1 && isnan(c->spec.threshold))
        return err_set(e, ERR_USAGE,
            "%s: without a threshold the greatest output of a row is positive, so a single one "
            "always is: write nn.%s { threshold = 0.5 }",
            name, name);
    if (is_score(c) && n > 1 && c->spec.average == AVERAGE_NONE)
        return err_set(e, ERR_USAGE,
            "%s: which average of the %zu classes? nn.%s { average = \"macro\" }, or \"micro\" or "
            "\"weighted\"",
            name, n, name);
    return 0;
}

static int count_row(struct confusion *c, const tensor *y, const tensor *p, size_t row, err *e)
{
    size_t n = tensor_row_size(p);
    bool one = c->spec.class_id >= 0;
    for (size_t j = one ? (size_t)c->spec.class_id : 0;
         j < (one ? (size_t)c->spec.class_id + 1 : n); j++) {
        double expected = tensor_at(y, row * n + j), output = tensor_at(p, row * n + j);
        if (isnan(output)) // the loss is nan, too, and ends the training
            continue;
        if (!is_score(c) && !c->spec.top_k && !(output >= 0 && output <= 1))
            return err_set(e, ERR_USAGE,
                "the output %g is no probability: %s takes outputs from 0 to 1, as those of a "
                "sigmoid or softmax",
                output, names[c->spec.kind]);
        double share = is_score(c) ? expected : expected != 0; // Keras's F scores multiply with it
        bool positive = is_positive(c, p, row, n, j);
        struct counts *of = &c->each[j];
        *(positive ? &of->tp : &of->fn) += share;
        *(positive ? &of->fp : &of->tn) += 1 - share;
    }
    return 0;
}

static int add(void *ctx, const tensor *y, const tensor *p, err *e)
{
    struct confusion *c = ctx;
    if (check_shapes(c, y, p, e) < 0)
        return -1;
    if (!c->classes) {
        c->classes = tensor_row_size(p);
        c->each = mem_array(c->classes, sizeof *c->each);
        memset(c->each, 0, c->classes * sizeof *c->each);
    }
    for (size_t r = 0; r < tensor_rows(p); r++)
        if (count_row(c, y, p, r, e) < 0)
            return -1;
    return 0;
}

static struct counts total(const struct confusion *c)
{
    struct counts all = {0};
    for (size_t k = 0; k < c->classes; k++) {
        all.tp += c->each[k].tp;
        all.fp += c->each[k].fp;
        all.tn += c->each[k].tn;
        all.fn += c->each[k].fn;
    }
    return all;
}

static double over(double a, double b)
{
    return b != 0 ? a / b : 0;
}

// Keras adds 1e-7 to each divisor.
static double f_score(struct counts n, double beta)
{
    const double little = 1e-7;
    double precision = n.tp / (n.tp + n.fp + little), recall = n.tp / (n.tp + n.fn + little);
    double b = beta * beta;
    return precision * recall / (b * precision + recall + little) * (1 + b);
}

static double score_of_all(const struct confusion *c)
{
    double sum = 0, weights = 0;
    struct counts all = total(c);
    if (c->spec.average == AVERAGE_MICRO || c->classes < 2)
        return f_score(all, c->spec.beta);
    for (size_t k = 0; k < c->classes; k++) {
        double weight = c->spec.average == AVERAGE_WEIGHTED ? c->each[k].tp + c->each[k].fn : 1;
        sum += weight * f_score(c->each[k], c->spec.beta);
        weights += weight;
    }
    return over(sum, weights);
}

static double value(const void *ctx)
{
    const struct confusion *c = ctx;
    struct counts all = total(c);
    switch (c->spec.kind) {
    case CONFUSION_PRECISION:
        return over(all.tp, all.tp + all.fp);
    case CONFUSION_RECALL:
        return over(all.tp, all.tp + all.fn);
    case CONFUSION_TRUE_POSITIVES:
        return all.tp;
    case CONFUSION_FALSE_POSITIVES:
        return all.fp;
    case CONFUSION_TRUE_NEGATIVES:
        return all.tn;
    case CONFUSION_FALSE_NEGATIVES:
        return all.fn;
    default:
        return score_of_all(c);
    }
}

static void confusion_free(void *ctx)
{
    reset(ctx);
    free(ctx);
}

int confusion_parse(const char *text, confusion_kind *kind, err *e)
{
    int i = str_index(names, ARRAY_LEN(names), "metric", text, e);
    *kind = i < 0 ? 0 : (confusion_kind)i;
    return i < 0 ? -1 : 0;
}

int confusion_watch(watch *w, const char *name, const confusion_spec *spec, err *e)
{
    static const struct watch_ops ops = {reset, add, value, confusion_free};
    const char *class = names[spec->kind];
    if (spec->top_k < 0)
        return err_set(
            e, ERR_USAGE, "%s: top_k must be 1 or more, not %" PRId64, class, spec->top_k);
    if (!isnan(spec->threshold) && !(spec->threshold >= 0 && spec->threshold <= 1))
        return err_set(
            e, ERR_USAGE, "%s: the threshold must be from 0 to 1, not %g", class, spec->threshold);
    if (!(spec->beta > 0))
        return err_set(e, ERR_USAGE, "%s: beta must be greater than 0, not %g", class, spec->beta);
    struct confusion *c = mem_alloc(sizeof *c);
    *c = (struct confusion){.spec = *spec};
    *w = (watch){.ctx = c, .ops = &ops};
    snprintf(w->name, sizeof w->name, "%s", name);
    return 0;
}

// A metric of metric.h as a watch. Only binary accuracy uses the threshold.

struct single {
    metric metric;
    double threshold;
    metric_sum sum;
};

static void single_reset(void *ctx)
{
    ((struct single *)ctx)->sum = (metric_sum){0};
}

static size_t best(const tensor *t, size_t row, size_t n)
{
    size_t at = 0;
    for (size_t j = 1; j < n; j++)
        if (tensor_at(t, row * n + j) > tensor_at(t, row * n + at))
            at = j;
    return at;
}

// Is the row right, by the metric's formula ACCURACY?
static bool is_right(const struct single *s, const tensor *y, const tensor *p, size_t row)
{
    size_t n = tensor_row_size(p), width = tensor_count(y) / tensor_rows(p);
    if (n == 1)
        return (tensor_at(p, row) > 0.5) == (tensor_at(y, row) > 0.5);
    bool number = width == 1 || s->metric == METRIC_SPARSE_ACCURACY;
    return number ? tensor_at(y, row) == (double)best(p, row, n)
                  : best(y, row, n) == best(p, row, n);
}

static int single_add(void *ctx, const tensor *y, const tensor *p, err *e)
{
    struct single *s = ctx;
    size_t rows = tensor_rows(p), n = tensor_count(p);
    bool rowwise = metric_formula(s->metric) == METRIC_ACCURACY;
    bool sparse = rowwise && tensor_count(y) == rows;
    if (!sparse && tensor_count(y) != n) {
        AUTO_BUF want = {0}, got = {0};
        tensor_shape_text(p, &want);
        tensor_shape_text(y, &got);
        return err_set(e, ERR_USAGE, "%s: the outputs have shape %s, the targets %s",
            metric_name(s->metric), buf_cstr(&want), buf_cstr(&got));
    }
    for (size_t r = 0; rowwise && r < rows; r++, s->sum.n++)
        s->sum.sum += is_right(s, y, p, r);
    for (size_t i = 0; !rowwise && i < n; i++) {
        double expected = tensor_at(y, i);
        float output = (float)tensor_at(p, i);
        if (metric_formula(s->metric) == METRIC_BINARY_ACCURACY) {
            s->sum.sum += expected == (output > (float)s->threshold);
            s->sum.n++;
        } else
            metric_add(s->metric, &s->sum, &expected, &output, 1);
    }
    return 0;
}

static double single_value(const void *ctx)
{
    const struct single *s = ctx;
    return s->sum.n > 0 ? metric_value(s->metric, s->sum) : 0;
}

int metric_watch(watch *w, const char *name, metric m, double threshold, err *e)
{
    static const struct watch_ops ops = {single_reset, single_add, single_value, free};
    if (!isfinite(threshold)) // outputs that are no probabilities may have any threshold
        return err_set(e, ERR_USAGE, "%s: the threshold must be a finite number, not %g",
            metric_name(m), threshold);
    struct single *s = mem_alloc(sizeof *s);
    *s = (struct single){.metric = m, .threshold = threshold};
    *w = (watch){.ctx = s, .ops = &ops};
    snprintf(w->name, sizeof w->name, "%s", name);
    return 0;
}
