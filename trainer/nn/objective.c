// SPDX-License-Identifier: MIT
#include "trainer/nn/objective.h"

#include <math.h>
#include <string.h>

static int64_t label(const objective *o, size_t r)
{
    return (int64_t)tensor_at(o->y, o->row[r]);
}

static double target(const objective *o, size_t r, size_t j)
{
    return tensor_at(o->y, o->row[r] * o->units + j);
}

static int64_t argmax(const float *z, size_t n)
{
    size_t best = 0;
    for (size_t j = 1; j < n; j++)
        if (z[j] > z[best])
            best = j;
    return (int64_t)best;
}

static int64_t argmax_target(const objective *o, size_t r)
{
    size_t best = 0;
    for (size_t j = 1; j < o->units; j++)
        if (target(o, r, j) > target(o, r, best))
            best = j;
    return (int64_t)best;
}

// -log p[y] = log Σ e^z - z[y]; its gradient is p - onehot(y).
static void sparse_categorical(objective *o, bool measure)
{
    o->cpu->softmax(o->d, o->ld, o->rows, o->units, measure ? o->log_sum : NULL);
    float scale = 1 / (float)o->rows;
    for (size_t r = 0; r < o->rows; r++) {
        float *d = o->d + r * o->ld, *z = o->z + r * o->ld;
        int64_t y = label(o, r);
        if (measure) {
            o->loss_sum += (double)(o->log_sum[r] - z[y]);
            o->correct += argmax(z, o->units) == y;
        }
        d[y] -= 1;
        for (size_t j = 0; j < o->units; j++)
            d[j] *= scale;
    }
}

// -Σ y[j]·log p[j] with log p[j] = z[j] - log Σ e^z; its gradient is p·Σy - y.
static void categorical(objective *o, bool measure)
{
    o->cpu->softmax(o->d, o->ld, o->rows, o->units, o->log_sum);
    for (size_t r = 0; r < o->rows; r++) {
        float *d = o->d + r * o->ld, *z = o->z + r * o->ld;
        double mass = 0;
        for (size_t j = 0; j < o->units; j++)
            mass += target(o, r, j);
        for (size_t j = 0; j < o->units; j++) {
            double y = target(o, r, j);
            if (measure && y != 0)
                o->loss_sum += y * (double)(o->log_sum[r] - z[j]);
            d[j] = (float)(((double)d[j] * mass - y) / (double)o->rows);
        }
        if (measure)
            o->correct += argmax(z, o->units) == argmax_target(o, r);
    }
}

// With one output, a row is right on the correct side of one half; with several, if the greatest
// output is the same.
static double is_right(const objective *o, size_t r, const float *p)
{
    if (o->units > 1)
        return argmax(p, o->units) == argmax_target(o, r);
    return (p[0] > 0.5f) == (target(o, r, 0) > 0.5);
}

// -y·log p - (1-y)·log(1-p) = max(z, 0) - z·y + log(1 + e^-|z|); its gradient is p - y.
static void binary(objective *o, bool measure)
{
    o->cpu->activate(ACTIVATION_SIGMOID, o->d, o->ld, o->rows, (o->units + 15) / 16 * 16);
    double units = (double)o->units, all = units * (double)o->rows;
    for (size_t r = 0; r < o->rows; r++) {
        float *d = o->d + r * o->ld, *z = o->z + r * o->ld;
        if (measure)
            o->correct += is_right(o, r, d);
        for (size_t j = 0; j < o->units; j++) {
            double y = target(o, r, j), zj = (double)z[j];
            if (measure)
                o->loss_sum += (fmax(zj, 0) - zj * y + log1p(exp(-fabs(zj)))) / units;
            d[j] = (float)(((double)d[j] - y) / all);
        }
    }
}

// (p - y)²; its gradient is 2·(p - y)·f'(z).
static void squared(objective *o, bool measure)
{
    size_t width = (o->units + 15) / 16 * 16;
    o->cpu->activate(o->f, o->z, o->ld, o->rows, width);
    double units = (double)o->units, all = units * (double)o->rows;
    for (size_t r = 0; r < o->rows; r++) {
        float *d = o->d + r * o->ld, *p = o->z + r * o->ld;
        if (measure)
            o->correct += is_right(o, r, p);
        for (size_t j = 0; j < o->units; j++) {
            double off = (double)p[j] - target(o, r, j);
            if (measure)
                o->loss_sum += off * off / units;
            d[j] = (float)(2 * off / all);
        }
    }
    o->cpu->derive(o->f, o->d, o->ld, o->z, o->ld, o->rows, width);
}

void objective_run(objective *o, bool measure)
{
    memcpy(o->d, o->z, o->rows * o->ld * sizeof *o->d);
    switch (o->loss) {
    case LOSS_SPARSE_CATEGORICAL_CROSSENTROPY:
        sparse_categorical(o, measure);
        break;
    case LOSS_CATEGORICAL_CROSSENTROPY:
        categorical(o, measure);
        break;
    case LOSS_BINARY_CROSSENTROPY:
        binary(o, measure);
        break;
    case LOSS_MEAN_SQUARED_ERROR:
        squared(o, measure);
        break;
    }
    // The columns of d beyond `units` must not reach the weights.
    size_t width = (o->units + 15) / 16 * 16;
    for (size_t r = 0; r < o->rows && width > o->units; r++)
        memset(o->d + r * o->ld + o->units, 0, (width - o->units) * sizeof *o->d);
}

int objective_check(loss_kind loss, activation f, bool from_logits, err *e)
{
    activation want = loss == LOSS_BINARY_CROSSENTROPY ? ACTIVATION_SIGMOID : ACTIVATION_SOFTMAX;
    if (loss == LOSS_MEAN_SQUARED_ERROR) {
        if (f != ACTIVATION_SOFTMAX)
            return 0;
        return err_set(e, ERR_USAGE,
            "%s does not go with softmax in the last layer: use categorical_crossentropy",
            loss_name(loss));
    }
    if (f == (from_logits ? ACTIVATION_LINEAR : want))
        return 0;
    if (from_logits)
        return err_set(e, ERR_USAGE,
            "%s with from_logits needs a last layer without activation, not %s", loss_name(loss),
            activation_name(f));
    return err_set(e, ERR_USAGE,
        "%s needs %s as the last layer's activation (or from_logits), not %s", loss_name(loss),
        activation_name(want), activation_name(f));
}

static int check_labels(size_t units, const tensor *y, err *e)
{
    for (size_t i = 0; i < tensor_count(y); i++) {
        double value = tensor_at(y, i);
        if (value != floor(value))
            return err_set(e, ERR_USAGE, "label %g at index %zu is no class number", value, i);
        if (value < 0 || value >= (double)units)
            return err_set(e, ERR_USAGE,
                "label %.0f at index %zu is out of range: the model has %zu classes (0 to %zu)",
                value, i, units, units - 1);
    }
    return 0;
}

// Cross-entropies take probabilities; the other losses any number.
static int check_values(loss_kind loss, const tensor *y, err *e)
{
    bool any = loss == LOSS_MEAN_SQUARED_ERROR;
    size_t width = tensor_row_size(y);
    for (size_t i = 0; i < tensor_count(y); i++) {
        double value = tensor_at(y, i);
        if (!isfinite(value))
            return err_set(e, ERR_USAGE, "row %zu of y holds %g", i / width, value);
        if (!any && (value < 0 || value > 1))
            return err_set(e, ERR_USAGE,
                "row %zu of y holds %g: %s takes targets from 0 to 1 (for class numbers: "
                "sparse_categorical_crossentropy)",
                i / width, value, loss_name(loss));
    }
    return 0;
}

int objective_check_accuracy(loss_kind loss, const tensor *y, err *e)
{
    size_t width = tensor_row_size(y);
    for (size_t i = 0; loss == LOSS_MEAN_SQUARED_ERROR && i < tensor_count(y); i++) {
        double value = tensor_at(y, i);
        if (value != 0 && value != 1)
            return err_set(e, ERR_USAGE,
                "the metric \"accuracy\" is for classes, but row %zu of y holds %g: it has no "
                "meaning for a regression",
                i / width, value);
    }
    return 0;
}

int objective_check_targets(loss_kind loss, size_t units, const tensor *y, err *e)
{
    bool numbers = loss == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY;
    size_t want = numbers ? 1 : units;
    if (y->dims >= 1 && tensor_row_size(y) == want)
        return numbers ? check_labels(units, y, e) : check_values(loss, y, e);
    AUTO_BUF shape = {0};
    tensor_shape_text(y, &shape);
    return err_set(e, ERR_USAGE, "%s expects y of shape (n, %zu), got %s", loss_name(loss), want,
        buf_cstr(&shape));
}
