// SPDX-License-Identifier: MIT
#include "base/json/csvtext.h"
#include "base/mem.h"
#include "tests/support/tap.h"

static char *rows_of(const char *text, char separator)
{
    err e = {0};
    AUTO_JSON *rows = csvtext_parse(text, strlen(text), separator, &e);
    CHECK_OK(rows, e);
    return json_to_str(rows);
}

#define CHECK_ROWS(text, separator, json)                                                          \
    do {                                                                                           \
        AUTO_FREE char *got_rows_ = rows_of(text, separator);                                      \
        CHECK_STR(got_rows_, json);                                                                \
    } while (0)

TEST(rows_and_fields)
{
    CHECK_ROWS("a,b\n1,2\n", ',', "[[\"a\",\"b\"],[\"1\",\"2\"]]");
    CHECK_ROWS("a,b\r\n1,2\r3,4", ',', "[[\"a\",\"b\"],[\"1\",\"2\"],[\"3\",\"4\"]]");
    CHECK_ROWS("a;\n;b", ';', "[[\"a\",\"\"],[\"\",\"b\"]]");
    CHECK_ROWS("\n\na\n\n\r\n", ',', "[[\"a\"]]");
    CHECK_ROWS("", ',', "[]");
    CHECK_ROWS("\xEF\xBB\xBF"
               "a\tb",
        '\t', "[[\"a\",\"b\"]]");
}

TEST(quotes)
{
    CHECK_ROWS("\"a,b\",\"c\"\"d\"\n", ',', "[[\"a,b\",\"c\\\"d\"]]");
    CHECK_ROWS("\"one\ntwo\",x", ',', "[[\"one\\ntwo\",\"x\"]]");
    CHECK_ROWS("\"\"", ',', "[[\"\"]]");
    CHECK_ROWS("5\" disk, b", ',', "[[\"5\\\" disk\",\" b\"]]");
}

static void check_refused(const char *text, size_t n, const char *why)
{
    err e = {0};
    AUTO_JSON *rows = csvtext_parse(text, n, ',', &e);
    CHECK(!rows && e.code == ERR_INVALID);
    CHECK_STR(e.text, why);
}

TEST(what_is_refused)
{
    check_refused("a\n\"b\nc", 6, "line 2: a quote is not closed");
    check_refused("a\r\n\"b\"c", 7, "line 2: a closing quote stands before other text");
    check_refused("a\0b", 3, "it is no UTF-8 text");
    check_refused("\xFF", 1, "it is no UTF-8 text");
}

TEST(fields_are_quoted_where_they_must_be)
{
    AUTO_BUF out = {0};
    const char *const fields[] = {"a", "a,b", "say \"x\"", "", " a", "one\rtwo", "a;b"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        csvtext_print_field(&out, fields[i], strlen(fields[i]), ',');
        buf_char(&out, '|');
    }
    CHECK_STR(buf_cstr(&out), "a|\"a,b\"|\"say \"\"x\"\"\"|\"\"|\" a\"|\"one\rtwo\"|a;b|");
}

int main(void)
{
    return tap_run();
}
