// SPDX-License-Identifier: MIT
#include "trainer/nn/plan/objective.h"

#include "base/mem.h"
#include "trainer/nn/layer/op.h"

#include <math.h>
#include <string.h>

static int64_t label(const objective *o, size_t r)
{
    const tensor *y = o->y;
    if (y->type == TENSOR_U8 && y->scale == 1) // most data's
        return *(const uint8_t *)tensor_row_data(y, o->row[r]);
    return (int64_t)tensor_at(o->y, o->row[r]);
}

static double raw_target(const objective *o, size_t r, size_t j)
{
    return tensor_at(o->y, o->row[r] * o->units + j);
}

// The target after label smoothing, which is for distributions and for yes and no.
static double target(const objective *o, size_t r, size_t j)
{
    double y = raw_target(o, r, j), s = o->spec->label_smoothing;
    bool yes = o->spec->loss == LOSS_BINARY_CROSSENTROPY;
    return s > 0 ? y * (1 - s) + s / (yes ? 2 : (double)o->units) : y;
}

static double weight(const objective *o, size_t r)
{
    return o->weights ? tensor_at(o->weights, o->row[r]) : 1;
}

static int64_t argmax(const float *z, size_t n)
{
    size_t best = 0;
    float top = z[0];
    for (size_t j = 1; j < n; j++) {
        best = z[j] > top ? j : best;
        top = z[j] > top ? z[j] : top;
    }
    return (int64_t)best;
}

static int64_t argmax_target(const objective *o, size_t r)
{
    size_t best = 0;
    for (size_t j = 1; j < o->units; j++)
        if (raw_target(o, r, j) > raw_target(o, r, best))
            best = j;
    return (int64_t)best;
}

// Is the class among the k greatest outputs? Nan is in none.
static bool is_in_top(const float *z, size_t n, int64_t class, size_t k)
{
    size_t greater = 0;
    for (size_t j = 0; j < n; j++)
        greater += z[j] > z[class] || isnan(z[j]);
    return !isnan(z[class]) && greater < k;
}

static bool is_asked(const objective *o, metric m)
{
    return o->spec->metrics & (metric_set)1 << m;
}

// What the model puts out for row r: d holds the activation's values, but a loss with logits has
// none.
static const float *outputs(const objective *o, size_t r)
{
    return (o->f == ACTIVATION_LINEAR ? o->z : o->d) + r * o->ld;
}

// Are the targets class numbers?
static bool has_numbers(const objective *o)
{
    if (o->spec->own)
        return o->units > 1 && tensor_row_size(o->y) == 1;
    return o->spec->loss == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY;
}

// The formulas of the metrics that are asked for, each once.
static void find_formulas(objective *o)
{
    o->formulas = 0;
    for (metric m = 0; m < METRIC_COUNT; m++) {
        metric formula = metric_formula(m);
        size_t i = 0;
        while (i < o->formulas && o->formula[i] != formula)
            i++;
        if (is_asked(o, m) && i == o->formulas)
            o->formula[o->formulas++] = formula;
    }
}

static void measure_values(objective *o, size_t r, const float *p, metric formula)
{
    enum { PIECE = 256 };
    for (size_t j = 0; j < o->units; j += PIECE) {
        double y[PIECE];
        size_t n = o->units - j < PIECE ? o->units - j : PIECE;
        for (size_t k = 0; k < n; k++)
            y[k] = raw_target(o, r, j + k);
        metric_add(formula, &o->metric[formula], y, p + j, n);
    }
}

static bool is_right(const objective *o, size_t r, const float *score, metric formula)
{
    enum { TOP = 5 };
    bool numbers = has_numbers(o);
    if (o->units == 1 && !numbers) // on the right side of one half
        return (score[0] > 0.5f) == (raw_target(o, r, 0) > 0.5);
    int64_t class = numbers ? label(o, r) : argmax_target(o, r);
    return formula == METRIC_TOP_K ? is_in_top(score, o->units, class, TOP)
                                   : argmax(score, o->units) == class;
}

// Adds row r to the metrics: p are its outputs; `score` has their order, for accuracies.
static void measure_row(objective *o, size_t r, const float *p, const float *score)
{
    if (o->outputs)
        memcpy(o->outputs + r * o->units, p, o->units * sizeof *p);
    for (size_t i = 0; i < o->formulas; i++) {
        metric formula = o->formula[i];
        if (formula != METRIC_ACCURACY && formula != METRIC_TOP_K) {
            measure_values(o, r, p, formula);
            continue;
        }
        o->metric[formula].n++;
        o->metric[formula].sum += is_right(o, r, score, formula);
    }
}

static size_t padded(const objective *o)
{
    return op_round(o->units, NARROW);
}

// The columns of d beyond `units` must not reach the weights.
static void clear_rest(objective *o)
{
    size_t width = padded(o);
    for (size_t r = 0; r < o->rows && width > o->units; r++)
        memset(o->d + r * o->ld + o->units, 0, (width - o->units) * sizeof *o->d);
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
            o->loss_sum += weight(o, r) * (double)(o->log_sum[r] - z[y]);
            measure_row(o, r, outputs(o, r), z);
        }
        float right = (d[y] - 1) * scale;
        for (size_t j = 0; j < o->units; j += NARROW) // the columns behind are 0
            for (size_t k = 0; k < NARROW; k++)
                d[j + k] *= scale;
        d[y] = right;
    }
}

// -Σ y[j]·log p[j] with log p[j] = z[j] - log Σ e^z; its gradient is p·Σy - y.
static void categorical(objective *o, bool measure)
{
    o->cpu->softmax(o->d, o->ld, o->rows, o->units, o->log_sum);
    for (size_t r = 0; r < o->rows; r++) {
        float *d = o->d + r * o->ld, *z = o->z + r * o->ld;
        double mass = 0;
        if (measure)
            measure_row(o, r, outputs(o, r), z);
        for (size_t j = 0; j < o->units; j++)
            mass += target(o, r, j);
        for (size_t j = 0; j < o->units; j++) {
            double y = target(o, r, j);
            if (measure && y != 0)
                o->loss_sum += weight(o, r) * y * (double)(o->log_sum[r] - z[j]);
            d[j] = (float)(((double)d[j] * mass - y) / (double)o->rows);
        }
    }
}

// -y·log p - (1-y)·log(1-p) = max(z, 0) - z·y + log(1 + e^-|z|); its gradient is p - y.
static void binary(objective *o, bool measure)
{
    o->cpu->activate(ACTIVATION_SIGMOID, o->d, o->ld, o->rows, padded(o));
    double units = (double)o->units, all = units * (double)o->rows;
    for (size_t r = 0; r < o->rows; r++) {
        float *d = o->d + r * o->ld, *z = o->z + r * o->ld;
        double counts = measure ? weight(o, r) : 1;
        if (measure)
            measure_row(o, r, outputs(o, r), outputs(o, r));
        for (size_t j = 0; j < o->units; j++) {
            double y = target(o, r, j), zj = (double)z[j];
            if (measure)
                o->loss_sum += counts * (fmax(zj, 0) - zj * y + log1p(exp(-fabs(zj)))) / units;
            d[j] = (float)(((double)d[j] - y) / all);
        }
    }
    clear_rest(o);
}

// The losses that are a mean over single outputs: l(p, y) and dl/dp.
struct part {
    double value, slope;
};

static double sign(double a)
{
    return (a > 0) - (a < 0);
}

static struct part logarithmic(double p, double y)
{
    double off = log(fmax(p, 1e-7) + 1) - log(fmax(y, 1e-7) + 1);
    return (struct part){off * off, p > 1e-7 ? 2 * off / (p + 1) : 0};
}

static struct part huber(double off, double delta)
{
    if (fabs(off) <= delta)
        return (struct part){off * off / 2, off};
    return (struct part){delta * fabs(off) - delta * delta / 2, delta * sign(off)};
}

static struct part part_of(const compile_spec *s, double p, double y)
{
    double off = p - y, size = fmax(fabs(y), 1e-7);
    switch (s->loss) {
    case LOSS_MEAN_ABSOLUTE_ERROR:
        return (struct part){fabs(off), sign(off)};
    case LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR:
        return (struct part){100 * fabs(off) / size, 100 * sign(off) / size};
    case LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR:
        return logarithmic(p, y);
    case LOSS_HUBER:
        return huber(off, s->delta > 0 ? s->delta : 1);
    case LOSS_LOG_COSH: // log cosh x = |x| + log(1 + e^-2|x|) - log 2
        return (struct part){fabs(off) + log1p(exp(-2 * fabs(off))) - M_LN2, tanh(off)};
    case LOSS_POISSON:
        return (struct part){p - y * log(p + 1e-7), 1 - y / (p + 1e-7)};
    case LOSS_RMSPE:
        off = y < 0 || y > 0 ? off / y : 0;
        return (struct part){off * off, off < 0 || off > 0 ? 2 * off / y : 0};
    default:
        return (struct part){off * off, 2 * off};
    }
}

// Its gradient is dl/dp·f'(z).
static void by_outputs(objective *o, bool measure)
{
    size_t width = padded(o);
    o->cpu->activate(o->f, o->z, o->ld, o->rows, width);
    double units = (double)o->units, all = units * (double)o->rows;
    for (size_t r = 0; r < o->rows; r++) {
        float *d = o->d + r * o->ld, *p = o->z + r * o->ld;
        double counts = measure ? weight(o, r) : 1;
        if (measure)
            measure_row(o, r, p, p);
        for (size_t j = 0; j < o->units; j++) {
            struct part l = part_of(o->spec, (double)p[j], target(o, r, j));
            if (measure)
                o->loss_sum += counts * l.value / units;
            d[j] = (float)(l.slope / all);
        }
    }
    o->cpu->derive(o->f, o->d, o->ld, o->z, o->ld, o->rows, width);
    clear_rest(o);
}

// The root of what by_outputs has found: L = √(Σ l/n) over the n outputs whose y is not 0, and
// dL/dp = dl/dp/(2·n·L). All threads need it.
static void take_root(objective *o)
{
    double sum = 0, n = 0, all = (double)o->units * (double)o->rows;
    for (size_t r = 0; r < o->rows; r++)
        for (size_t j = 0; j < o->units; j++) {
            double y = target(o, r, j);
            n += y < 0 || y > 0;
            sum += weight(o, r) * part_of(o->spec, (double)o->z[r * o->ld + j], y).value;
        }
    double root = n > 0 ? sqrt(sum / n) : 0;
    float factor = root > 0 || isnan(root) ? (float)(all / (2 * n * root)) : 0;
    for (size_t r = 0; r < o->rows; r++)
        for (size_t j = 0; j < o->units; j++)
            o->d[r * o->ld + j] *= factor;
    o->loss_sum = root * (double)o->rows;
}

// d = g·df/dz for the outputs p = f(z): for softmax p[j]·(g[j] - Σ g·p).
static void through_activation(objective *o)
{
    for (size_t r = 0; o->f == ACTIVATION_SOFTMAX && r < o->rows; r++) {
        float *d = o->d + r * o->ld, *p = o->z + r * o->ld;
        double sum = 0;
        for (size_t j = 0; j < o->units; j++)
            sum += (double)d[j] * (double)p[j];
        for (size_t j = 0; j < o->units; j++)
            d[j] = (float)((double)p[j] * ((double)d[j] - sum));
    }
    if (o->f != ACTIVATION_SOFTMAX)
        o->cpu->derive(o->f, o->d, o->ld, o->z, o->ld, o->rows, padded(o));
}

tensor *objective_outputs(size_t n, const row_shape *row, err *e)
{
    size_t shape[TENSOR_MAX_DIMS] = {n, shape_size(row)};
    if (row->dims >= TENSOR_MAX_DIMS)
        return tensor_new(TENSOR_F32, 2, shape, e);
    memcpy(shape + 1, row->size, (size_t)row->dims * sizeof *shape);
    return tensor_new(TENSOR_F32, row->dims + 1, shape, e);
}

tensor *objective_targets(const tensor *y, const uint32_t *rows, size_t n, const tensor *p, err *e)
{
    tensor *t = tensor_gather(y, rows, n, e);
    bool more = y->dims == p->dims + 1 && y->shape[y->dims - 1] == 1;
    bool less = y->dims + 1 == p->dims && p->shape[p->dims - 1] == 1;
    if (!t || (!more && !less))
        return t;
    int64_t shape[TENSOR_MAX_DIMS];
    for (int i = 0; i < p->dims; i++)
        shape[i] = i < t->dims ? (int64_t)t->shape[i] : 1;
    tensor *shaped = tensor_reshape(t, p->dims, shape, e);
    tensor_free(t);
    return shaped;
}

// Calls it with tensors of its own; g becomes the gradient.
static int call_own(objective *o, float *g)
{
    const own_loss *own = o->spec->own;
    tensor *p = objective_outputs(o->rows, &o->out, &o->error), *y = NULL, *w = NULL;
    for (size_t r = 0; p && r < o->rows; r++)
        memcpy((float *)p->data + r * o->units, o->z + r * o->ld, o->units * sizeof(float));
    y = p ? objective_targets(o->y, o->row, o->rows, p, &o->error) : NULL;
    if (y && o->weights)
        w = tensor_gather(o->weights, o->row, o->rows, &o->error);
    int status =
        y && (w || !o->weights) ? own->run(own->ctx, y, p, w, &o->loss_sum, g, &o->error) : -1;
    tensor_free(y);
    tensor_free(p);
    tensor_free(w);
    return status;
}

static void own(objective *o, bool measure)
{
    if (o->f == ACTIVATION_SOFTMAX)
        o->cpu->softmax(o->z, o->ld, o->rows, o->units, NULL);
    else
        o->cpu->activate(o->f, o->z, o->ld, o->rows, padded(o));
    AUTO_FREE float *g = mem_array(o->rows * o->units + 1, sizeof *g);
    o->failed = call_own(o, g) < 0;
    for (size_t r = 0; r < o->rows; r++) {
        memcpy(o->d + r * o->ld, g + r * o->units, o->units * sizeof *g);
        if (measure)
            measure_row(o, r, o->z + r * o->ld, o->z + r * o->ld);
    }
    through_activation(o);
    clear_rest(o);
}

void objective_run(objective *o, bool measure)
{
    memcpy(o->d, o->z, o->rows * o->ld * sizeof *o->d);
    find_formulas(o);
    if (o->spec->own) {
        own(o, measure);
        return;
    }
    switch (o->spec->loss) {
    case LOSS_SPARSE_CATEGORICAL_CROSSENTROPY:
        sparse_categorical(o, measure);
        break;
    case LOSS_CATEGORICAL_CROSSENTROPY:
        categorical(o, measure);
        break;
    case LOSS_BINARY_CROSSENTROPY:
        binary(o, measure);
        break;
    default:
        by_outputs(o, measure);
        if (o->spec->loss == LOSS_RMSPE)
            take_root(o);
        break;
    }
    for (size_t r = 0; o->weights && r < o->rows; r++)
        for (size_t j = 0; j < o->units; j++)
            o->d[r * o->ld + j] *= (float)weight(o, r);
}

static int check_metrics(const compile_spec *s, err *e)
{
    bool numbers = s->loss == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY;
    for (metric m = 0; m < METRIC_COUNT; m++) {
        metric_set one = (metric_set)1 << m;
        bool fits = numbers ? one & (METRIC(ACCURACY) | METRIC(ACC) | METRICS_SPARSE)
                            : !(one & METRICS_SPARSE) &&
                                  (m != METRIC_TOP_K || s->loss == LOSS_CATEGORICAL_CROSSENTROPY);
        if ((s->metrics & one) && !fits)
            return err_set(e, ERR_USAGE, "the metric %s does not go with %s", metric_name(m),
                loss_name(s->loss));
    }
    return 0;
}

static int check_options(const compile_spec *s, err *e)
{
    double smooth = s->label_smoothing;
    bool smooths = s->loss == LOSS_CATEGORICAL_CROSSENTROPY || s->loss == LOSS_BINARY_CROSSENTROPY;
    if (!(smooth >= 0 && smooth <= 1))
        return err_set(e, ERR_USAGE, "label_smoothing must be from 0 to 1, not %g", smooth);
    if (smooth > 0 && !smooths)
        return err_set(e, ERR_USAGE, "%s has no label_smoothing", loss_name(s->loss));
    if (!(s->delta >= 0 && isfinite(s->delta)))
        return err_set(e, ERR_USAGE, "delta must be greater than 0, not %g", s->delta);
    if (s->from_logits && !loss_is_crossentropy(s->loss))
        return err_set(e, ERR_USAGE, "%s has no from_logits", loss_name(s->loss));
    return check_metrics(s, e);
}

int objective_check(const compile_spec *s, activation f, err *e)
{
    bool yes = s->loss == LOSS_BINARY_CROSSENTROPY;
    activation want = yes ? ACTIVATION_SIGMOID : ACTIVATION_SOFTMAX;
    if (s->own)
        return 0;
    if (check_options(s, e) < 0)
        return -1;
    if (!loss_is_crossentropy(s->loss)) {
        if (f != ACTIVATION_SOFTMAX)
            return 0;
        return err_set(e, ERR_USAGE,
            "%s does not go with softmax in the last layer: use categorical_crossentropy",
            loss_name(s->loss));
    }
    if (f == (s->from_logits ? ACTIVATION_LINEAR : want))
        return 0;
    if (s->from_logits)
        return err_set(e, ERR_USAGE,
            "%s with from_logits needs a last layer without activation, not %s", loss_name(s->loss),
            activation_name(f));
    return err_set(e, ERR_USAGE,
        "%s needs %s as the last layer's activation (or from_logits), not %s", loss_name(s->loss),
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

// Cross-entropies take probabilities, a Poisson loss counts; the other losses any number.
static int check_values(loss_kind loss, const tensor *y, err *e)
{
    bool any = !loss_is_crossentropy(loss);
    size_t width = tensor_row_size(y);
    for (size_t i = 0; i < tensor_count(y); i++) {
        double value = tensor_at(y, i);
        if (!isfinite(value))
            return err_set(e, ERR_USAGE, "row %zu of y holds %g", i / width, value);
        if (loss == LOSS_POISSON && value < 0)
            return err_set(e, ERR_USAGE, "row %zu of y holds %g: poisson takes counts from 0 on",
                i / width, value);
        if (!any && (value < 0 || value > 1))
            return err_set(e, ERR_USAGE,
                "row %zu of y holds %g: %s takes targets from 0 to 1 (for class numbers: "
                "sparse_categorical_crossentropy)",
                i / width, value, loss_name(loss));
    }
    return 0;
}

int objective_check_accuracy(const compile_spec *s, const tensor *y, err *e)
{
    metric_set asked = s->metrics & (METRICS_ACCURACY | METRIC(BINARY_ACCURACY));
    size_t width = tensor_row_size(y);
    metric m = 0;
    if (!asked || loss_is_crossentropy(s->loss))
        return 0;
    while (!(asked & (metric_set)1 << m))
        m++;
    for (size_t i = 0; i < tensor_count(y); i++) {
        double value = tensor_at(y, i);
        if (value != 0 && value != 1)
            return err_set(e, ERR_USAGE,
                "the metric \"%s\" is for classes, but row %zu of y holds %g: it has no meaning "
                "for a regression",
                metric_name(m), i / width, value);
    }
    return 0;
}

// A loss of one's own takes targets of any shape; metrics need those of an output, or classes.
static int check_own(const compile_spec *s, size_t units, const tensor *y, err *e)
{
    const metric_set shares = METRICS_ACCURACY | METRIC(TOP_K) | METRIC(SPARSE_TOP_K);
    if (y->dims < 1)
        return err_set(e, ERR_USAGE, "y has no rows");
    if (!s->metrics || tensor_row_size(y) == units)
        return 0;
    if (tensor_row_size(y) == 1 && !(s->metrics & ~shares))
        return check_labels(units, y, e);
    AUTO_BUF shape = {0};
    tensor_shape_text(y, &shape);
    return err_set(
        e, ERR_USAGE, "the metrics expect y of shape (n, %zu), got %s", units, buf_cstr(&shape));
}

int objective_check_targets(const compile_spec *s, size_t units, const tensor *y, err *e)
{
    loss_kind loss = s->loss;
    if (s->own)
        return check_own(s, units, y, e);
    bool numbers = loss == LOSS_SPARSE_CATEGORICAL_CROSSENTROPY;
    size_t want = numbers ? 1 : units;
    if (y->dims >= 1 && tensor_row_size(y) == want)
        return numbers ? check_labels(units, y, e) : check_values(loss, y, e);
    AUTO_BUF shape = {0};
    tensor_shape_text(y, &shape);
    return err_set(e, ERR_USAGE, "%s expects y of shape (n, %zu), got %s", loss_name(loss), want,
        buf_cstr(&shape));
}
