// SPDX-License-Identifier: MIT
#include "trainer/data/groups.h"

#include "base/mem.h"
#include "trainer/data/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MISSING = 0x7ff8000000000000u;

// Equal numbers have equal keys. Whole numbers are themselves; the bits of other doubles are no
// whole number that a double could be.
static uint64_t key_at(const tensor *t, size_t i)
{
    if (tensor_is_integer(t))
        return (uint64_t)tensor_integer_at(t, i);
    double v = tensor_at(t, i);
    if (isnan(v))
        return MISSING;
    if (v == trunc(v) && fabs(v) < 0x1p53)
        return (uint64_t)(int64_t)v;
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

// Open addressing: slots hold rows of `keys`, the first of each key.
struct index {
    const tensor *const *keys;
    size_t key_n, mask;
    uint32_t *slot;
};

static int check_columns(const tensor *const *keys, size_t key_n, err *e)
{
    if (key_n < 1 || key_n > KEYS_MAX)
        return err_set(e, ERR_USAGE, "expects 1 to %d columns as keys, got %zu", KEYS_MAX, key_n);
    if (tensor_rows(keys[0]) >= ROW_NONE)
        return err_set(e, ERR_LIMIT, "a table of 2^32 rows or more");
    return 0;
}

static void index_init(struct index *x, const tensor *const *keys, size_t key_n)
{
    size_t size = 16;
    while (size < 2 * tensor_rows(keys[0]))
        size *= 2;
    *x = (struct index){.keys = keys, .key_n = key_n, .mask = size - 1};
    x->slot = mem_array(size, sizeof *x->slot);
    memset(x->slot, 0xff, size * sizeof *x->slot);
}

static uint64_t hash_row(const tensor *const *keys, size_t key_n, size_t row)
{
    uint64_t h = 0;
    for (size_t k = 0; k < key_n; k++)
        h = random_mix(h + key_at(keys[k], row) + 0x9e3779b97f4a7c15u);
    return h;
}

// The slot of this row's key: one that is empty, or that holds the key's first row.
static uint32_t *index_find(const struct index *x, const tensor *const *keys, size_t row)
{
    for (size_t at = hash_row(keys, x->key_n, row) & x->mask;; at = (at + 1) & x->mask) {
        uint32_t there = x->slot[at];
        bool same = true;
        for (size_t k = 0; there != ROW_NONE && same && k < x->key_n; k++)
            same = key_at(x->keys[k], there) == key_at(keys[k], row);
        if (same)
            return &x->slot[at];
    }
}

// Lists the rows by group: a counting sort.
static void list_rows(groups *g)
{
    g->begin = mem_array(g->n + 2, sizeof *g->begin);
    g->row = mem_array(g->rows + 1, sizeof *g->row);
    for (size_t i = 0; i < g->rows; i++)
        g->begin[g->of[i] + 2]++;
    for (size_t k = 2; k < g->n + 2; k++)
        g->begin[k] += g->begin[k - 1];
    for (size_t i = 0; i < g->rows; i++)
        g->row[g->begin[g->of[i] + 1]++] = (uint32_t)i;
}

int groups_make(groups *g, const tensor *const *keys, size_t key_n, err *e)
{
    *g = (groups){0};
    if (check_columns(keys, key_n, e) < 0)
        return -1;
    struct index x;
    g->rows = tensor_rows(keys[0]);
    g->of = mem_array(g->rows + 1, sizeof *g->of);
    index_init(&x, keys, key_n);
    for (size_t i = 0; i < g->rows; i++) {
        uint32_t *slot = index_find(&x, keys, i);
        g->of[i] = *slot == ROW_NONE ? (uint32_t)g->n++ : g->of[*slot];
        if (*slot == ROW_NONE)
            *slot = (uint32_t)i;
    }
    free(x.slot);
    list_rows(g);
    return 0;
}

void groups_done(groups *g)
{
    free(g->of);
    free(g->begin);
    free(g->row);
    *g = (groups){0};
}

int groups_match(const tensor *const *keys, const tensor *const *other, size_t key_n, uint32_t *out,
    size_t *twice, err *e)
{
    if (check_columns(keys, key_n, e) < 0 || check_columns(other, key_n, e) < 0)
        return -1;
    struct index x;
    index_init(&x, other, key_n);
    int status = 0;
    for (size_t i = 0; i < tensor_rows(other[0]) && status == 0; i++) {
        uint32_t *slot = index_find(&x, other, i);
        if (*slot != ROW_NONE) {
            *twice = i;
            status = err_set(e, ERR_INVALID, "rows %u and %zu have the same keys", *slot, i);
        }
        *slot = (uint32_t)i;
    }
    for (size_t i = 0; i < tensor_rows(keys[0]) && status == 0; i++)
        out[i] = *index_find(&x, keys, i);
    free(x.slot);
    return status;
}

// The number as 64 bits that have its order; missing values are last either way.
static uint64_t rank_at(const tensor *t, size_t i, bool down)
{
    uint64_t bits, top = (uint64_t)1 << 63;
    if (tensor_is_integer(t)) {
        bits = (uint64_t)tensor_integer_at(t, i) ^ top;
    } else {
        double v = tensor_at(t, i) + 0.0; // -0 becomes 0
        if (isnan(v))
            return UINT64_MAX;
        memcpy(&bits, &v, sizeof bits);
        bits = bits & top ? ~bits : bits | top;
    }
    return down ? ~bits : bits;
}

struct ranked {
    uint64_t rank;
    uint32_t row;
};

// One digit of a radix sort, which keeps the order of equal ones; false when all have the same.
static bool sort_digit(const struct ranked *from, struct ranked *to, size_t n, int shift)
{
    size_t count[257] = {0};
    for (size_t i = 0; i < n; i++)
        count[((from[i].rank >> shift) & 255) + 1]++;
    for (int d = 1; d <= 256; d++)
        if (count[d] == n)
            return false;
    for (int d = 1; d <= 256; d++)
        count[d] += count[d - 1];
    for (size_t i = 0; i < n; i++)
        to[count[(from[i].rank >> shift) & 255]++] = from[i];
    return true;
}

int rows_sort(const tensor *const *keys, const bool *down, size_t key_n, uint32_t *order, err *e)
{
    if (check_columns(keys, key_n, e) < 0)
        return -1;
    size_t n = tensor_rows(keys[0]);
    AUTO_FREE struct ranked *one = mem_array(n + 1, sizeof *one);
    AUTO_FREE struct ranked *two = mem_array(n + 1, sizeof *two);
    order_plain(order, n);
    for (size_t k = key_n; k-- > 0;) {
        for (size_t i = 0; i < n; i++)
            one[i] = (struct ranked){rank_at(keys[k], order[i], down[k]), order[i]};
        for (int shift = 0; shift < 64; shift += 8)
            if (sort_digit(one, two, n, shift)) {
                struct ranked *other = one;
                one = two;
                two = other;
            }
        for (size_t i = 0; i < n; i++)
            order[i] = one[i].row;
    }
    return 0;
}

tensor *rows_take(const tensor *t, const uint32_t *rows, size_t n, bool category, err *e)
{
    bool gaps = false;
    for (size_t i = 0; i < n; i++)
        gaps |= rows[i] == ROW_NONE;
    if (!gaps)
        return tensor_gather(t, rows, n, e);
    tensor *out = tensor_new(category ? TENSOR_I64 : TENSOR_F32, 1, &n, e);
    for (size_t i = 0; out && i < n; i++)
        if (category)
            ((int64_t *)out->data)[i] = rows[i] == ROW_NONE ? 0 : tensor_integer_at(t, rows[i]);
        else
            ((float *)out->data)[i] = rows[i] == ROW_NONE ? NAN : (float)tensor_at(t, rows[i]);
    return out;
}
