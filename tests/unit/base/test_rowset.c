// SPDX-License-Identifier: MIT
#include "base/json/rowset.h"
#include "base/json/rowtexts.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <time.h>

static cJSON *row(const char *uid, int value)
{
    cJSON *r = cJSON_CreateObject();
    json_set_str(r, "uid", uid);
    json_set_int(r, "n", value);
    return r;
}

static void change(rowset *s, const char *text)
{
    AUTO_JSON *r = json_parse(text, strlen(text), NULL);
    CHECK(r);
    rowset_change(s, r);
}

static void check(const cJSON *rows, const char *want)
{
    AUTO_FREE char *text = json_to_str(rows);
    CHECK_STR(text, want);
}

TEST(rows_are_replaced_where_they_are)
{
    static const char start[] = "[{\"uid\":\"a\",\"n\":1},{\"n\":2},{\"uid\":\"b\",\"n\":3}]";
    AUTO_JSON *rows = json_parse(start, strlen(start), NULL);
    CHECK(rows);
    rowset *s = rowset_new(rows, 0);
    rowset_put(s, row("a", 4));
    rowset_put(s, row("c", 5));
    check(rows,
        "[{\"uid\":\"a\",\"n\":4},{\"n\":2},{\"uid\":\"b\",\"n\":3},{\"uid\":\"c\",\"n\":5}]");
    rowset_drop(s, json_str(rowset_get(s, "b"), "uid"));
    rowset_drop(s, "b");
    rowset_drop(s, NULL);
    CHECK(!rowset_get(s, "b") && !rowset_get(s, "d"));
    change(s, "{\"uid\":\"a\",\"deleted\":true}");
    change(s, "{\"uid\":\"never\",\"deleted\":true}");
    change(s, "{\"uid\":\"c\",\"n\":6}");
    change(s, "{\"uid\":\"a\",\"n\":7}");
    change(s, "{\"n\":8}");
    change(s, "5");
    check(rows, "[{\"n\":2},{\"uid\":\"c\",\"n\":6},{\"uid\":\"a\",\"n\":7},{\"n\":8},5]");
    rowset_free(s);
}

TEST(of_rows_with_one_uid_the_last_counts)
{
    static const char start[] =
        "[{\"uid\":\"a\",\"n\":1},{\"uid\":\"\",\"n\":2},{\"uid\":\"a\",\"n\":3},"
        "{\"uid\":\"\",\"n\":4},{\"uid\":\"a\",\"n\":5}]";
    AUTO_JSON *rows = json_parse(start, strlen(start), NULL);
    rowset *s = rowset_new(rows, 4);
    CHECK(rowset_put(s, row("", 6)));
    CHECK(!rowset_put(s, row("b", 7)));
    check(rows, "[{\"uid\":\"a\",\"n\":5},{\"uid\":\"\",\"n\":2},{\"uid\":\"\",\"n\":4},"
                "{\"uid\":\"\",\"n\":6}]");
    rowset_drop(s, "a");
    CHECK(!rowset_get(s, "a"));
    rowset_free(s);
}

// Adds the rows of a table of pods one by one; returns seconds of the processor.
static double feed(int n)
{
    AUTO_JSON *rows = cJSON_CreateArray();
    rowset *s = rowset_new(rows, 0);
    clock_t start = clock();
    for (int i = 0; i < 3 * n; i++) {
        AUTO_FREE char *uid = str_fmt("0b7c4f0e-3d4c-4d7e-9f2e-%012d", i % n);
        rowset_put(s, row(uid, i));
    }
    double took = (double)(clock() - start) / CLOCKS_PER_SEC;
    CHECK_INT(cJSON_GetArraySize(rows), n);
    rowset_free(s);
    return took;
}

TEST(no_more_rows_are_kept_than_were_wanted)
{
    AUTO_JSON *rows = cJSON_Parse("[{\"uid\":\"a\"}]");
    rowset *s = rowset_new(rows, 2);
    CHECK(rowset_put(s, row("b", 1)));
    CHECK(!rowset_put(s, row("c", 2)));
    CHECK(rowset_put(s, row("a", 3)));
    rowset_drop(s, "b");
    CHECK(rowset_put(s, row("c", 4)));
    check(rows, "[{\"uid\":\"a\",\"n\":3},{\"uid\":\"c\",\"n\":4}]");
    AUTO_JSON *first = rowset_take_first(s);
    CHECK_STR(json_str(first, "uid"), "a");
    CHECK(!rowset_get(s, "a"));
    CHECK(rowset_put(s, row("d", 5)));
    rowset_free(s);
}

TEST(many_rows_cost_what_they_are)
{
    CHECK(feed(50000) < 10); // comparing with each row would take minutes
}

static cJSON *row_of(const char *uid, int value)
{
    cJSON *row = cJSON_CreateObject();
    json_set_str(row, "uid", uid);
    json_set_int(row, "v", value);
    return row;
}

static void put(rowtexts *t, const char *uid, int value)
{
    AUTO_JSON *row = row_of(uid, value);
    rowtexts_put(t, row);
}

static void check_texts(const rowtexts *t, const char *want)
{
    AUTO_JSON *rows = rowtexts_array(t);
    AUTO_FREE char *text = json_to_str(rows);
    CHECK_STR(text, want);
}

TEST(rows_as_text_keep_their_order)
{
    rowtexts *t = rowtexts_new();
    check_texts(t, "[]");
    put(t, "a", 1);
    put(t, "b\"", 2);
    put(t, "c", 3);
    put(t, NULL, 4);
    put(t, "b\"", 5);
    check_texts(t, "[{\"uid\":\"a\",\"v\":1},{\"uid\":\"b\\\"\",\"v\":5},{\"uid\":\"c\",\"v\":3}]");
    rowtexts_drop(t, "a");
    rowtexts_drop(t, "x");
    rowtexts_drop(t, NULL);
    rowtexts_drop(t, "c");
    CHECK(rowtexts_has(t, "b\"") && !rowtexts_has(t, "a") && !rowtexts_has(t, NULL));
    put(t, "a", 6);
    put(t, "a", 7);
    check_texts(t, "[{\"uid\":\"b\\\"\",\"v\":5},{\"uid\":\"a\",\"v\":7}]");
    rowtexts_drop(t, "b\"");
    rowtexts_drop(t, "a");
    check_texts(t, "[]");
    rowtexts_free(t);
}

int main(void)
{
    return tap_run();
}
