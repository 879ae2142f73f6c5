// SPDX-License-Identifier: MIT
#include "trainer/data/table/frame.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "tests/support/tap.h"
#include "trainer/data/table/csv.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

static frame read(const char *text, const frame_spec *spec)
{
    err e;
    frame f;
    CHECK_OK(frame_parse(text, strlen(text), spec, &f, &e) == 0, e);
    return f;
}

static void is_column(const frame *f, size_t i, const char *name, frame_kind kind, tensor_type type)
{
    CHECK_STR(f->column[i].name, name);
    CHECK_STR(frame_kind_name(f->column[i].kind), frame_kind_name(kind));
    CHECK_INT(f->column[i].values->type, type);
}

static double at(const frame *f, size_t column, size_t row)
{
    return tensor_at(f->column[column].values, row);
}

TEST(columns_are_what_their_fields_are)
{
    frame f = read("Id,Price, Day ,Kind,Maybe\n"
                   "1,2.5,2015-07-31,a,7\r\n"
                   "\n"
                   "-2, 1e3 ,1970-01-02,\"b, \"\"c\"\"\",NA\n"
                   "3,.5,2016-02-29,a,9",
        &(frame_spec){0});
    CHECK_INT(f.rows, 3);
    CHECK_INT(f.n, 5);
    is_column(&f, 0, "Id", FRAME_NUMBER, TENSOR_I16);
    is_column(&f, 1, "Price", FRAME_NUMBER, TENSOR_F32);
    is_column(&f, 2, "Day", FRAME_DATE, TENSOR_I16);
    is_column(&f, 3, "Kind", FRAME_CATEGORY, TENSOR_U8);
    is_column(&f, 4, "Maybe", FRAME_NUMBER, TENSOR_F32);
    CHECK_NEAR(at(&f, 0, 1), -2, 0);
    CHECK_NEAR(at(&f, 1, 1), 1000, 0);
    CHECK_NEAR(at(&f, 2, 0), 16647, 0);
    CHECK_NEAR(at(&f, 2, 1), 1, 0);
    CHECK_NEAR(at(&f, 2, 2), 16860, 0);
    CHECK_NEAR(at(&f, 3, 0), 1, 0);
    CHECK_NEAR(at(&f, 3, 1), 2, 0);
    CHECK_NEAR(at(&f, 3, 2), 1, 0);
    CHECK_STR(f.column[3].categories[1], "b, \"c\"");
    CHECK(isnan(at(&f, 4, 1)));
    CHECK_INT(f.column[4].missing, 1);
    CHECK_NEAR(f.column[4].mean, 8, 1e-12);
    CHECK_NEAR(frame_std(&f.column[4]), 1, 1e-12);
    CHECK_NEAR(f.column[1].min, 0.5, 0);
    CHECK_NEAR(f.column[1].max, 1000, 0);
    frame_done(&f);
}

// What began as a column of numbers or dates and went on as something else is of categories.
TEST(a_column_is_one_kind)
{
    frame f = read("a,b,c,d\n5,2015-01-01,,1\n2015-01-01,5,,0x10\n", &(frame_spec){0});
    is_column(&f, 0, "a", FRAME_CATEGORY, TENSOR_U8);
    is_column(&f, 1, "b", FRAME_CATEGORY, TENSOR_U8);
    is_column(&f, 2, "c", FRAME_NUMBER, TENSOR_F32); // nothing was seen
    is_column(&f, 3, "d", FRAME_CATEGORY, TENSOR_U8);
    CHECK_INT(f.column[2].missing, 2);
    frame_done(&f);
    f = read("a\n2015-02-29\n2015-13-01\n", &(frame_spec){0}); // no days of the calendar
    is_column(&f, 0, "a", FRAME_CATEGORY, TENSOR_U8);
    frame_done(&f);
}

TEST(numbers_are_those_that_strtod_reads)
{
    static const char *const texts[] = {"0", "-0.0", "+7", "123456789012345", "0.1",
        "3.14159265358979", "1234567890.12345", "1e-300", "12345678901234567890",
        "2.2250738585072014e-308", "5."};
    AUTO_BUF text = {0};
    buf_str(&text, "n\n");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        buf_fmt(&text, "%s\n", texts[i]);
    frame f = read(buf_cstr(&text), &(frame_spec){0});
    is_column(&f, 0, "n", FRAME_NUMBER, TENSOR_F32);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        CHECK_NEAR(at(&f, 0, i), (double)(float)strtod(texts[i], NULL), 0);
    frame_done(&f);
}

TEST(integers_of_many_digits_are_exact)
{
    frame f = read("id,beyond\n1234567890123456789,1\n-9223372036854775808,2\n"
                   "+9007199254740993,9223372036854775808\n12,4\n",
        &(frame_spec){0});
    static const int64_t want[] = {1234567890123456789, INT64_MIN, 9007199254740993, 12};
    is_column(&f, 0, "id", FRAME_NUMBER, TENSOR_I64);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK(tensor_integer_at(f.column[0].values, i) == want[i]);
    is_column(&f, 1, "beyond", FRAME_CATEGORY, TENSOR_U8); // no number would tell ids apart
    frame_done(&f);
}

// A column of categories is read before it is known how many there are.
TEST(codes_become_wider_when_there_are_more)
{
    AUTO_BUF text = {0};
    buf_str(&text, "k\n");
    for (int i = 0; i < 40000; i++)
        buf_fmt(&text, "c%d\n", i);
    for (int few = 255; few <= 40000; few = few == 255 ? 256 : few == 256 ? 40000 : 40001) {
        err e;
        frame f;
        size_t n = strlen("k\n");
        for (int i = 0; i < few; i++)
            n += (size_t)snprintf(NULL, 0, "c%d\n", i);
        CHECK_OK(frame_parse(text.data, n, &(frame_spec){0}, &f, &e) == 0, e);
        is_column(&f, 0, "k", FRAME_CATEGORY,
            few == 255   ? TENSOR_U8
            : few == 256 ? TENSOR_I16
                         : TENSOR_I32);
        CHECK(tensor_integer_at(f.column[0].values, 0) == 1);
        CHECK(tensor_integer_at(f.column[0].values, (size_t)few - 1) == few);
        frame_done(&f);
    }
}

TEST(ranks_keep_their_rows_and_know_the_same)
{
    static const char text[] = "k,v\na,1\nb,2\nc,3\nb,4\nd,5\n";
    for (int rank = 0; rank < 3; rank++) {
        frame f = read(text, &(frame_spec){.rank = rank, .size = 3});
        CHECK_INT(f.rows, rank == 2 ? 1 : 2);
        CHECK_NEAR(at(&f, 1, 0), rank + 1, 0);
        CHECK_INT(f.column[0].category_n, 4);
        CHECK_STR(f.column[0].categories[3], "d");
        CHECK_NEAR(f.column[1].mean, 3, 1e-12);
        CHECK_NEAR(frame_std(&f.column[1]), sqrt(2), 1e-12);
        frame_done(&f);
    }
}

TEST(what_is_known_of_another_file_counts)
{
    frame first = read("k,v\nx,1\ny,2\n", &(frame_spec){0}), known = {0};
    frame_column *c = frame_add(&known, "k", 1);
    c->kind = FRAME_CATEGORY;
    c->fixed = true;
    frame_add_category(c, "x", 1);
    frame_add_category(c, "y", 1);
    frame f = read("k,other\ny,1\nz,2\n,3\n", &(frame_spec){.known = &known});
    CHECK_NEAR(at(&f, 0, 0), 2, 0);
    CHECK_NEAR(at(&f, 0, 1), 0, 0); // was never seen there
    CHECK_NEAR(at(&f, 0, 2), 0, 0);
    CHECK_INT(f.column[0].category_n, 2);
    frame_done(&f), frame_done(&first), frame_done(&known);

    frame_add(&known, "n", 1)->kind = FRAME_CATEGORY; // numbers that are names
    f = read("n\n7\n5\n7\n", &(frame_spec){.known = &known});
    CHECK_NEAR(at(&f, 0, 1), 2, 0);
    CHECK_STR(f.column[0].categories[0], "7");
    frame_done(&f), frame_done(&known);
}

TEST(names_separator_missing_and_columns_are_told)
{
    const char *const names[] = {"a", "b", "c", NULL}, *const missing[] = {"-", NULL},
                      *const only[] = {"c", "a", NULL}, *const none[] = {"x", NULL};
    frame f = read("1;-;3\n4;5;-\n",
        &(frame_spec){.separator = ';', .names = names, .missing = missing, .only = only});
    CHECK_INT(f.n, 2);
    is_column(&f, 0, "a", FRAME_NUMBER, TENSOR_U8);
    is_column(&f, 1, "c", FRAME_NUMBER, TENSOR_F32);
    CHECK_INT(f.rows, 2);
    frame_done(&f);
    err e;
    CHECK(frame_parse("a,b\n1,2\n", 8, &(frame_spec){.only = none}, &f, &e) < 0);
    CHECK_STR(e.text, "there is no column \"x\"");
    frame_done(&f);
}

// Of a file in Latin-1, say.
TEST(any_byte_separates)
{
    static const char text[] = "a\xa7"
                               "b\n1\xa7\"x\xa7y\"\n2\xa7z\n";
    const frame_spec spec = {.separator = '\xa7', .encoding = CSV_LATIN1};
    err e;
    frame f = read(text, &spec);
    CHECK_INT(f.n, 2);
    CHECK_INT(f.rows, 2);
    CHECK_STR(f.column[1].name, "b");
    CHECK_NEAR(at(&f, 0, 1), 2, 0);
    CHECK_STR(f.column[1].categories[0], "x\xc2\xa7y");
    CHECK_STR(f.column[1].categories[1], "z");
    frame_done(&f);
    CHECK(frame_parse("a\n1\xa7"
                      "2",
              5, &spec, &f, &e) < 0);
    CHECK_STR(e.text, "bytes:2:3: this record has 2 fields, but there are 1 columns");
    frame_done(&f);
}

static void refused(const char *text, const char *why)
{
    err e;
    frame f, known = {0};
    frame_add(&known, "n", 1)->kind = FRAME_NUMBER;
    frame_add(&known, "d", 1)->kind = FRAME_DATE;
    CHECK(frame_parse(text, strlen(text), &(frame_spec){.known = &known}, &f, &e) < 0);
    CHECK_STR(e.text, why);
    frame_done(&f), frame_done(&known);
}

TEST(errors_name_line_and_column)
{
    refused("", "the file is empty");
    refused("n,k\n1,a\nabc,b\n", "bytes:3:1: \"abc\" is no number, as column \"n\" has");
    refused("k,d\nx,2015-01-01\nääx,2015-1-1\n",
        "bytes:3:5: \"2015-1-1\" is no date, as column \"d\" has");
    refused("a,b\n1,2\n1,2,3\n", "bytes:3:5: this record has 3 fields, but there are 2 columns");
    refused("a,b\n1\n", "bytes:2:1: this record has 1 fields, but there are 2 columns");
    refused("a,b\n1,\"x\n\ny", "bytes:2:3: this quote is never closed");
    refused("a,b\n1,\"x\"y\n", "bytes:2:6: there is text after the closing quote");
    refused("a,b,a\n", "bytes:1:5: two columns have the name \"a\"");
    refused("a\n\"x\ny\"\n1,2\n", "bytes:4:3: this record has 2 fields, but there are 1 columns");
}

// The same text in pieces of a gzip file and from memory.
// Several blocks of records, with every kind of column.
static void write_many(buf *text, int rows)
{
    buf_str(text, "id,name,part,day,none\n");
    for (int i = 0; i < rows; i++)
        buf_fmt(text, "%d,\"n %d\",%d.%d,20%02d-0%d-11,%s\n", i, i * 7 % 900, i % 100, i % 7,
            i % 90, 1 + i % 9, i % 3 ? "1" : "");
}

// Threads look at the columns: whoever does it, the bits are the same.
TEST(any_number_of_threads_reads_the_same)
{
    err e;
    cpu_set_t all, one;
    frame f, g;
    AUTO_BUF text = {0};
    write_many(&text, 20000);
    CHECK_OK(frame_parse(text.data, text.len, &(frame_spec){0}, &f, &e) == 0, e);
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (!CPU_COUNT(&one) && CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK_OK(frame_parse(text.data, text.len, &(frame_spec){0}, &g, &e) == 0, e);
    CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
    CHECK_INT(f.rows, 20000);
    for (size_t i = 0; i < f.n; i++) {
        const frame_column *a = &f.column[i], *b = &g.column[i];
        CHECK_INT(a->values->type, b->values->type);
        CHECK(memcmp(a->values->data, b->values->data, 20000 * tensor_type_size(a->values->type)) ==
              0);
        CHECK(memcmp(&a->mean, &b->mean, sizeof a->mean) == 0 &&
              memcmp(&a->squares, &b->squares, sizeof a->squares) == 0);
        CHECK_INT(a->category_n, b->category_n);
        CHECK_INT(a->missing, b->missing);
    }
    CHECK_INT(tensor_integer_at(f.column[0].values, 19999), 19999);
    CHECK_STR(f.column[1].categories[899], "n 893");
    frame_done(&f), frame_done(&g);
}

// Of several errors the one that comes first in the file is told.
TEST(the_first_error_is_told)
{
    static const char *const known[] = {"id", "part"};
    err e = {0};
    frame f, numbers = {0};
    AUTO_BUF text = {0};
    for (size_t i = 0; i < 2; i++)
        frame_add(&numbers, known[i], strlen(known[i]))->kind = FRAME_NUMBER;
    write_many(&text, 9000);
    buf_str(&text, "1,a,x,2011-01-01,\ny,b,2,2011-01-01,\n");
    CHECK(frame_parse(text.data, text.len, &(frame_spec){.known = &numbers}, &f, &e) < 0);
    CHECK_HAS(e.text, ":9002:5: \"x\" is no number, as column \"part\" has");
    frame_done(&f);
    buf_clear(&text);
    write_many(&text, 9000);
    buf_str(&text, "1,a\ny,b,2,2011-01-01,\n");
    CHECK(frame_parse(text.data, text.len, &(frame_spec){.known = &numbers}, &f, &e) < 0);
    CHECK_HAS(e.text, ":9002:3: this record has 2 fields, but there are 5 columns");
    frame_done(&f), frame_done(&numbers);
}

TEST(files_are_read_in_pieces)
{
    err e;
    AUTO_BUF text = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "long.csv");
    enum { ROWS = 30000 };
    buf_str(&text, "\xef\xbb\xbfn,\"quoted name\"\n"); // a byte order mark
    for (int i = 0; i < ROWS; i++)
        buf_fmt(&text, "%d,\"line %d\nof %d\"\n", i, i % 7, i % 7);
    CHECK_OK(path_write(path, text.data, text.len, 0644, &e) == 0, e);
    frame f;
    CHECK_OK(frame_read(path, &(frame_spec){0}, &f, &e) == 0, e);
    CHECK_INT(f.rows, ROWS);
    is_column(&f, 0, "n", FRAME_NUMBER, TENSOR_I16);
    is_column(&f, 1, "quoted name", FRAME_CATEGORY, TENSOR_U8);
    CHECK_INT(f.column[1].category_n, 7);
    CHECK_STR(f.column[1].categories[6], "line 6\nof 6");
    CHECK_NEAR(at(&f, 0, ROWS - 1), ROWS - 1, 0);
    frame_done(&f);
    buf_str(&text, "x\n");
    CHECK_OK(path_write(path, text.data, text.len, 0644, &e) == 0, e);
    CHECK(frame_read(path, &(frame_spec){0}, &f, &e) < 0);
    AUTO_BUF want = {0};
    buf_fmt(
        &want, "%s:%d:1: this record has 1 fields, but there are 2 columns", path, 2 * ROWS + 2);
    CHECK_STR(e.text, buf_cstr(&want));
    frame_done(&f);
    CHECK(frame_read("/nowhere/x.csv", &(frame_spec){0}, &f, &e) < 0);
    CHECK_STR(e.text, "cannot read /nowhere/x.csv: No such file or directory");
    frame_done(&f);
}

// A block of such records has a few of them only.
static void write_wide(buf *text, int columns, int rows)
{
    for (int row = -1; row < rows; row++)
        for (int i = 0; i < columns; i++)
            buf_fmt(text, row < 0 ? "c%d%c" : "%d%c", row < 0 ? i : (row * 31 + i) % 251,
                i + 1 < columns ? ',' : '\n');
}

TEST(wide_tables_are_read_in_blocks_of_few_records)
{
    enum { COLUMNS = 1000, ROWS = 700 };
    AUTO_BUF text = {0};
    err e = {0};
    write_wide(&text, COLUMNS, ROWS);
    frame f;
    CHECK_OK(frame_parse(text.data, text.len, &(frame_spec){0}, &f, &e) == 0, e);
    CHECK_INT(f.n, COLUMNS);
    CHECK_INT(f.rows, ROWS);
    for (size_t i = 0; i < COLUMNS; i++)
        for (size_t row = 0; row < ROWS; row++)
            CHECK(tensor_integer_at(f.column[i].values, row) == (int64_t)(row * 31 + i) % 251);
    frame_done(&f);
    buf_str(&text, "1,2\n");
    CHECK(frame_parse(text.data, text.len, &(frame_spec){0}, &f, &e) < 0);
    CHECK_HAS(e.text, ":702:3: this record has 2 fields, but there are 1000 columns");
    frame_done(&f);
}

// 4096 records of so many fields would need 6 GiB.
TEST(a_table_of_many_columns_needs_little_memory)
{
    enum { COLUMNS = 40000 };
    const rlim_t most = (rlim_t)4 << 30;
    struct rlimit before;
    AUTO_BUF text = {0};
    err e = {0};
    frame f;
    write_wide(&text, COLUMNS, 3);
    getrlimit(RLIMIT_AS, &before);
    if (!TAP_SANITIZED)
        CHECK_INT(setrlimit(RLIMIT_AS, &(struct rlimit){most, before.rlim_max}), 0);
    CHECK_OK(frame_parse(text.data, text.len, &(frame_spec){0}, &f, &e) == 0, e);
    setrlimit(RLIMIT_AS, &before);
    CHECK_INT(f.n, COLUMNS);
    CHECK_INT(f.rows, 3);
    CHECK_STR(f.column[COLUMNS - 1].name, "c39999");
    CHECK_NEAR(at(&f, COLUMNS - 1, 2), (62 + COLUMNS - 1) % 251, 0);
    frame_done(&f);
}

int main(void)
{
    return tap_run();
}
