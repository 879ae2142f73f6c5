// SPDX-License-Identifier: MIT
#include "trainer/data/npy.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "tests/support/tap.h"
#include "trainer/data/npz.h"
#include "trainer/data/zip.h"

#include <math.h>
#include <string.h>

// A file of version 1 with this dictionary and data.
static void npy(buf *out, const char *dict, const void *data, size_t n)
{
    size_t length = strlen(dict);
    buf_add(out, "\x93NUMPY\x01\x00", 8);
    buf_add(out, (char[]){(char)(length & 255), (char)(length >> 8)}, 2);
    buf_str(out, dict);
    buf_add(out, data, n);
}

static tensor *parsed(const char *dict, const void *data, size_t n, err *e)
{
    AUTO_BUF bytes = {0};
    npy(&bytes, dict, data, n);
    return npy_parse(bytes.data, bytes.len, e);
}

static tensor *of_type(const char *descr, const char *shape, const void *data, size_t n)
{
    err e;
    AUTO_BUF dict = {0};
    buf_fmt(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    tensor *t = parsed(buf_cstr(&dict), data, n, &e);
    CHECK_OK(t, e);
    return t;
}

static void is_at(tensor *t, tensor_type type, size_t i, double want)
{
    CHECK_INT(t->type, type);
    CHECK(tensor_at(t, i) == want);
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

TEST(every_type_of_numbers_is_read)
{
    static const struct {
        const char *descr;
        uint8_t bytes[8];
        size_t n;
        tensor_type type;
        double value;
    } all[] = {
        {"<f4", {0, 0, 0xc0, 0x3f}, 4, TENSOR_F32, 1.5},
        {">f4", {0x3f, 0xc0, 0, 0}, 4, TENSOR_F32, 1.5},
        {"<f8", {0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, 8, TENSOR_F32, -1.5},
        {">f8", {0xbf, 0xf8}, 8, TENSOR_F32, -1.5},
        {"<f2", {0, 0x3e}, 2, TENSOR_F32, 1.5},
        {"<f2", {1, 0x80}, 2, TENSOR_F32, -0x1p-24},
        {"<f2", {0, 0xfc}, 2, TENSOR_F32, -INFINITY},
        {"|u1", {200}, 1, TENSOR_U8, 200},
        {"|b1", {7}, 1, TENSOR_U8, 1},
        {"|i1", {0xff}, 1, TENSOR_I64, -1},
        {"<i2", {0xfe, 0xff}, 2, TENSOR_I16, -2},
        {">i2", {0xff, 0xfe}, 2, TENSOR_I16, -2},
        {"<u2", {0xfe, 0xff}, 2, TENSOR_I64, 65534},
        {"<i4", {0xfd, 0xff, 0xff, 0xff}, 4, TENSOR_I32, -3},
        {">i4", {0xff, 0xff, 0xff, 0xfd}, 4, TENSOR_I32, -3},
        {"<u4", {0xfd, 0xff, 0xff, 0xff}, 4, TENSOR_I64, 4294967293},
        {"<i8", {0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, TENSOR_I64, -4},
        {">i8", {0, 0, 0, 0, 0, 0, 1, 2}, 8, TENSOR_I64, 258},
        {"<u8", {9}, 8, TENSOR_I64, 9},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        tensor *t = of_type(all[i].descr, "(1,)", all[i].bytes, all[i].n);
        is_at(t, all[i].type, 0, all[i].value);
        tensor_free(t);
    }
    tensor *t = of_type("<f2", "()", BYTES(0, 0x7e));
    CHECK_INT(t->dims, 0);
    CHECK(isnan(tensor_at(t, 0)));
    tensor_free(t);
}

// The array {{1, 2, 3}, {4, 5, 6}} lies column by column in Fortran's order.
TEST(fortran_order_is_turned)
{
    err e;
    tensor *t = parsed(
        "{\"shape\": (2, 3), 'fortran_order': True, 'descr': '|u1'}", BYTES(1, 4, 2, 5, 3, 6), &e);
    CHECK_OK(t, e);
    for (size_t i = 0; i < 6; i++)
        is_at(t, TENSOR_U8, i, (double)i + 1);
    tensor_free(t);
    t = parsed("{'shape': (2, 1, 2), 'fortran_order': True, 'descr': '<i2'}",
        BYTES(1, 0, 3, 0, 2, 0, 4, 0), &e);
    CHECK_OK(t, e);
    for (size_t i = 0; i < 4; i++)
        is_at(t, TENSOR_I16, i, (double)i + 1);
    tensor_free(t);
}

static void refused(const char *dict, const void *data, size_t n, const char *why)
{
    err e;
    tensor *t = parsed(dict, data, n, &e);
    CHECK(!t);
    CHECK_STR(e.text, why);
}

#define F4(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': " shape "}"
#define OF(descr) "{'descr': " descr ", 'fortran_order': False, 'shape': (1,)}"

TEST(what_cannot_be_read_says_why)
{
    refused(F4("(2,)"), BYTES(0, 0, 0, 0),
        "truncated: shape (2,) needs more than the 4 bytes there are");
    refused(F4("(1,)"), BYTES(0, 0, 0, 0, 0), "there are 1 bytes after the last element");
    refused(F4("(9223372036854775807, 9)"), BYTES(0),
        "truncated: shape (9223372036854775807, 9) needs more than the 1 bytes there are");
    refused(F4("(99999999999999999999,)"), BYTES(0), "the header's shape is too big");
    refused(F4("(1, 1, 1, 1, 1, 1, 1, 1, 1)"), BYTES(0), "the array has more than 8 dimensions");
    refused(OF("'<U5'"), BYTES(0), "the array holds text (dtype <U5), not numbers");
    refused(OF("'|O'"), BYTES(0), "the array holds Python objects (dtype |O), not numbers");
    refused(OF("'<c8'"), BYTES(0), "the array holds complex numbers (dtype <c8), not numbers");
    refused(OF("[('a', '<f4')]"), BYTES(0), "the array holds records, not numbers");
    refused(OF("'<f16'"), BYTES(0), "numbers of dtype <f16 cannot be read");
    refused(OF("'<u8'"), BYTES(0, 0, 0, 0, 0, 0, 0, 0x80), "element 0 is greater than 2^63 - 1");
    const char *bad = "the header is no dictionary of descr, fortran_order and shape";
    refused("{'descr': '<f4', 'shape': (1,)}", BYTES(0, 0, 0, 0), bad);
    refused("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", BYTES(0, 0, 0, 0), bad);
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", BYTES(0, 0, 0, 0), bad);
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1", BYTES(0), bad);
    refused("", BYTES(0), bad);
    err e;
    CHECK(!npy_parse("NUMPY", 5, &e));
    CHECK_STR(e.text, "not a .npy file: it does not start with \\x93NUMPY");
    CHECK(!npy_parse("\x93NUMPY\x01\x00\xff\xff{", 11, &e));
    CHECK_STR(e.text, "truncated within the header");
}

static char *in_dir(const char *name)
{
    return path_join(tap_dir(), name);
}

TEST(a_tensor_is_written_and_read)
{
    err e;
    AUTO_FREE char *path = in_dir("a.npy");
    float numbers[] = {1, -2.5f, 3, 4, 5, 6};
    tensor *t = tensor_from(TENSOR_F32, 2, (size_t[]){3, 2}, numbers, &e);
    tensor *part = tensor_shard(t, 0, 2, &e); // rows with a gap
    CHECK_OK(npy_write(path, part, &e) == 0, e);
    tensor *back = npy_read(path, &e);
    CHECK_OK(back, e);
    CHECK_INT(back->shape[0], 2);
    is_at(back, TENSOR_F32, 1, -2.5);
    is_at(back, TENSOR_F32, 3, 6);
    AUTO_BUF bytes = {0};
    npy_format(t, &bytes);
    CHECK_INT(bytes.len % 64, sizeof numbers); // NumPy maps data that is aligned so
    tensor_free(t), tensor_free(part), tensor_free(back);

    tensor *u8 = tensor_from(TENSOR_U8, 1, (size_t[]){2}, (uint8_t[]){0, 255}, &e);
    tensor *scaled = tensor_scaled(u8, 1 / 255.0f, &e);
    CHECK_OK(npy_write(path, scaled, &e) == 0, e);
    back = npy_read(path, &e);
    CHECK_OK(back, e);
    is_at(back, TENSOR_F32, 1, 1);
    tensor_free(u8), tensor_free(scaled), tensor_free(back);
}

TEST(a_mapped_file_is_the_tensor)
{
    err e;
    AUTO_FREE char *path = in_dir("m.npy");
    tensor *t = tensor_from(TENSOR_I64, 1, (size_t[]){3}, (int64_t[]){7, 8, 9}, &e);
    CHECK_OK(npy_write(path, t, &e) == 0, e);
    tensor *map = npy_map(path, &e), *slice = map ? tensor_slice(map, 1, 3, &e) : NULL;
    CHECK_OK(map && slice, e);
    tensor_free(map); // the slice keeps the file
    is_at(slice, TENSOR_I64, 1, 9);
    CHECK(tensor_set(slice, 1, 5, &e) == 0);
    is_at(slice, TENSOR_I64, 1, 5);
    tensor_free(slice);
    tensor *again = npy_read(path, &e);
    is_at(again, TENSOR_I64, 2, 9); // the file is as it was
    tensor_free(again), tensor_free(t);

    AUTO_BUF bytes = {0};
    npy(&bytes, OF("'<f8'"), "\0\0\0\0\0\0\0\0", 8);
    CHECK_OK(path_write(path, bytes.data, bytes.len, 0644, &e) == 0, e);
    CHECK(!npy_map(path, &e));
    CHECK(strstr(e.text, "only arrays of f4, i8, i4, i2 or u1, in C order, can be mapped"));
    CHECK(!npy_map("/", &e));
    CHECK_STR(e.text, "/ is no file");
}

TEST(an_archive_has_arrays_by_name)
{
    err e;
    AUTO_FREE char *path = in_dir("a.npz");
    for (int compress = 0; compress < 2; compress++) {
        AUTO_NPZ out = {0}, in = {0};
        tensor *zeros = tensor_new(TENSOR_F32, 2, (size_t[]){100, 10}, &e);
        npz_add(&out, "zeros", 5, zeros);
        npz_add(&out, "y", 1, tensor_from(TENSOR_I64, 1, (size_t[]){2}, (int64_t[]){4, 5}, &e));
        CHECK_OK(npz_write(path, &out, compress, &e) == 0, e);
        CHECK_OK(npz_read(path, &in, &e) == 0, e);
        CHECK_INT(in.n, 2);
        CHECK_STR(in.item[0].name, "zeros");
        CHECK_STR(in.item[1].name, "y");
        is_at(in.item[1].t, TENSOR_I64, 1, 5);
        AUTO_BUF bytes = {0};
        CHECK_OK(path_read(path, &bytes, 0, &e) == 0, e);
        CHECK(compress ? bytes.len < 1500 : bytes.len > 4000);
        // Any changed byte of the contents is noticed.
        bytes.data[compress ? 60 : 200] ^= 1;
        AUTO_NPZ bad = {0};
        CHECK(npz_parse(bytes.data, bytes.len, &bad, &e) < 0);
        CHECK(strstr(e.text, "array 'zeros': the archive is damaged: "));
    }
}

// An archive of one array whose header is `dict`, with `zeros` bytes of data.
static void archive_of(const char *dict, size_t zeros, bool deflate, buf *out)
{
    err e = {0};
    AUTO_BUF file = {0};
    buf_add(&file, "\x93NUMPY\x01\x00", 8);
    buf_add(&file, (char[]){(char)strlen(dict), 0}, 2);
    buf_str(&file, dict);
    AUTO_FREE char *data = mem_alloc(zeros);
    buf_add(&file, data, zeros);
    zip_writer w = {.out = out, .deflate = deflate};
    CHECK_OK(zip_add(&w, "a.npy", file.data, file.len, &e) == 0, e);
    zip_finish(&w);
}

TEST(an_array_is_as_large_as_it_says)
{
    static const char *const dicts[] = {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3000000,), }", "no header"};
    static const char *const why[] = {"array 'a': there are 3999988 bytes after the last element",
        "array 'a': truncated: shape (3000000,) needs more than the 4000000 bytes there are",
        "array 'a': the header is no dictionary of descr, fortran_order and shape"};
    for (int deflate = 0; deflate < 2; deflate++)
        for (size_t i = 0; i < ARRAY_LEN(dicts); i++) {
            err e = {0};
            AUTO_BUF bytes = {0};
            AUTO_NPZ z = {0};
            archive_of(dicts[i], 4000000, deflate, &bytes);
            // The sum is not looked at yet: nothing was unpacked.
            char *sum = memmem(bytes.data, bytes.len, "PK\x01\x02", 4);
            CHECK(sum);
            sum[16] ^= 1;
            CHECK(npz_parse(bytes.data, bytes.len, &z, &e) < 0);
            CHECK_STR(e.text, why[i]);
        }
}

// Its bytes are unpacked where they stay.
TEST(an_array_takes_its_room_once)
{
    err e = {0};
    AUTO_BUF bytes = {0};
    AUTO_NPZ z = {0};
    archive_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,), }     ", 4000000,
        true, &bytes);
    CHECK_OK(npz_parse(bytes.data, bytes.len, &z, &e) == 0, e);
    CHECK_INT(z.n, 1);
    CHECK_INT(tensor_count(z.item[0].t), 1000000);
    float *at = z.item[0].t->data;
    CHECK(at[999999] == 0);
    at[999999] = 1; // it is ours
}

TEST(no_archive_says_so)
{
    err e;
    npz z;
    CHECK(npz_parse("PK", 2, &z, &e) < 0);
    CHECK_STR(e.text, "no ZIP archive, or its end is missing");
    AUTO_BUF empty = {0};
    zip_writer w = {.out = &empty};
    zip_finish(&w);
    CHECK_OK(npz_parse(empty.data, empty.len, &z, &e) == 0, e);
    CHECK_INT(z.n, 0);
}

int main(void)
{
    return tap_run();
}
