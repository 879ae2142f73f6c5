// SPDX-License-Identifier: MIT
#include "trainer/data/table/groups.h"

#include "base/mem.h"
#include "trainer/data/order.h"
#include "trainer/data/table/column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MISSING = 0x7ff8000000000000u;

// Equal numbers have equal keys. The key of a whole number is the number; the key of another double
// is its bits, which no whole number of a double's precision equals.
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

// Finds the first row of each key. If the keys are small integers, there is a slot for each
// possible key. Otherwise a slot is found by hash (open addressing).
struct index {
    const tensor *const *keys;
    size_t key_n, size;
    uint32_t *slot; // rows of `keys`
    bool counted;
    uint64_t least[KEYS_MAX], span[KEYS_MAX]; // counted: each key column has `span` possible values
                                              // from `least` on
};

static const size_t NOWHERE = SIZE_MAX; // the slot for keys out of that range

static int check_columns(const tensor *const *keys, size_t key_n, err *e)
{
    if (key_n < 1 || key_n > KEYS_MAX)
        return err_set(e, ERR_USAGE, "expects 1 to %d columns as keys, got %zu", KEYS_MAX, key_n);
    if (tensor_rows(keys[0]) > ROWS_MAX)
        return err_set(e, ERR_LIMIT, "a table of 2^31 rows or more");
    return 0;
}

// The number of possible keys of these columns, if each can have a slot; 0: too many.
static size_t count_keys(struct index *x, size_t rows)
{
    size_t all = 1;
    for (size_t k = 0; k < x->key_n; k++) {
        int64_t least, most;
        if (!tensor_is_integer(x->keys[k]))
            return 0;
        column_range(x->keys[k], &least, &most);
        x->least[k] = (uint64_t)least;
        x->span[k] = (uint64_t)most - (uint64_t)least + 1;
        if (!x->span[k] || __builtin_mul_overflow(all, x->span[k], &all) || all > 4 * rows + 1024)
            return 0;
    }
    return all;
}

static void index_init(struct index *x, const tensor *const *keys, size_t key_n)
{
    size_t rows = tensor_rows(keys[0]);
    *x = (struct index){.keys = keys, .key_n = key_n};
    x->size = count_keys(x, rows);
    x->counted = x->size > 0;
    for (x->size = x->counted ? x->size : 16; !x->counted && x->size < 2 * rows;)
        x->size *= 2;
    x->slot = mem_array(x->size, sizeof *x->slot);
    memset(x->slot, 0xff, x->size * sizeof *x->slot);
}

static void read_keys(const tensor *t, size_t from, size_t n, uint64_t *out)
{
    if (tensor_is_integer(t))
        tensor_integers(t, from, n, (int64_t *)out);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = key_at(t, from + i);
}

// Where the search for the keys of rows [from, from + n) begins; n is at most a block.
static void find_places(
    const struct index *x, const tensor *const *keys, size_t from, size_t n, size_t *place)
{
    uint64_t key[COLUMN_BLOCK];
    memset(place, 0, n * sizeof *place);
    for (size_t k = 0; k < x->key_n; k++) {
        read_keys(keys[k], from, n, key);
        for (size_t i = 0; i < n; i++)
            if (!x->counted)
                place[i] = random_mix(place[i] + key[i] + 0x9e3779b97f4a7c15u);
            else if (place[i] == NOWHERE || key[i] - x->least[k] >= x->span[k])
                place[i] = NOWHERE;
            else
                place[i] = place[i] * x->span[k] + (key[i] - x->least[k]);
    }
}

static bool same_keys(const struct index *x, uint32_t there, const tensor *const *keys, size_t row)
{
    bool same = true;
    for (size_t k = 0; same && k < x->key_n; k++)
        same = key_at(x->keys[k], there) == key_at(keys[k], row);
    return same;
}

// The slot for this row's key: an empty one, or the one with the key's first row. NULL: the key
// cannot be in the index.
static uint32_t *index_find(
    const struct index *x, const tensor *const *keys, size_t row, size_t place)
{
    size_t mask = x->size - 1;
    if (x->counted)
        return place == NOWHERE ? NULL : &x->slot[place];
    for (size_t at = place & mask;; at = (at + 1) & mask)
        if (x->slot[at] == ROW_NONE || same_keys(x, x->slot[at], keys, row))
            return &x->slot[at];
}

// Calls visit(ctx, row, its slot) row by row until it returns false.
static void index_each(const struct index *x, const tensor *const *keys,
    bool (*visit)(void *ctx, size_t row, uint32_t *slot), void *ctx)
{
    size_t place[COLUMN_BLOCK], rows = tensor_rows(keys[0]);
    for (size_t at = 0, n; at < rows; at += n) {
        n = rows - at < COLUMN_BLOCK ? rows - at : COLUMN_BLOCK;
        find_places(x, keys, at, n, place);
        for (size_t i = 0; i < n; i++)
            if (!visit(ctx, at + i, index_find(x, keys, at + i, place[i])))
                return;
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

static bool add_to_group(void *ctx, size_t row, uint32_t *slot)
{
    groups *g = ctx;
    g->of[row] = *slot == ROW_NONE ? (uint32_t)g->n++ : g->of[*slot];
    if (*slot == ROW_NONE)
        *slot = (uint32_t)row;
    return true;
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
    index_each(&x, keys, add_to_group, g);
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

struct twice {
    size_t first, second; // rows with the same keys; second SIZE_MAX: there are none
};

static bool add_once(void *ctx, size_t row, uint32_t *slot)
{
    struct twice *t = ctx;
    if (*slot != ROW_NONE)
        *t = (struct twice){*slot, row};
    *slot = (uint32_t)row;
    return t->second == SIZE_MAX;
}

static bool look_up(void *ctx, size_t row, uint32_t *slot)
{
    uint32_t *out = ctx;
    out[row] = slot ? *slot : ROW_NONE;
    return true;
}

int groups_match(const tensor *const *keys, const tensor *const *other, size_t key_n, uint32_t *out,
    size_t *twice, err *e)
{
    if (check_columns(keys, key_n, e) < 0 || check_columns(other, key_n, e) < 0)
        return -1;
    struct index x;
    struct twice found = {.second = SIZE_MAX};
    index_init(&x, other, key_n);
    index_each(&x, other, add_once, &found);
    if (found.second == SIZE_MAX)
        index_each(&x, keys, look_up, out);
    free(x.slot);
    if (found.second == SIZE_MAX)
        return 0;
    *twice = found.second;
    return err_set(
        e, ERR_INVALID, "rows %zu and %zu have the same keys", found.first, found.second);
}

// The number as 64 bits with the same order; missing values come last in both directions.
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

// Sorts by one digit of a radix sort, which keeps the order of equal rows; false if all rows have
// the same digit.
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
        uint64_t least = UINT64_MAX, most = 0;
        for (size_t i = 0; i < n; i++) {
            one[i] = (struct ranked){rank_at(keys[k], order[i], down[k]), order[i]};
            least = one[i].rank < least ? one[i].rank : least;
            most = one[i].rank > most ? one[i].rank : most;
        }
        for (size_t i = 0; i < n; i++)
            one[i].rank -= least; // small integers then have few digits
        for (int shift = 0; shift < 64 && n && (most - least) >> shift; shift += 8)
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
