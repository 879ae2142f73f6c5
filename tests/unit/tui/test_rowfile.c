// SPDX-License-Identifier: MIT
// Tables in files: rows and fields as people write them, found again in any order, filtered and
// sorted; what is written is compared with what is read.
#include "base/clock.h"
#include "base/json/csvtext.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"
#include "tui/part/table/rowfile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char file_path[4096];

static rowfile *open_text(const char *words, size_t n, enum rowfile_kind kind, bool growing)
{
    err e = {0};
    snprintf(file_path, sizeof file_path, "%s/rows", tap_dir());
    if (path_write(file_path, words, n, 0600, &e) < 0)
        return NULL;
    return rowfile_open(file_path, kind, growing, &e);
}

static void finish(rowfile *f)
{
    while (rowfile_work(f, clock_mono() + CLOCK_MS))
        ;
}

// The rows that are shown, fields with a | between them.
static const char *rows(rowfile *f)
{
    static buf out;
    buf_clear(&out);
    finish(f);
    for (size_t i = 0; i < rowfile_count(f); i++) {
        buf_str(&out, i ? "\n" : "");
        for (int k = 0; k < rowfile_columns(f); k++) {
            buf_str(&out, k ? "|" : "");
            rowfile_entry(f, i, k, &out);
        }
    }
    return buf_cstr(&out);
}

static const char *read_csv(const char *words)
{
    rowfile *f = open_text(words, strlen(words), ROWFILE_CSV, false);
    const char *all = rows(f);
    rowfile_free(f);
    return all;
}

TEST(rows_as_people_write_them)
{
    CHECK_STR(read_csv("a,b\n1,2\n3,4\n"), "1|2\n3|4");
    CHECK_STR(read_csv("a,b\n1,2\n3,4"), "1|2\n3|4"); // no line end at the end
    CHECK_STR(read_csv("\xEF\xBB\xBF"
                       "a;b\r\n1;2\r\n\r\n\r\n3;4,5\r\n"),
        "1|2\n3|4,5");
    CHECK_STR(read_csv("a,b\n\"x, y\",\"say \"\"no\"\"\"\n"), "x, y|say \"no\"");
    CHECK_STR(read_csv("a,b\n\"two\nlines\",1\n2,3\n"), "two lines|1\n2|3");
    CHECK_STR(read_csv("a,b\n5\" pipe,1\n\"open,2\n3,4\n"), "5\" pipe|1\n\"open|2\n3|4");
    CHECK_STR(read_csv("a,b,c\n1\n1,2,3,4\n,,\n"), "1||\n1|2|3\n||"); // too few, too many
    CHECK_STR(read_csv("a\n\x1b[31mred\n"), " [31mred");
    CHECK_STR(read_csv("a,b\n"), "");
    CHECK_STR(read_csv(""), "");
}

TEST(objects_on_lines)
{
    static const char words[] = "{\"a\":1,\"b\":\"x\\ny\"}\n\n{\"b\":null,\"c\":[1,2]}\nno json\n";
    rowfile *f = open_text(words, sizeof words - 1, ROWFILE_JSONL, false);
    CHECK_STR(rows(f), "1|x y|\n||[1,2]\nno json||");
    CHECK_STR(rowfile_column(f, 2), "c");
    CHECK(rowfile_is_right(f, 0) == false); // "no json" is no number
    rowfile_free(f);
}

enum { MANY = 1000, COLUMNS = 4 };

// What any field may have, written by csvtext.
static void add_field(buf *field, unsigned *seed)
{
    static const char letters[] = "ab,;\"\n\r '\t0123";
    for (unsigned n = rand_r(seed) % 6; n; n--)
        buf_char(field, letters[(size_t)rand_r(seed) % (sizeof letters - 1)]);
}

TEST(what_is_written_is_read_in_any_order)
{
    unsigned seed = 7;
    AUTO_BUF words = {0};
    buf_str(&words, "a,b,c,d\n");
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < COLUMNS; k++) {
            AUTO_BUF field = {0};
            add_field(&field, &seed);
            csvtext_print_field(&words, buf_cstr(&field), field.len, ',');
            buf_str(&words, k + 1 < COLUMNS ? "," : "\n");
        }
    AUTO_JSON *all = csvtext_parse(words.data, words.len, ',', NULL);
    rowfile *f = open_text(words.data, words.len, ROWFILE_CSV, false);
    finish(f);
    CHECK_INT(rowfile_count(f), MANY);
    for (int i = 0; i < 2 * MANY; i++) {
        int row = rand_r(&seed) % MANY, k = rand_r(&seed) % COLUMNS;
        AUTO_BUF got = {0}, want = {0};
        rowfile_entry(f, (size_t)row, k, &got);
        const cJSON *field = cJSON_GetArrayItem(cJSON_GetArrayItem(all, row + 1), k);
        for (const char *c = field->valuestring; *c; c++)
            buf_char(&want, (unsigned char)*c < ' ' ? ' ' : *c);
        CHECK_STR(buf_cstr(&got), buf_cstr(&want));
    }
    rowfile_free(f);
}

TEST(filtered_and_sorted)
{
    AUTO_BUF words = {0};
    buf_str(&words, "name\tn\n");
    for (int i = 0; i < 3000; i++)
        buf_fmt(&words, "pod-%d\t%s%d\n", i, i % 7 ? "" : "x", (i * 7919) % 3000);
    rowfile *f = open_text(words.data, words.len, ROWFILE_TSV, false);
    bool reverse;
    rowfile_sort(f, 1, false);
    finish(f);
    CHECK(!rowfile_looking(f));
    CHECK_INT(rowfile_sorted(f, &reverse), 1);
    AUTO_BUF last = {0};
    double before = -1;
    size_t texts = 0;
    for (size_t i = 0; i < rowfile_count(f); i++) {
        buf_clear(&last);
        rowfile_entry(f, i, 1, &last);
        bool number = *buf_cstr(&last) != 'x';
        CHECK(
            number ? !texts && atof(buf_cstr(&last)) >= before : ++texts > 0); // numbers come first
        before = number ? atof(buf_cstr(&last)) : before;
    }
    CHECK_INT(texts, 429);
    rowfile_filter(f, "n>2990 and name~[05]$");
    rowfile_sort(f, 0, true);
    CHECK_STR(rows(f), "pod-605|2995");
    rowfile_sort(f, -1, false);
    rowfile_filter(f, "none=1");
    CHECK_STR(rowfile_filtered(f)->wrong, "there is no column none");
    finish(f);
    CHECK_INT(rowfile_count(f), 0);
    rowfile_filter(f, "");
    finish(f);
    CHECK_INT(rowfile_count(f), 3000);
    rowfile_free(f);
}

TEST(a_row_that_is_longer_than_what_is_read_at_once)
{
    AUTO_BUF words = {0};
    buf_str(&words, "a,b\n");
    for (int i = 0; i < 3 << 20; i++)
        buf_char(&words, 'x');
    buf_str(&words, ",1\n2,3\n");
    rowfile *f = open_text(words.data, words.len, ROWFILE_CSV, false);
    AUTO_BUF last = {0};
    finish(f);
    CHECK_INT(rowfile_count(f), 2);
    rowfile_entry(f, 1, 1, &last);
    CHECK_STR(buf_cstr(&last), "3");
    rowfile_free(f);
}

TEST(a_file_that_changes_while_it_is_looked_at)
{
    AUTO_BUF words = {0}, entry = {0};
    buf_str(&words, "a,b\n");
    for (int i = 0; i < 5000; i++)
        buf_fmt(&words, "%d,%d\n", i, i);
    rowfile *f = open_text(words.data, words.len, ROWFILE_CSV, false);
    finish(f);
    CHECK_INT(rowfile_count(f), 5000);
    CHECK(truncate(file_path, 20) == 0); // what was read before it may still be there
    rowfile_entry(f, 4999, 0, &entry);
    rowfile_entry(f, 0, 0, &entry);
    CHECK(strstr(buf_cstr(&entry), "0") != NULL);
    rowfile_free(f);
}

TEST(what_is_no_table_is_refused)
{
    err e = {0};
    enum rowfile_kind kind;
    CHECK(!rowfile_kind_of("a.parquet.gz", &kind) && !rowfile_kind_of("csv", &kind));
    CHECK(rowfile_kind_of("x/A.CSV", &kind) && kind == ROWFILE_CSV);
    CHECK(rowfile_kind_of("x.ndjson", &kind) && kind == ROWFILE_JSONL);
    CHECK(!rowfile_open("/none.csv", ROWFILE_CSV, false, &e) && e.code == ERR_NOT_FOUND);
    CHECK(!rowfile_open("/tmp", ROWFILE_CSV, false, &e) && strstr(e.text, "is no file"));
    CHECK(!open_text("a\0b", 3, ROWFILE_CSV, false));
}

int main(void)
{
    return tap_run();
}
