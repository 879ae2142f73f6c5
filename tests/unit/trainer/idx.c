// SPDX-License-Identifier: MIT
#include "trainer/data/idx.h"
#include "base/data/digest.h"
#include "base/os/path.h"
#include "tests/support/tap.h"
#include "trainer/data/mnist.h"
#include "trainer/data/order.h"
#include "trainer/tensor/arithmetic.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

static char *in_dir(const char *name)
{
    return path_join(tap_dir(), name);
}

static void put(const char *name, const void *bytes, size_t n)
{
    char *path = in_dir(name);
    err e;
    CHECK_OK(path_write(path, bytes, n, 0644, &e) == 0, e);
    free(path);
}

static void pack(const void *bytes, size_t n, buf *out)
{
    z_stream z = {0};
    CHECK(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    size_t most = n + n / 100 + 1000;
    buf_reserve(out, most);
    z.next_in = (Bytef *)bytes;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)out->data;
    z.avail_out = (uInt)most;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    out->len = z.total_out;
    deflateEnd(&z);
}

static const uint8_t small[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};

static void check_small(tensor *t, const err *e)
{
    CHECK_OK(t, *e);
    CHECK_INT(t->dims, 2);
    CHECK_INT(t->shape[0], 2);
    CHECK_INT(t->shape[1], 3);
    CHECK_NEAR(tensor_at(t, 5), 6, 0);
    tensor_free(t);
}

TEST(reads_plain_and_gzipped)
{
    err e;
    buf gz = {0};
    check_small(idx_parse(small, sizeof small, &e), &e);
    pack(small, sizeof small, &gz);
    check_small(idx_parse(gz.data, gz.len, &e), &e);
    buf_done(&gz);
}

TEST(reads_wide_types)
{
    err e;
    const uint8_t i16[] = {0, 0, 0x0B, 1, 0, 0, 0, 2, 0xff, 0xfe, 1, 0};
    const uint8_t i32[] = {0, 0, 0x0C, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff};
    const uint8_t f32[] = {0, 0, 0x0D, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0};
    tensor *a = idx_parse(i16, sizeof i16, &e), *b = idx_parse(i32, sizeof i32, &e),
           *c = idx_parse(f32, sizeof f32, &e);
    CHECK_NEAR(tensor_at(a, 0), -2, 0);
    CHECK_NEAR(tensor_at(a, 1), 256, 0);
    CHECK_NEAR(tensor_at(b, 0), -1, 0);
    CHECK_NEAR(tensor_at(c, 0), 1.5, 0);
    tensor_free(a);
    tensor_free(b);
    tensor_free(c);
}

TEST(every_damage_is_named)
{
    static const struct {
        size_t at; // byte to change
        uint8_t value;
        const char *message;
    } cases[] = {
        {0, 1, "not an IDX file: it starts with 01 00 08 02"},
        {2, 9, "not an IDX file"},
        {3, 0, "an IDX file of 0 dimensions"},
        {3, 200, "an IDX file of 200 dimensions"},
        {4, 0xff, "truncated: shape (4278190082, 3) needs more bytes"},
        {7, 3, "truncated: shape (3, 3)"},
        {11, 2, "there are bytes after the last element"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[sizeof small];
        err e = {0};
        memcpy(bytes, small, sizeof small);
        bytes[cases[i].at] = cases[i].value;
        CHECK(!idx_parse(bytes, sizeof bytes, &e));
        CHECK_INT(e.code, ERR_CORRUPT);
        CHECK_HAS(e.text, cases[i].message);
    }
}

TEST(every_truncation_is_named)
{
    err e;
    buf gz = {0};
    pack(small, sizeof small, &gz);
    for (size_t n = 0; n < sizeof small; n++) {
        CHECK(!idx_parse(small, n, &e));
        CHECK_INT(e.code, ERR_CORRUPT);
        CHECK_HAS(e.text, "truncated");
    }
    for (size_t n = 2; n < gz.len; n++) {
        CHECK(!idx_parse(gz.data, n, &e));
        CHECK_INT(e.code, ERR_CORRUPT);
    }
    buf_done(&gz);
}

TEST(gzip_damage_is_named)
{
    err e;
    buf gz = {0};
    pack(small, sizeof small, &gz);
    for (size_t i = 10; i < gz.len; i++) {
        gz.data[i] ^= 0x20;
        tensor *t = idx_parse(gz.data, gz.len, &e);
        CHECK(!t);
        CHECK_INT(e.code, ERR_CORRUPT);
        gz.data[i] ^= 0x20;
    }
    gz.data[gz.len - 8] ^= 1; // the checksum
    CHECK(!idx_parse(gz.data, gz.len, &e));
    CHECK_HAS(e.text, "gzip data is damaged");
    CHECK_HAS(e.text, "another sum");
    buf_done(&gz);
}

// The last bytes of a whole one say how much comes out; those of one that is cut off say anything.
TEST(a_gzip_file_that_is_cut_off_takes_no_memory_for_what_it_seems_to_say)
{
    enum { ROWS = 5 << 20 };
    err e;
    buf gz = {0}, idx = {0};
    uint32_t x = 1;
    buf_add(&idx, (const char[]){0, 0, 8, 1, 0, ROWS >> 16, 0, 0}, 8);
    for (size_t i = 0; i < ROWS; i++) // nothing to compress
        buf_char(&idx, (char)((x = x * 1664525 + 1013904223) >> 24));
    pack(idx.data, idx.len, &gz);
    memset(gz.data + gz.len - 104, 0xff, 4);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    CHECK(!idx_parse(gz.data, gz.len - 100, &e));
    getrusage(RUSAGE_SELF, &after);
    CHECK_INT(e.code, ERR_CORRUPT);
    CHECK(after.ru_maxrss - before.ru_maxrss < 100 << 10); // KiB
    buf_done(&gz);
    buf_done(&idx);
}

TEST(a_wrong_sum_names_the_file)
{
    err e;
    char *path = in_dir("x");
    put("x", small, sizeof small);
    char hex[SHA256_HEX];
    sha256_hex(small, sizeof small, hex);
    tensor *t = idx_read(path, hex, &e);
    check_small(t, &e);
    hex[0] = hex[0] == '0' ? '1' : '0';
    CHECK(!idx_read(path, hex, &e));
    CHECK_INT(e.code, ERR_CORRUPT);
    CHECK_HAS(e.text, path);
    CHECK_HAS(e.text, "was changed or damaged");
    free(path);
}

// The sum of a large file is made by another thread while it is unpacked.
TEST(the_sum_of_a_large_file_is_checked_and_its_error_told_first)
{
    enum { ROWS = 1 << 20 };
    err e;
    buf idx = {0};
    char *path = in_dir("x"), hex[SHA256_HEX];
    buf_add(&idx, (const char[]){0, 0, 8, 1, 0, ROWS >> 16, 0, 0}, 8);
    for (size_t i = 0; i < ROWS; i++)
        buf_char(&idx, (char)i);
    put("x", idx.data, idx.len);
    sha256_hex(idx.data, idx.len, hex);
    tensor *t = idx_read(path, hex, &e);
    CHECK_OK(t, e);
    CHECK_NEAR(tensor_at(t, ROWS - 1), 255, 0);
    tensor_free(t);
    idx.data[idx.len - 1] ^= 1; // still an IDX file
    put("x", idx.data, idx.len);
    CHECK(!idx_read(path, hex, &e));
    CHECK_HAS(e.text, "was changed or damaged");
    put("x", idx.data, idx.len - 1);
    CHECK(!idx_read(path, hex, &e));
    CHECK_HAS(e.text, "was changed or damaged");
    CHECK(!strstr(e.text, "truncated"));
    sha256_hex(idx.data, idx.len - 1, hex);
    CHECK(!idx_read(path, hex, &e));
    CHECK_HAS(e.text, "truncated");
    buf_done(&idx);
    free(path);
}

TEST(a_missing_file_is_not_found)
{
    err e;
    CHECK(!idx_read("no/such/file", NULL, &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_HAS(e.text, "no/such/file");
}

// A tiny MNIST: n images and labels in the running case's folder.
static void put_set(const char *prefix, uint32_t images, uint32_t labels, uint8_t label)
{
    char name[100];
    size_t n = 16 + images * 784u;
    uint8_t *bytes = calloc(n, 1);
    memcpy(bytes, (uint8_t[]){0, 0, 8, 3, 0, 0, 0, (uint8_t)images, 0, 0, 0, 28, 0, 0, 0, 28}, 16);
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    put(name, bytes, n);
    memset(bytes, label, 8 + labels);
    memcpy(bytes, (uint8_t[]){0, 0, 8, 1, 0, 0, 0, (uint8_t)labels}, 8);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    put(name, bytes, 8 + labels);
    free(bytes);
}

static void check_refused(err_code code, const char *message)
{
    mnist m;
    err e;
    CHECK(mnist_load(&m, tap_dir(), NULL, 0, 1, &e) < 0);
    CHECK_INT(e.code, code);
    CHECK_HAS(e.text, message);
}

TEST(mnist_folder_is_checked)
{
    check_refused(ERR_NOT_FOUND, "train-labels-idx1-ubyte.gz is not there");
    put_set("train", 3, 3, 9);
    check_refused(ERR_NOT_FOUND, "t10k-labels-idx1-ubyte.gz is not there");
    put_set("t10k", 3, 2, 9);
    check_refused(ERR_CORRUPT, "3 images, but t10k-labels-idx1-ubyte has 2 labels");
    put_set("t10k", 2, 2, 10);
    check_refused(ERR_CORRUPT, "label 10 at index 0 is out of range (0 to 9)");
    put_set("t10k", 2, 2, 9);
    put("t10k-images-idx3-ubyte", small, sizeof small);
    check_refused(ERR_CORRUPT, "expected bytes in 3 dimensions");
    put_set("t10k", 2, 2, 9);
    const char sums[] = "0000000000000000000000000000000000000000000000000000000000000000  "
                        "t10k-images-idx3-ubyte\n";
    put("SHA256SUMS", sums, sizeof sums - 1);
    check_refused(ERR_CORRUPT, "its SHA-256 starts with");
    put("SHA256SUMS", "", 0);
    mnist m;
    err e;
    CHECK_OK(mnist_load(&m, tap_dir(), NULL, 0, 1, &e) == 0, e);
    mnist_done(&m);
}

TEST(shipped_mnist_is_sharded)
{
    mnist all, part;
    err e;
    CHECK_OK(mnist_load(&all, tap_source("recipes/data/mnist"), NULL, 0, 1, &e) == 0, e);
    CHECK_OK(mnist_load(&part, tap_source("recipes/data/mnist"), NULL, 1, 3, &e) == 0, e);
    CHECK_INT(tensor_rows(all.train_x), 60000);
    CHECK_INT(tensor_rows(all.test_y), 10000);
    CHECK_INT(tensor_rows(part.train_x), 20000);
    CHECK_INT(tensor_rows(part.test_x), 3333);
    CHECK_NEAR(tensor_at(all.test_y, 100), 6, 0);
    CHECK_NEAR(tensor_at(part.train_y, 7), tensor_at(all.train_y, 22), 0);
    CHECK_NEAR(tensor_at(part.train_x, 784 + 300), tensor_at(all.train_x, 4 * 784 + 300), 0);
    CHECK_NEAR(tensor_reduce_all(REDUCTION_MAX, part.test_x, &e), 1, 1e-7);
    mnist_done(&all);
    mnist_done(&part);
}

TEST(shuffling_is_a_permutation_by_seed_and_epoch)
{
    enum { N = 1000 };
    uint32_t a[N], b[N], c[N];
    bool there[N] = {0};
    order_shuffle(a, N, 7, 0);
    order_shuffle(b, N, 7, 0);
    order_shuffle(c, N, 7, 1);
    CHECK(memcmp(a, b, sizeof a) == 0);
    CHECK(memcmp(a, c, sizeof a) != 0);
    for (size_t i = 0; i < N; i++) {
        CHECK(a[i] < N && !there[a[i]]);
        there[a[i]] = true;
    }
}

int main(void)
{
    return tap_run();
}
