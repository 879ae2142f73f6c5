// SPDX-License-Identifier: MIT
#include "trainer/nn/initializer.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/nn/orthonormal.h"
#include "trainer/tensor/memory.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *text, *number[INITIALIZER_NUMBERS];
    double otherwise[INITIALIZER_NUMBERS];
} kinds[] = {
#define X(id, class, text, first, one, second, two) {class, text, {first, second}, {one, two}},
    INITIALIZERS(X)
#undef X
};

static const char *const modes[] = {
#define X(id, text) text,
    FAN_MODES(X)
#undef X
};

static const char *const distributions[] = {
#define X(id, text) text,
    FAN_DISTRIBUTIONS(X)
#undef X
};

initializer initializer_of(initializer_kind kind)
{
    initializer s = {.kind = kind};
    memcpy(s.number, kinds[kind].otherwise, sizeof s.number);
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
        if (strcmp(text, kinds[i].name) == 0 || strcmp(text, kinds[i].text) == 0) {
            *kind = (initializer_kind)i;
            return 0;
        }
        buf_fmt(&known, "%s%s", i > 1 ? ", " : "", kinds[i].text);
    }
    return err_set(e, ERR_USAGE, "unknown initializer \"%s\" (known: %s)", text, buf_cstr(&known));
}

int fan_mode_parse(const char *text, fan_mode *mode, err *e)
{
    int i = str_index(modes, ARRAY_LEN(modes), "mode", text, e);
    *mode = i < 0 ? FAN_IN : (fan_mode)i;
    return i < 0 ? -1 : 0;
}

int fan_distribution_parse(const char *text, fan_distribution *d, err *e)
{
    int i = str_index(distributions, ARRAY_LEN(distributions), "distribution", text, e);
    *d = i < 0 ? DISTRIBUTION_TRUNCATED_NORMAL : (fan_distribution)i;
    return i < 0 ? -1 : 0;
}

const char *initializer_number(initializer *s, size_t i, double **value)
{
    if (i >= INITIALIZER_NUMBERS)
        return NULL;
    *value = &s->number[i];
    return kinds[s->kind].number[i];
}

int initializer_check(const initializer *s, int dims, err *e)
{
    bool normal = s->kind == INITIALIZER_RANDOM_NORMAL || s->kind == INITIALIZER_TRUNCATED_NORMAL;
    for (size_t i = 0; i < INITIALIZER_NUMBERS; i++)
        if (!isfinite((float)s->number[i]))
            return err_set(e, ERR_USAGE, "%s: %s must be a finite number, got %g",
                kinds[s->kind].name, kinds[s->kind].number[i], s->number[i]);
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
    initializer copy = *s;
    const char *name;
    double *value;
    json_set_str(j, "type", initializer_name(s->kind));
    for (size_t i = 0; (name = initializer_number(&copy, i, &value)); i++)
        json_set(j, name, cJSON_CreateNumber(*value));
    if (s->kind == INITIALIZER_VARIANCE_SCALING) {
        json_set_str(j, "mode", modes[s->mode]);
        json_set_str(j, "distribution", distributions[s->distribution]);
    }
    if (s->seeded)
        json_set(j, "seed", json_new_int(s->seed));
    return j;
}

int initializer_read(const cJSON *j, initializer *out, err *e)
{
    initializer_kind kind;
    const char *name;
    double *value;
    if (initializer_parse(json_str_or(j, "type", ""), &kind, e) < 0)
        return -1;
    *out = initializer_of(kind);
    for (size_t i = 0; (name = initializer_number(out, i, &value)); i++) {
        const cJSON *number = json_get(j, name);
        *value = cJSON_IsNumber(number) ? number->valuedouble : *value;
    }
    const cJSON *seed = json_get(j, "seed");
    out->seeded = seed && json_int(seed, &out->seed);
    return fan_mode_parse(json_str_or(j, "mode", "fan_in"), &out->mode, e) < 0 ||
                   fan_distribution_parse(json_str_or(j, "distribution", "truncated_normal"),
                       &out->distribution, e) < 0
               ? -1
               : 0;
}
