// SPDX-License-Identifier: MIT
#include "trainer/nn/layer/initializer.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/nn/layer/orthonormal.h"
#include "trainer/tensor/memory.h"

#include <math.h>
#include <string.h>

static const char *const modes[] = {"fan_in", "fan_out", "fan_avg", NULL};
static const char *const distributions[] = {
    "truncated_normal", "untruncated_normal", "uniform", NULL};

static int parse_mode(const char *text, int *mode, err *e)
{
    int i = str_index(modes, ARRAY_LEN(modes) - 1, "mode", text, e);
    *mode = i < 0 ? *mode : i;
    return i < 0 ? -1 : 0;
}

static int parse_distribution(const char *text, int *distribution, err *e)
{
    int i = str_index(distributions, ARRAY_LEN(distributions) - 1, "distribution", text, e);
    *distribution = i < 0 ? *distribution : i;
    return i < 0 ? -1 : 0;
}

#define SEED                                                                                       \
    {                                                                                              \
        "seed", ATTRIBUTE_LUA, .whole = true, .signature = "",                                     \
                               .meaning = "The same numbers in every model."                       \
    }

static const attribute seeded[] = {SEED, {0}};
static const attribute nothing[] = {{0}};
static const attribute constant[] = {
    {"value", ATTRIBUTE_NUMBER, offsetof(initializer, number[0]), .meaning = "The number."}, {0}};
static const attribute random_uniform[] = {
    {"minval", ATTRIBUTE_NUMBER, offsetof(initializer, number[0]), .otherwise = -0.05,
        .meaning = "The least number."},
    {"maxval", ATTRIBUTE_NUMBER, offsetof(initializer, number[1]), .otherwise = 0.05,
        .meaning = "The greatest number."},
    SEED, {0}};
static const attribute random_normal[] = {
    {"mean", ATTRIBUTE_NUMBER, offsetof(initializer, number[0]), .meaning = "The mean."},
    {"stddev", ATTRIBUTE_NUMBER, offsetof(initializer, number[1]), .otherwise = 0.05,
        .meaning = "The standard deviation."},
    SEED, {0}};
static const attribute truncated_normal[] = {
    {"mean", ATTRIBUTE_NUMBER, offsetof(initializer, number[0]), .meaning = "The mean."},
    {"stddev", ATTRIBUTE_NUMBER, offsetof(initializer, number[1]), .otherwise = 0.05,
        .meaning = "The standard deviation."},
    SEED, {0}};
static const attribute variance_scaling[] = {
    {"scale", ATTRIBUTE_NUMBER, offsetof(initializer, number[0]), .otherwise = 1,
        .meaning = "The variance, times n."},
    {"mode", ATTRIBUTE_CHOICE, offsetof(initializer, mode), .choices = modes, .parse = parse_mode,
        .meaning = "What n is: the inputs, the outputs or their mean."},
    {"distribution", ATTRIBUTE_CHOICE, offsetof(initializer, distribution),
        .choices = distributions, .parse = parse_distribution, .meaning = "Of the numbers."},
    SEED, {0}};
static const attribute orthogonal[] = {{"gain", ATTRIBUTE_NUMBER, offsetof(initializer, number[0]),
                                           .otherwise = 1, .meaning = "What it is multiplied by."},
    SEED, {0}};
static const attribute identity[] = {{"gain", ATTRIBUTE_NUMBER, offsetof(initializer, number[0]),
                                         .otherwise = 1, .meaning = "What it is multiplied by."},
    {0}};

static const declaration kinds[] = {
    [INITIALIZER_DEFAULT] = {.name = "", .size = sizeof(initializer), .attributes = nothing},
    [INITIALIZER_GLOROT_UNIFORM] = {.name = "GlorotUniform",
        .other = "glorot_uniform",
        .size = sizeof(initializer),
        .attributes = seeded,
        .places = "seed",
        .checked_later = true,
        .formula = "uniform in ±√(6/(in + out))",
        .source = "Glorot & Bengio 2010"},
    [INITIALIZER_GLOROT_NORMAL] = {.name = "GlorotNormal",
        .other = "glorot_normal",
        .size = sizeof(initializer),
        .attributes = seeded,
        .places = "seed",
        .checked_later = true,
        .formula = "normal with deviation √(2/(in + out)), cut at two deviations",
        .source = "Glorot & Bengio 2010"},
    [INITIALIZER_HE_UNIFORM] = {.name = "HeUniform",
        .other = "he_uniform",
        .size = sizeof(initializer),
        .attributes = seeded,
        .places = "seed",
        .checked_later = true,
        .formula = "uniform in ±√(6/in)",
        .source = "He and others, arXiv 1502.01852"},
    [INITIALIZER_HE_NORMAL] = {.name = "HeNormal",
        .other = "he_normal",
        .size = sizeof(initializer),
        .attributes = seeded,
        .places = "seed",
        .checked_later = true,
        .formula = "normal with deviation √(2/in), cut at two deviations",
        .source = "He and others, arXiv 1502.01852"},
    [INITIALIZER_LECUN_UNIFORM] = {.name = "LecunUniform",
        .other = "lecun_uniform",
        .size = sizeof(initializer),
        .attributes = seeded,
        .places = "seed",
        .checked_later = true,
        .formula = "uniform in ±√(3/in)",
        .source = "LeCun and others 1998"},
    [INITIALIZER_LECUN_NORMAL] = {.name = "LecunNormal",
        .other = "lecun_normal",
        .size = sizeof(initializer),
        .attributes = seeded,
        .places = "seed",
        .checked_later = true,
        .formula = "normal with deviation √(1/in), cut at two deviations",
        .source = "LeCun and others 1998"},
    [INITIALIZER_ZEROS] = {.name = "Zeros",
        .other = "zeros",
        .size = sizeof(initializer),
        .attributes = nothing,
        .checked_later = true,
        .formula = "0",
        .source = "Keras 3"},
    [INITIALIZER_ONES] = {.name = "Ones",
        .other = "ones",
        .size = sizeof(initializer),
        .attributes = nothing,
        .checked_later = true,
        .formula = "1",
        .source = "Keras 3"},
    [INITIALIZER_CONSTANT] = {.name = "Constant",
        .other = "constant",
        .size = sizeof(initializer),
        .attributes = constant,
        .places = "value",
        .checked_later = true,
        .formula = "`value`, 0",
        .source = "Keras 3"},
    [INITIALIZER_RANDOM_UNIFORM] = {.name = "RandomUniform",
        .other = "random_uniform",
        .size = sizeof(initializer),
        .attributes = random_uniform,
        .places = "minval maxval seed",
        .checked_later = true,
        .formula = "uniform from `minval` to `maxval`, ±0.05",
        .source = "Keras 3"},
    [INITIALIZER_RANDOM_NORMAL] = {.name = "RandomNormal",
        .other = "random_normal",
        .size = sizeof(initializer),
        .attributes = random_normal,
        .places = "mean stddev seed",
        .checked_later = true,
        .formula = "normal with `mean` 0 and `stddev` 0.05",
        .source = "Keras 3"},
    [INITIALIZER_TRUNCATED_NORMAL] = {.name = "TruncatedNormal",
        .other = "truncated_normal",
        .size = sizeof(initializer),
        .attributes = truncated_normal,
        .places = "mean stddev seed",
        .checked_later = true,
        .formula = "the same, drawn again beyond two deviations",
        .source = "Keras 3"},
    [INITIALIZER_VARIANCE_SCALING] = {.name = "VarianceScaling",
        .other = "variance_scaling",
        .size = sizeof(initializer),
        .attributes = variance_scaling,
        .places = "scale mode distribution seed",
        .checked_later = true,
        .formula =
            "of variance `scale`/n: n is in, out or their mean by `mode` \"fan_in\", \"fan_out\", "
            "\"fan_avg\"; `distribution` \"truncated_normal\" (√(scale/n)/0.8796 is cut at two "
            "deviations), \"untruncated_normal\", \"uniform\" (in ±√(3·scale/n))",
        .source = "He and others, arXiv 1502.01852"},
    [INITIALIZER_ORTHOGONAL] = {.name = "Orthogonal",
        .other = "orthogonal",
        .size = sizeof(initializer),
        .attributes = orthogonal,
        .places = "gain seed",
        .checked_later = true,
        .formula = "`gain`·Q, whose rows or columns are orthonormal: of the QR decomposition of a "
                   "normal matrix, R's diagonal positive",
        .source = "Saxe and others, arXiv 1312.6120"},
    [INITIALIZER_IDENTITY] = {.name = "Identity",
        .other = "identity",
        .size = sizeof(initializer),
        .attributes = identity,
        .places = "gain",
        .checked_later = true,
        .formula = "`gain` where row and column are the same, else 0",
        .source = "Keras 3"},
};

const declaration *initializer_declaration(initializer_kind kind)
{
    return &kinds[kind];
}

initializer initializer_of(initializer_kind kind)
{
    initializer s = {0};
    declaration_defaults(&kinds[kind], &s);
    s.kind = kind;
    return s;
}

// "HeNormal"
static const char *initializer_name(initializer_kind kind)
{
    return kinds[kind].name;
}

int initializer_parse(const char *text, initializer_kind *kind, err *e)
{
    AUTO_BUF known = {0};
    for (size_t i = 1; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(text, kinds[i].name) == 0 || strcmp(text, kinds[i].other) == 0) {
            *kind = (initializer_kind)i;
            return 0;
        }
        buf_fmt(&known, "%s%s", i > 1 ? ", " : "", kinds[i].other);
    }
    return err_set(e, ERR_USAGE, "unknown initializer \"%s\" (known: %s)", text, buf_cstr(&known));
}

int initializer_check(const initializer *s, int dims, err *e)
{
    bool normal = s->kind == INITIALIZER_RANDOM_NORMAL || s->kind == INITIALIZER_TRUNCATED_NORMAL;
    const declaration *d = &kinds[s->kind];
    for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a)) {
        const double *value = attribute_number(a, s);
        if (value && !isfinite((float)*value))
            return err_set(
                e, ERR_USAGE, "%s: %s must be a finite number, got %g", d->name, a->name, *value);
    }
    if (normal && s->number[1] < 0)
        return err_set(e, ERR_USAGE, "%s: stddev must be 0 or more, got %g", kinds[s->kind].name,
            s->number[1]);
    if (s->kind == INITIALIZER_RANDOM_UNIFORM && s->number[1] < s->number[0])
        return err_set(e, ERR_USAGE, "RandomUniform: maxval %g is less than minval %g",
            s->number[1], s->number[0]);
    if (s->kind == INITIALIZER_VARIANCE_SCALING && !(s->number[0] > 0))
        return err_set(
            e, ERR_USAGE, "VarianceScaling: scale must be more than 0, got %g", s->number[0]);
    if (s->kind == INITIALIZER_ORTHOGONAL && dims < 2)
        return err_set(e, ERR_USAGE, "Orthogonal is for weights of two dimensions or more");
    return s->kind == INITIALIZER_IDENTITY && dims != 2
               ? err_set(e, ERR_USAGE, "Identity is for weights of two dimensions, got %d", dims)
               : 0;
}

// The six initializers that are named after people are cases of VarianceScaling.
static initializer as_scaling(const initializer *s)
{
    initializer v = initializer_of(INITIALIZER_VARIANCE_SCALING);
    bool uniform = true;
    switch (s->kind) {
    case INITIALIZER_GLOROT_NORMAL:
        uniform = false;
        __attribute__((fallthrough));
    case INITIALIZER_GLOROT_UNIFORM:
        v.mode = FAN_AVG;
        break;
    case INITIALIZER_HE_NORMAL:
        uniform = false;
        __attribute__((fallthrough));
    case INITIALIZER_HE_UNIFORM:
        v.number[0] = 2;
        break;
    case INITIALIZER_LECUN_NORMAL:
        uniform = false;
        __attribute__((fallthrough));
    case INITIALIZER_LECUN_UNIFORM:
        break;
    default:
        return *s;
    }
    v.distribution = uniform ? DISTRIBUTION_UNIFORM : DISTRIBUTION_TRUNCATED_NORMAL;
    return v;
}

// As Keras counts them: the last two dimensions, times the size of the window before them.
static double fan_of(fan_mode mode, int dims, const size_t *shape)
{
    double field = 1, in = (double)shape[dims > 1 ? dims - 2 : 0], out = (double)shape[dims - 1];
    for (int i = 0; i + 2 < dims; i++)
        field *= (double)shape[i];
    double fan = mode == FAN_IN ? in : mode == FAN_OUT ? out : (in + out) / 2;
    return fmax(1, fan * field);
}

static double unit(random_state *r)
{
    return (double)(random_next(r) >> 11) * 0x1p-53;
}

// Box and Muller, 1958; of the two numbers that the method gives, one is used.
static double normal(random_state *r)
{
    double u = 1 - unit(r), v = unit(r); // u in (0, 1]
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static double cut_normal(random_state *r)
{
    double z;
    do
        z = normal(r);
    while (fabs(z) > 2);
    return z;
}

static void fill_scaling(const initializer *s, double fan, size_t n, random_state *r, float *out)
{
    const double cut = 0.87962566103423978; // the deviation of a normal one that is cut at ±2
    double deviation = sqrt(s->number[0] / fan), limit = sqrt(3) * deviation;
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(s->distribution == DISTRIBUTION_UNIFORM ? (2 * unit(r) - 1) * limit
                         : s->distribution == DISTRIBUTION_UNTRUNCATED_NORMAL
                             ? normal(r) * deviation
                             : cut_normal(r) * deviation / cut);
}

static int fill_orthogonal(
    double gain, size_t rows, size_t columns, random_state *r, float *out, err *e)
{
    bool tall = rows >= columns; // then columns are orthonormal, else rows
    size_t n = tall ? columns : rows, length = tall ? rows : columns;
    size_t panels = (n + ORTHONORMAL_PANEL - 1) / ORTHONORMAL_PANEL;
    orthonormal_row *q = memory_array(panels * length, sizeof *q);
    if (!q)
        return err_set(e, ERR_LIMIT, "no memory for an orthogonal matrix");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < length; k++)
            *orthonormal_at(q, length, i, k) = normal(r);
    orthonormal_make(q, n, length);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            out[i * columns + j] =
                (float)(gain * *orthonormal_at(q, length, tall ? j : i, tall ? i : j));
    free(q);
    return 0;
}

static float number_at(const initializer *s, size_t i, size_t columns, random_state *r)
{
    const double *n = s->number;
    switch (s->kind) {
    case INITIALIZER_ONES:
        return 1;
    case INITIALIZER_CONSTANT:
        return (float)n[0];
    case INITIALIZER_RANDOM_UNIFORM:
        return (float)(n[0] + unit(r) * (n[1] - n[0]));
    case INITIALIZER_RANDOM_NORMAL:
        return (float)(n[0] + normal(r) * n[1]);
    case INITIALIZER_TRUNCATED_NORMAL:
        return (float)(n[0] + cut_normal(r) * n[1]);
    case INITIALIZER_IDENTITY:
        return i / columns == i % columns ? (float)n[0] : 0;
    default:
        return 0;
    }
}

int initializer_fill(
    const initializer *given, int dims, const size_t *shape, random_state r, float *out, err *e)
{
    initializer s = as_scaling(given);
    size_t columns = shape[dims - 1], rows = 1;
    for (int i = 0; i + 1 < dims; i++)
        rows *= shape[i];
    if (s.kind == INITIALIZER_ORTHOGONAL)
        return fill_orthogonal(s.number[0], rows, columns, &r, out, e);
    if (s.kind == INITIALIZER_VARIANCE_SCALING)
        fill_scaling(&s, fan_of(s.mode, dims, shape), rows * columns, &r, out);
    else
        for (size_t i = 0; i < rows * columns; i++)
            out[i] = number_at(&s, i, columns, &r);
    return 0;
}

cJSON *initializer_json(const initializer *s)
{
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "type", initializer_name(s->kind));
    declaration_write(&kinds[s->kind], s, j);
    if (s->seeded)
        json_set(j, "seed", json_new_int(s->seed));
    return j;
}

int initializer_read(const cJSON *j, initializer *out, err *e)
{
    initializer_kind kind;
    if (initializer_parse(json_str_or(j, "type", ""), &kind, e) < 0 ||
        declaration_read(&kinds[kind], out, j, e) < 0)
        return -1;
    out->kind = kind;
    const cJSON *seed = json_get(j, "seed");
    out->seeded = seed && json_int(seed, &out->seed);
    return 0;
}
