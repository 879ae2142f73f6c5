// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "trainer/watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct topk {
    size_t k;
    bool sparse;
    double right, rows;
};

static void topk_reset(void *ctx)
{
    struct topk *t = ctx;
    t->right = t->rows = 0;
}

// The class of row r: its number, or the place of the greatest of its targets.
static size_t class_of(const struct topk *t, const tensor *y, size_t r, size_t classes)
{
    if (t->sparse)
        return (size_t)tensor_at(y, r);
    size_t best = 0;
    for (size_t j = 1; j < classes; j++)
        if (tensor_at(y, r * classes + j) > tensor_at(y, r * classes + best))
            best = j;
    return best;
}

// As Keras's in_top_k: equal outputs share the best place, and nan is in none.
static bool is_in_top(const struct topk *t, const tensor *p, size_t r, size_t n, size_t class)
{
    size_t greater = 0;
    double mine = tensor_at(p, r * n + class);
    for (size_t j = 0; j < n; j++) {
        double other = tensor_at(p, r * n + j);
        greater += other > mine || isnan(other);
    }
    return !isnan(mine) && greater < t->k;
}

static int check_classes(const struct topk *t, const tensor *y, size_t n, size_t rows, err *e)
{
    size_t width = t->sparse ? 1 : n;
    AUTO_BUF got = {0};
    tensor_shape_text(y, &got);
    if (tensor_count(y) != rows * width)
        return err_set(e, ERR_USAGE,
            "%s needs %s for each row of %zu outputs, but the targets have shape %s",
            t->sparse ? "SparseTopKCategoricalAccuracy" : "TopKCategoricalAccuracy",
            t->sparse ? "a class number" : "a target of each class", n, buf_cstr(&got));
    for (size_t r = 0; t->sparse && r < rows; r++) {
        double class = tensor_at(y, r);
        if (!(class >= 0 && class < (double)n && class == floor(class)))
            return err_set(
                e, ERR_USAGE, "label %g at index %zu is none of %zu classes", class, r, n);
    }
    return 0;
}

static int topk_add(void *ctx, const tensor *y, const tensor *p, err *e)
{
    struct topk *t = ctx;
    size_t rows = tensor_rows(p), n = tensor_row_size(p);
    if (check_classes(t, y, n, rows, e) < 0)
        return -1;
    for (size_t r = 0; r < rows; r++)
        t->right += is_in_top(t, p, r, n, class_of(t, y, r, n));
    t->rows += (double)rows;
    return 0;
}

static double topk_value(const void *ctx)
{
    const struct topk *t = ctx;
    return t->rows > 0 ? t->right / t->rows : 0;
}

int topk_watch(watch *w, const char *name, int64_t k, bool sparse, err *e)
{
    static const struct watch_ops ops = {topk_reset, topk_add, topk_value, free};
    if (k < 1)
        return err_set(e, ERR_USAGE, "%s: k must be 1 or more, not %" PRId64, name, k);
    struct topk *t = mem_alloc(sizeof *t);
    *t = (struct topk){.k = (size_t)k, .sparse = sparse};
    *w = (watch){.ctx = t, .ops = &ops};
    snprintf(w->name, sizeof w->name, "%s", name);
    return 0;
}
