// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "tests/support/tap.h"

#include <string.h>

static cJSON *parse(const char *text)
{
    err e = {0};
    cJSON *j = json_parse(text, strlen(text), &e);
    CHECK_OK(j, e);
    return j;
}

static int64_t at(const char *text)
{
    int64_t t = 0;
    CHECK(clock_parse_rfc3339(text, &t, NULL) == 0);
    return t;
}

static const char table[] =
    "{\"columns\":[\"NAME\",\"STATUS\",{\"name\":\"NODE\",\"wide\":true},\"AGE\"],"
    "\"count\":\"STATUS\",\"many\":\"pods\",\"one\":\"pod\",\"rows\":["
    "{\"cells\":[\"a\",\"Running\",\"n\",{\"since\":\"2026-01-02T03:00:00Z\"}]},"
    "{\"sick\":6,\"cells\":[\"bé\",\"Error\",\"n\",{\"since\":\"2026-01-02T03:30:00Z\"}]},"
    "{\"cells\":[\"c\",\"Running\",\"n\",{\"since\":\"2026-01-02T02:00:00Z\",\"before\":\"2 (\","
    "\"after\":\" ago)\"}]}]}";

static void check_print(const cJSON *t, const char *want)
{
    AUTO_BUF text = {0};
    tabletext_print(t, at("2026-01-02T04:00:00Z"), &text);
    CHECK_STR(buf_cstr(&text), want);
}

TEST(ages_count_and_wide_columns_are_left_out)
{
    AUTO_JSON *t = parse(table);
    check_print(t, "NAME   STATUS    AGE\n"
                   "a      Running   60m\n"
                   "bé     Error     30m\n"
                   "c      Running   2 (120m ago)\n");
}

TEST(rows_stand_in_the_order_that_is_asked_for)
{
    AUTO_JSON *t = parse(table);
    json_set_str(t, "order", "AGE"); // the youngest first
    check_print(t, "NAME   STATUS    AGE\n"
                   "bé     Error     30m\n"
                   "a      Running   60m\n"
                   "c      Running   2 (120m ago)\n");
    json_set_str(t, "order", TABLETEXT_SICK);
    check_print(t, "NAME   STATUS    AGE\n"
                   "bé     Error     30m\n"
                   "a      Running   60m\n"
                   "c      Running   2 (120m ago)\n");
    json_set_str(t, "order", "no such column");
    size_t n;
    AUTO_FREE const cJSON **rows = tabletext_rows(t, &n);
    CHECK_INT(n, 3);
    CHECK(rows[0] == json_path(t, "rows[0]"));
}

TEST(the_worst_come_first_and_the_others_stay)
{
    AUTO_JSON *t =
        parse("{\"rows\":[{\"name\":\"a\"},{\"name\":\"b\",\"sick\":2},{\"name\":\"c\",\"sick\":0},"
              "{\"name\":\"d\",\"sick\":5},{\"name\":\"e\",\"sick\":2},{\"name\":\"f\"}]}");
    size_t n;
    AUTO_FREE const cJSON **rows = tabletext_rows(t, &n);
    AUTO_BUF names = {0};
    tabletext_worst_first(rows, n);
    for (size_t i = 0; i < n; i++)
        buf_str(&names, json_str(rows[i], "name"));
    CHECK_STR(buf_cstr(&names), "dbeacf");
}

TEST(a_summary_counts_words)
{
    AUTO_JSON *t = parse(table);
    AUTO_BUF text = {0};
    tabletext_summary(t, &text);
    CHECK_STR(buf_cstr(&text), "3 pods: 1 Error, 2 Running");
    buf_clear(&text);
    cJSON *rows = (cJSON *)json_get(t, "rows");
    for (int i = 0; i < 20; i++) {
        AUTO_BUF row = {0};
        buf_fmt(&row, "{\"cells\":[\"x\",\"%c\"]}", 'a' + i);
        cJSON_AddItemToArray(rows, parse(buf_cstr(&row)));
    }
    tabletext_summary(t, &text);
    CHECK_STR(buf_cstr(&text), "23 pods: 1 Error, 2 Running, 1 a, 1 b, 1 c, 1 d, 1 e, 1 f, 1 g, "
                               "1 h, 1 i, 1 j, 10 other");
    AUTO_JSON *none = parse("{\"columns\":[\"A\"],\"rows\":[[\"x\"]]}");
    buf_clear(&text);
    tabletext_summary(none, &text);
    CHECK_STR(buf_cstr(&text), "");
}

static bool is_not_a(const cJSON *row, const void *arg)
{
    (void)arg;
    return strcmp(json_str(row, "name"), "a") != 0;
}

TEST(a_summary_begins_with_what_is_sick)
{
    AUTO_JSON *t =
        parse("{\"columns\":[\"STATUS\"],\"count\":\"STATUS\",\"many\":\"pods\",\"rows\":["
              "{\"name\":\"a\",\"cells\":[\"Running\"]},{\"name\":\"b\",\"cells\":[\"Running\"]},"
              "{\"name\":\"c\",\"cells\":[\"Done\"]},{\"name\":\"d\",\"cells\":[\"Pending\"],"
              "\"sick\":1},{\"name\":\"e\",\"cells\":[\"Crash\"],\"sick\":3}]}");
    AUTO_BUF text = {0};
    tabletext_summary(t, &text);
    CHECK_STR(buf_cstr(&text), "5 pods: 1 Crash, 1 Pending, 2 Running, 1 Done");
    buf_clear(&text);
    tabletext_summary_of(t, is_not_a, NULL, &text);
    CHECK_STR(buf_cstr(&text), "4 pods: 1 Crash, 1 Pending, 1 Done, 1 Running");
    for (int i = 0; i < 20; i++) { // the sick are not among "other", wherever they stand
        AUTO_BUF row = {0};
        buf_fmt(&row, "{\"cells\":[\"%c\"],\"sick\":%d}", 'a' + i, i == 19 ? 9 : 0);
        cJSON_AddItemToArray((cJSON *)json_get(t, "rows"), parse(buf_cstr(&row)));
    }
    buf_clear(&text);
    tabletext_summary(t, &text);
    CHECK_HAS(buf_cstr(&text), "25 pods: 1 t, 1 Crash, 1 Pending, 2 Running, ");
}

TEST(what_has_ended_is_as_old_as_it_was)
{
    int64_t now = at("2026-01-03T00:00:00Z"), then = at("2026-01-02T04:00:00Z");
    AUTO_JSON *t = parse("{\"at\":\"2026-01-02T04:00:00Z\"}");
    AUTO_JSON *old = parse("{}");
    CHECK_INT(tabletext_now(t, false, now), then);
    CHECK_INT(tabletext_now(t, true, now), now);
    CHECK_INT(tabletext_now(old, false, now), now);
}

TEST(rows_of_any_shape_have_entries)
{
    AUTO_JSON *t = parse("{\"columns\":[\"A\",\"B\"],\"rows\":[[1,\"x\"],{\"B\":\"y\"},"
                         "{\"cells\":[null,{\"z\":1}]},7]}");
    check_print(t, "A   B\n"
                   "1   x\n"
                   "    y\n"
                   "    {\"z\":1}\n"
                   "\n");
}

int main(void)
{
    return tap_run();
}
