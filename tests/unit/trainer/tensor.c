// SPDX-License-Identifier: MIT
#include "trainer/tensor/tensor.h"
#include "base/mem.h"
#include "base/os/available.h"
#include "base/os/path.h"
#include "tests/support/tap.h"
#include "trainer/tensor/arithmetic.h"

#include <stdlib.h>

static tensor *counting(tensor_type type, int dims, const size_t *shape)
{
    err e;
    tensor *t = tensor_new(type, dims, shape, &e);
    for (size_t i = 0; i < tensor_count(t); i++) {
        if (type == TENSOR_U8)
            ((uint8_t *)t->data)[i] = (uint8_t)i;
        else
            tensor_set(t, i, (double)i, &e);
    }
    return t;
}

static const char *shape_of(const tensor *t)
{
    static char text[100];
    buf b = {0};
    tensor_shape_text(t, &b);
    snprintf(text, sizeof text, "%s", buf_cstr(&b));
    buf_done(&b);
    return text;
}

TEST(slice_keeps_the_memory)
{
    err e;
    tensor *t = counting(TENSOR_F32, 3, (size_t[]){5, 2, 3});
    tensor *s = tensor_slice(t, 1, 3, &e);
    tensor_free(t);
    CHECK_STR(shape_of(s), "(2, 2, 3)");
    CHECK_NEAR(tensor_at(s, 0), 6, 0);
    CHECK_NEAR(tensor_at(s, 11), 17, 0);
    tensor *row = tensor_row(s, -1, &e);
    tensor_free(s);
    CHECK_STR(shape_of(row), "(2, 3)");
    CHECK_NEAR(tensor_at(row, 5), 17, 0);
    tensor_free(row);
}

TEST(slice_clips_and_counts_from_the_end)
{
    static const struct {
        int64_t from, to;
        size_t rows;
        double first;
    } cases[] = {{0, 10, 10, 0}, {-3, 10, 3, 7}, {2, -2, 6, 2}, {8, 100, 2, 8}, {-100, 1, 1, 0},
        {5, 5, 0, 0}, {7, 3, 0, 0}};
    err e;
    tensor *t = counting(TENSOR_I64, 1, (size_t[]){10});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tensor *s = tensor_slice(t, cases[i].from, cases[i].to, &e);
        CHECK_INT(tensor_rows(s), cases[i].rows);
        if (cases[i].rows)
            CHECK_NEAR(tensor_at(s, 0), cases[i].first, 0);
        tensor_free(s);
    }
    tensor_free(t);
}

TEST(shards_are_every_nth_row)
{
    err e;
    tensor *t = counting(TENSOR_I64, 2, (size_t[]){7, 2});
    tensor *a = tensor_shard(t, 0, 3, &e), *b = tensor_shard(t, 2, 3, &e);
    CHECK_STR(shape_of(a), "(3, 2)");
    CHECK_STR(shape_of(b), "(2, 2)");
    CHECK_NEAR(tensor_at(a, 2), 6, 0); // row 3
    CHECK_NEAR(tensor_at(b, 3), 11, 0);
    tensor *again = tensor_shard(a, 1, 2, &e); // a shard of a shard: row 3 of t
    CHECK_NEAR(tensor_at(again, 1), 7, 0);
    tensor *part = tensor_slice(b, 1, 2, &e);
    CHECK_NEAR(tensor_at(part, 0), 10, 0);
    CHECK(!tensor_shard(t, 3, 3, &e));
    CHECK_HAS(e.text, "rank 3 of 3");
    CHECK(!tensor_reshape(a, 1, (int64_t[]){6}, &e));
    CHECK_HAS(e.text, "copy it first");
    tensor_free(t);
    tensor_free(a);
    tensor_free(b);
    tensor_free(again);
    tensor_free(part);
}

TEST(more_ranks_than_rows_leave_empty_shards)
{
    err e;
    tensor *t = counting(TENSOR_I64, 1, (size_t[]){2});
    tensor *s = tensor_shard(t, 3, 4, &e);
    CHECK_INT(tensor_rows(s), 0);
    tensor_free(s);
    tensor_free(t);
}

TEST(bytes_read_as_scaled_floats)
{
    err e;
    tensor *t = counting(TENSOR_U8, 2, (size_t[]){16, 16});
    tensor *s = tensor_scaled(t, 1 / 255.0f, &e);
    CHECK(tensor_is_integer(t));
    CHECK(!tensor_is_integer(s));
    CHECK_NEAR(tensor_at(s, 255), 1, 1e-6);
    CHECK_NEAR(tensor_at(s, 51), 0.2, 1e-6);
    tensor *f = tensor_to_f32(s, &e);
    CHECK_INT(f->type, TENSOR_F32);
    CHECK_NEAR(tensor_at(f, 51), tensor_at(s, 51), 0);
    CHECK(tensor_set(t, 0, 1, &e) < 0);
    tensor_free(t);
    tensor_free(s);
    tensor_free(f);
}

TEST(reshape_fills_in_one_size)
{
    err e;
    tensor *t = counting(TENSOR_F32, 2, (size_t[]){4, 6});
    tensor *r = tensor_reshape(t, 3, (int64_t[]){2, -1, 3}, &e);
    CHECK_STR(shape_of(r), "(2, 4, 3)");
    CHECK_NEAR(tensor_at(r, 23), 23, 0);
    CHECK(!tensor_reshape(t, 2, (int64_t[]){5, -1}, &e));
    CHECK_STR(e.text, "reshape: 24 elements do not fit into shape (5, -1)");
    CHECK(!tensor_reshape(t, 2, (int64_t[]){-1, -1}, &e));
    tensor_free(r);
    tensor_free(t);
}

TEST(argmax_finds_the_first_greatest)
{
    err e;
    float values[] = {1, 5, 5, 2, 0, 7, 3, 3};
    tensor *t = tensor_from(TENSOR_F32, 2, (size_t[]){2, 4}, values, &e);
    CHECK_INT(tensor_argmax(t, &e), 5);
    tensor *rows = tensor_argmax_rows(t, &e);
    CHECK_NEAR(tensor_at(rows, 0), 1, 0);
    CHECK_NEAR(tensor_at(rows, 1), 1, 0);
    CHECK_NEAR(tensor_sum(t), 26, 0);
    CHECK_NEAR(tensor_reduce_all(REDUCTION_MIN, t, &e), 0, 0);
    CHECK_NEAR(tensor_reduce_all(REDUCTION_MAX, t, &e), 7, 0);
    tensor *empty = tensor_slice(t, 0, 0, &e);
    CHECK_INT(tensor_argmax(empty, &e), -1);
    CHECK_HAS(e.text, "empty");
    tensor_free(t);
    tensor_free(rows);
    tensor_free(empty);
}

TEST(nan_is_the_least_and_the_greatest)
{
    err e;
    buf text = {0};
    tensor *t = tensor_from(TENSOR_F32, 1, (size_t[]){3}, (float[]){1, -NAN, 2}, &e);
    CHECK(isnan(tensor_reduce_all(REDUCTION_MIN, t, &e)) &&
          isnan(tensor_reduce_all(REDUCTION_MAX, t, &e)) && isnan(tensor_sum(t)));
    tensor_format(t, &text);
    CHECK_STR(buf_cstr(&text), "[1, nan, 2]"); // its sign is not shown
    buf_done(&text);
    tensor_free(t);
}

TEST(gather_copies_rows_in_order)
{
    err e;
    tensor *t = counting(TENSOR_U8, 2, (size_t[]){6, 2});
    tensor *odd = tensor_shard(t, 1, 2, &e);
    tensor *g = tensor_gather(odd, (uint32_t[]){2, 0}, 2, &e);
    CHECK_STR(shape_of(g), "(2, 2)");
    CHECK_NEAR(tensor_at(g, 0), 10, 0);
    CHECK_NEAR(tensor_at(g, 3), 3, 0);
    tensor_free(t);
    tensor_free(odd);
    tensor_free(g);
}

TEST(a_row_that_is_not_there_is_named)
{
    err e;
    tensor *t = counting(TENSOR_I64, 1, (size_t[]){10});
    CHECK(!tensor_row(t, 10, &e));
    CHECK_STR(e.text, "index 10 is out of range: the tensor has 10 rows (0 to 9)");
    tensor *number = tensor_row(t, 9, &e);
    CHECK_STR(shape_of(number), "()");
    CHECK_NEAR(tensor_at(number, 0), 9, 0);
    CHECK(!tensor_slice(number, 0, 1, &e));
    tensor_free(number);
    tensor_free(t);
}

TEST(sizes_that_overflow_are_refused)
{
    err e;
    CHECK(!tensor_new(TENSOR_F32, 3, (size_t[]){1u << 31, 1u << 31, 1u << 31}, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_HAS(e.text, "does not fit into memory");
    CHECK(!tensor_new(TENSOR_F32, 9, (size_t[9]){0}, &e));
    CHECK_HAS(e.text, "at most 8 dimensions");
}

TEST(a_tensor_larger_than_memory_is_refused)
{
    err e;
    size_t free = memory_available("/");
    if (free == SIZE_MAX)
        SKIP("this system does not tell how much memory there is");
    CHECK(!tensor_new(TENSOR_U8, 2, (size_t[]){free / 1000 + 1, 1500}, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_HAS(e.text, "the tensor's numbers need ");
}

TEST(text_is_numpys)
{
    err e;
    buf b = {0};
    tensor *t = counting(TENSOR_F32, 2, (size_t[]){2, 3});
    tensor_format(t, &b);
    CHECK_STR(buf_cstr(&b), "[[0, 1, 2],\n [3, 4, 5]]");
    buf_clear(&b);
    tensor *big = counting(TENSOR_I64, 1, (size_t[]){2000});
    tensor_format(big, &b);
    CHECK_STR(buf_cstr(&b), "[0, 1, 2, ..., 1997, 1998, 1999]");
    tensor *row = tensor_row(t, 1, &e);
    CHECK_STR(shape_of(row), "(3,)");
    tensor_free(row);
    tensor_free(t);
    tensor_free(big);
    buf_done(&b);
}

int main(void)
{
    return tap_run();
}
