// SPDX-License-Identifier: MIT
// Computes the aggregates of groups: groups.h has the contracts.
#include "base/mem.h"
#include "trainer/data/table/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(name, text) text,
    AGGREGATES(X)
#undef X
};

int aggregate_parse(const char *text, aggregate *how, err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], text) == 0) {
            *how = (aggregate)i;
            return 0;
        }
    return err_set(e, ERR_USAGE,
        "unknown aggregate \"%s\" (known: count, first, last, max, mean, median, min, size, std, "
        "sum)",
        text);
}

// The values that count, of rows row[0 … n).
static size_t collect(const tensor *t, const uint32_t *row, size_t n, double *out)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        double v = tensor_at(t, row[i]);
        if (!isnan(v))
            out[count++] = v;
    }
    return count;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sum_of(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum;
}

static double std_of(const double *v, size_t n)
{
    double mean = sum_of(v, n) / (double)n, squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - mean) * (v[i] - mean);
    return n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
}

static double extreme(const double *v, size_t n, bool greatest)
{
    double best = v[0];
    for (size_t i = 1; i < n; i++)
        best = greatest ? fmax(best, v[i]) : fmin(best, v[i]);
    return best;
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

// Of n values that count, of `all` rows; `v` may be put into another order.
static double reduce(aggregate how, double *v, size_t n, size_t all)
{
    if (how == AGGREGATE_SIZE || how == AGGREGATE_COUNT)
        return (double)(how == AGGREGATE_SIZE ? all : n);
    if (how == AGGREGATE_SUM)
        return sum_of(v, n);
    if (n == 0)
        return NAN;
    switch (how) {
    case AGGREGATE_MEAN:
        return sum_of(v, n) / (double)n;
    case AGGREGATE_STD:
        return std_of(v, n);
    case AGGREGATE_MIN:
    case AGGREGATE_MAX:
        return extreme(v, n, how == AGGREGATE_MAX);
    case AGGREGATE_MEDIAN:
        return median(v, n);
    default:
        return v[how == AGGREGATE_LAST ? n - 1 : 0];
    }
}

// The same for integers, exactly; -1: the sum has more than 64 bits.
static int reduce_integers(
    aggregate how, const tensor *t, const uint32_t *row, size_t n, int64_t *out)
{
    if (how == AGGREGATE_SIZE || how == AGGREGATE_COUNT) {
        *out = (int64_t)n;
        return 0;
    }
    *out = tensor_integer_at(t, row[how == AGGREGATE_LAST ? n - 1 : 0]);
    for (size_t i = 1; i < n; i++) {
        int64_t v = tensor_integer_at(t, row[i]);
        if (how == AGGREGATE_SUM && __builtin_add_overflow(*out, v, out))
            return -1;
        if ((how == AGGREGATE_MIN && v < *out) || (how == AGGREGATE_MAX && v > *out))
            *out = v;
    }
    return 0;
}

static bool is_whole(const tensor *t, aggregate how)
{
    bool counts = how == AGGREGATE_SIZE || how == AGGREGATE_COUNT;
    bool keeps = how == AGGREGATE_SUM || how == AGGREGATE_MIN || how == AGGREGATE_MAX ||
                 how == AGGREGATE_FIRST || how == AGGREGATE_LAST;
    return counts || (keeps && tensor_is_integer(t));
}

tensor *groups_aggregate(const groups *g, const tensor *values, aggregate how, err *e)
{
    bool integer = tensor_is_integer(values), whole = is_whole(values, how);
    tensor *out = tensor_new(whole ? TENSOR_I64 : TENSOR_F32, 1, &g->n, e);
    AUTO_FREE double *room = mem_array(g->rows + 1, sizeof *room);
    for (size_t k = 0; out && k < g->n; k++) {
        const uint32_t *row = g->row + g->begin[k];
        size_t all = g->begin[k + 1] - g->begin[k];
        int64_t *to = (int64_t *)out->data + k;
        if (integer && whole && reduce_integers(how, values, row, all, to) < 0) {
            err_set(e, ERR_LIMIT, "a sum of integers has more than 64 bits");
            tensor_free(out);
            return NULL;
        }
        if (integer && whole)
            continue;
        double v = reduce(how, room, collect(values, row, all, room), all);
        if (whole)
            *to = (int64_t)v;
        else
            ((float *)out->data)[k] = (float)v;
    }
    return out;
}

tensor *groups_shift(const groups *g, const tensor *values, long by, bool category, err *e)
{
    AUTO_FREE uint32_t *rows = mem_array(g->rows + 1, sizeof *rows);
    for (size_t k = 0; k < g->n; k++) {
        long from = (long)g->begin[k], to = (long)g->begin[k + 1];
        for (long i = from; i < to; i++) {
            bool there = by < to - from && by > from - to && i - by >= from && i - by < to;
            rows[g->row[i]] = there ? g->row[i - by] : ROW_NONE;
        }
    }
    return rows_take(values, rows, g->rows, category, e);
}

tensor *groups_roll(
    const groups *g, const tensor *values, aggregate how, size_t window, size_t least, err *e)
{
    tensor *out = tensor_new(TENSOR_F32, 1, &g->rows, e);
    size_t most = window < g->rows ? window : g->rows;
    AUTO_FREE double *room = mem_array(most + 1, sizeof *room);
    for (size_t k = 0; out && k < g->n; k++)
        for (size_t i = g->begin[k]; i < g->begin[k + 1]; i++) {
            size_t back = i - g->begin[k] + 1, n = back < window ? back : window;
            size_t count = collect(values, g->row + i + 1 - n, n, room);
            ((float *)out->data)[g->row[i]] =
                count < least ? NAN : (float)reduce(how, room, count, n);
        }
    return out;
}

tensor *groups_cumulate(const groups *g, const tensor *values, err *e)
{
    bool whole = tensor_is_integer(values);
    tensor *out = tensor_new(whole ? TENSOR_I64 : TENSOR_F32, 1, &g->rows, e);
    for (size_t k = 0; out && k < g->n; k++) {
        double sum = 0;
        int64_t total = 0;
        for (size_t i = g->begin[k]; i < g->begin[k + 1]; i++) {
            uint32_t row = g->row[i];
            if (whole && __builtin_add_overflow(total, tensor_integer_at(values, row), &total)) {
                err_set(e, ERR_LIMIT, "a sum of integers has more than 64 bits");
                tensor_free(out);
                return NULL;
            }
            double v = whole ? 0 : tensor_at(values, row);
            sum += isnan(v) ? 0 : v;
            if (whole)
                ((int64_t *)out->data)[row] = total;
            else
                ((float *)out->data)[row] = isnan(v) ? NAN : (float)sum;
        }
    }
    return out;
}

static void set_difference(tensor *out, uint32_t row, const tensor *when, uint32_t since)
{
    if (out->type == TENSOR_I64)
        ((int64_t *)out->data)[row] = (int64_t)((uint64_t)tensor_integer_at(when, row) -
                                                (uint64_t)tensor_integer_at(when, since));
    else
        ((float *)out->data)[row] = (float)(tensor_at(when, row) - tensor_at(when, since));
}

tensor *groups_elapsed(const groups *g, const tensor *flag, const tensor *when, bool back, err *e)
{
    tensor_type type = tensor_is_integer(when) ? TENSOR_I64 : TENSOR_F32;
    tensor *out = tensor_new(type, 1, &g->rows, e);
    for (size_t k = 0; out && k < g->n; k++) {
        size_t from = g->begin[k], n = g->begin[k + 1] - from;
        uint32_t since = g->row[back ? from + n - 1 : from];
        for (size_t i = 0; i < n; i++) {
            uint32_t row = g->row[back ? from + n - 1 - i : from + i];
            double v = tensor_at(flag, row);
            since = v != 0 && !isnan(v) ? row : since;
            set_difference(out, row, when, since);
        }
    }
    return out;
}
