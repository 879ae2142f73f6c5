// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "trainer/watch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { THRESHOLDS = 200, THRESHOLDS_MAX = 1000000 };

// yes[b] and no[b] count the targets whose output lies between thresholds b and b + 1. The first
// threshold lies just below 0 and the last just above 1.
struct auc {
    auc_spec spec;
    size_t n;
    double *yes, *no; // [n]
};

static void auc_reset(void *ctx)
{
    struct auc *a = ctx;
    memset(a->yes, 0, a->n * sizeof *a->yes);
    memset(a->no, 0, a->n * sizeof *a->no);
}

// As Keras, in f32: an output that equals a threshold does not exceed it.
static size_t bucket_of(const struct auc *a, float p)
{
    float at = ceilf(p * (float)(a->n - 1)) - 1;
    return at > 0 ? (size_t)at : 0;
}

static int add_one(struct auc *a, double y, double p, err *e)
{
    double share = a->spec.logits ? 1 / (1 + exp(-p)) : p;
    if (isnan(share)) // the loss is nan, too, and ends the training
        return 0;
    if (!(share >= 0 && share <= 1))
        return err_set(e, ERR_USAGE,
            "the output %g is no probability: AUC takes outputs from 0 to "
            "1, or from_logits",
            p);
    if (!(y >= 0 && y <= 1))
        return err_set(e, ERR_USAGE, "AUC takes targets from 0 to 1, not %g", y);
    size_t b = bucket_of(a, (float)share);
    a->yes[b] += y;
    a->no[b] += 1 - y;
    return 0;
}

static int auc_add(void *ctx, const tensor *y, const tensor *p, err *e)
{
    if (tensor_count(y) != tensor_count(p)) {
        AUTO_BUF want = {0}, got = {0};
        tensor_shape_text(p, &want);
        tensor_shape_text(y, &got);
        return err_set(e, ERR_USAGE,
            "AUC needs a target for each output: the outputs have shape %s, the targets %s",
            buf_cstr(&want), buf_cstr(&got));
    }
    for (size_t i = 0; i < tensor_count(p); i++)
        if (add_one(ctx, tensor_at(y, i), tensor_at(p, i), e) < 0)
            return -1;
    return 0;
}

static double over(double a, double b)
{
    return b != 0 ? a / b : 0;
}

// The counts at one threshold: true and false positives.
struct point {
    double tp, fp;
};

// The area between two neighbouring thresholds; `low` is the lower one, so it has more positives.
static double area_roc(struct point low, struct point high, struct point all)
{
    double width = over(low.fp, all.fp) - over(high.fp, all.fp);
    return width * (over(low.tp, all.tp) + over(high.tp, all.tp)) / 2;
}

static double area_pr(struct point low, struct point high, struct point all)
{
    double gained = low.tp - high.tp, p_low = low.tp + low.fp, p_high = high.tp + high.fp;
    double slope = over(gained, fmax(p_low - p_high, 0));
    double intercept = high.tp - slope * p_high;
    double ratio = p_low > 0 && p_high > 0 ? p_low / p_high : 1;
    return over(slope * (gained + intercept * log(ratio)), all.tp);
}

static double auc_value(const void *ctx)
{
    const struct auc *a = ctx;
    struct point all = {0}, high = {0};
    double sum = 0;
    for (size_t b = 0; b < a->n; b++) {
        all.tp += a->yes[b];
        all.fp += a->no[b];
    }
    for (size_t b = a->n; b-- > 0;) {
        struct point low = {high.tp + a->yes[b], high.fp + a->no[b]};
        sum += (a->spec.pr ? area_pr : area_roc)(low, high, all);
        high = low;
    }
    return sum;
}

static void auc_free(void *ctx)
{
    struct auc *a = ctx;
    free(a->yes);
    free(a->no);
    free(a);
}

int auc_watch(watch *w, const char *name, const auc_spec *spec, err *e)
{
    static const struct watch_ops ops = {auc_reset, auc_add, auc_value, auc_free};
    int thresholds = spec->thresholds ? spec->thresholds : THRESHOLDS;
    if (thresholds < 2 || thresholds > THRESHOLDS_MAX)
        return err_set(e, ERR_USAGE, "AUC: num_thresholds must be from 2 to %d, not %d",
            THRESHOLDS_MAX, thresholds);
    struct auc *a = mem_alloc(sizeof *a);
    *a = (struct auc){.spec = *spec, .n = (size_t)thresholds};
    a->yes = mem_array(a->n, sizeof *a->yes);
    a->no = mem_array(a->n, sizeof *a->no);
    auc_reset(a);
    *w = (watch){.ctx = a, .ops = &ops};
    snprintf(w->name, sizeof w->name, "%s", name);
    return 0;
}

void watch_done(watch *w)
{
    if (w->ops && w->ops->free)
        w->ops->free(w->ctx);
    *w = (watch){0};
}
