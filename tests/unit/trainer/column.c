// SPDX-License-Identifier: MIT
#include "trainer/data/table/column.h"
#include "tests/support/tap.h"
#include "trainer/data/table/groups.h"

#include <math.h>
#include <stdint.h>

static tensor *integers(const int64_t *values, size_t n)
{
    err e;
    tensor *t = tensor_from(TENSOR_I64, 1, &n, values, &e);
    CHECK_OK(t, e);
    return t;
}

static tensor_type type_of(int64_t a, int64_t b)
{
    err e;
    tensor *t = column_narrow(integers((int64_t[]){a, 0, b}, 3), &e);
    CHECK_OK(t, e);
    CHECK(tensor_integer_at(t, 0) == a && tensor_integer_at(t, 2) == b);
    tensor_type type = t->type;
    tensor_free(t);
    return type;
}

TEST(integers_are_as_wide_as_they_must_be)
{
    CHECK_INT(type_of(0, 255), TENSOR_U8);
    CHECK_INT(type_of(0, 256), TENSOR_I16);
    CHECK_INT(type_of(-1, 255), TENSOR_I16);
    CHECK_INT(type_of(INT16_MIN, INT16_MAX), TENSOR_I16);
    CHECK_INT(type_of(INT16_MIN - 1, 0), TENSOR_I32);
    CHECK_INT(type_of(INT32_MIN, INT32_MAX), TENSOR_I32);
    CHECK_INT(type_of(0, (int64_t)INT32_MAX + 1), TENSOR_I64);
    CHECK_INT(type_of(INT64_MIN, INT64_MAX), TENSOR_I64);
}

TEST(a_column_becomes_wider)
{
    err e;
    static const int64_t values[] = {200, -5, 40000, INT64_MIN};
    static const tensor_type types[] = {TENSOR_U8, TENSOR_I16, TENSOR_I32, TENSOR_I64};
    tensor *t = tensor_new(TENSOR_U8, 1, &(size_t){4}, &e);
    CHECK_OK(t, e);
    for (size_t i = 0; i < 4; i++) {
        CHECK_OK(column_set(&t, i, values[i], &e) == 0, e);
        CHECK_INT(t->type, types[i]);
        for (size_t k = 0; k <= i; k++)
            CHECK(tensor_integer_at(t, k) == values[k]);
    }
    tensor_free(t);
}

// Keys of a small range are counted through, others hashed: the rows are the same.
TEST(keys_are_found_in_every_width)
{
    enum { N = 3000 };
    err e;
    static int64_t near[N], far[N];
    for (int64_t i = 0; i < N; i++) {
        near[i] = i * i % 61 - 7;
        far[i] = near[i] * 1000000000000;
    }
    tensor *a = column_narrow(integers(near, N), &e), *b = integers(far, N);
    groups one, two;
    CHECK_OK(groups_make(&one, (const tensor *const[]){a, a}, 2, &e) == 0, e);
    CHECK_OK(groups_make(&two, (const tensor *const[]){b, a}, 2, &e) == 0, e);
    CHECK_INT(one.n, two.n);
    for (size_t i = 0; i < N; i++)
        CHECK_INT(one.of[i], two.of[i]);
    for (size_t k = 0; k < one.n; k++) // in the order of appearance
        CHECK(k == 0 || one.row[one.begin[k]] > one.row[one.begin[k - 1]]);
    groups_done(&one), groups_done(&two);
    tensor_free(a), tensor_free(b);
}

TEST(keys_that_are_none_of_the_others_are_not_found)
{
    err e;
    size_t twice;
    uint32_t row[6];
    static const float keys[] = {3, 3.5f, NAN, -1, 9, 1e30f};
    tensor *mine = tensor_from(TENSOR_F32, 1, &(size_t){6}, keys, &e);
    tensor *small = column_narrow(integers((int64_t[]){9, 4, 3}, 3), &e);
    tensor *large = integers((int64_t[]){9, INT64_MIN, 3}, 3);
    for (int i = 0; i < 2; i++) {
        const tensor *other = i ? large : small;
        CHECK_OK(groups_match((const tensor *const[]){mine}, &other, 1, row, &twice, &e) == 0, e);
        CHECK_INT(row[0], 2);
        CHECK_INT(row[4], 0);
        CHECK(row[1] == ROW_NONE && row[2] == ROW_NONE && row[3] == ROW_NONE && row[5] == ROW_NONE);
    }
    tensor *pair = column_narrow(integers((int64_t[]){7, 8, 7, 8}, 4), &e);
    CHECK(groups_match((const tensor *const[]){mine}, (const tensor *const[]){pair}, 1, row, &twice,
              &e) < 0);
    CHECK_STR(e.text, "rows 0 and 2 have the same keys");
    CHECK_INT(twice, 2);
    tensor_free(mine), tensor_free(small), tensor_free(large), tensor_free(pair);
}

TEST(rows_are_sorted_in_every_width)
{
    err e;
    uint32_t order[5];
    tensor *narrow = column_narrow(integers((int64_t[]){5, -300, 70, 5, 0}, 5), &e);
    tensor *wide = integers((int64_t[]){5, INT64_MIN, INT64_MAX, 5, 0}, 5);
    static const uint32_t up[] = {1, 4, 0, 3, 2}, down[] = {2, 0, 3, 4, 1};
    for (int i = 0; i < 4; i++) {
        const tensor *key = i % 2 ? wide : narrow;
        CHECK_OK(rows_sort(&key, &(bool){i > 1}, 1, order, &e) == 0, e);
        for (size_t k = 0; k < 5; k++)
            CHECK_INT(order[k], (i > 1 ? down : up)[k]);
    }
    tensor_free(narrow), tensor_free(wide);
}

int main(void)
{
    return tap_run();
}
