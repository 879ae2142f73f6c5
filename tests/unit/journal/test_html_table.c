// SPDX-License-Identifier: MIT
// Tables as other programs leave them in HTML.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/html_table.h"
#include "tests/support/tap.h"

#include <string.h>

static void check(const char *html, const char *want)
{
    AUTO_JSON *table = html_table_read(html);
    AUTO_BUF got = {0};
    if (table)
        json_print(&got, table);
    CHECK_STR(buf_cstr(&got), want);
}

TEST(a_table_of_pandas_is_one_of_ours)
{
    check("<div>\n<style scoped>\n .dataframe td { a: b; }\n</style>\n<table border=\"1\" "
          "class=\"dataframe\">\n <thead>\n  <tr style=\"text-align: right;\">\n   <th></th>\n   "
          "<th>name</th>\n   <th>loss</th>\n  </tr>\n </thead>\n <tbody>\n  <tr>\n   <th>0</th>\n"
          "   <td>a &lt; <b>b</b></td>\n   <td>0.50</td>\n  </tr>\n  <tr>\n   <th>1</th>\n   "
          "<td>c<br>d</td>\n   <td>12</td>\n  </tr>\n </tbody>\n</table>\n<p>2 rows × 2 columns</p>"
          "\n</div>",
        "{\"columns\":[{\"name\":\"\",\"align\":\"right\"},{\"name\":\"name\"},{\"name\":\"loss\","
        "\"align\":\"right\"}],\"rows\":[[\"0\",\"a < b\",\"0.50\"],[\"1\",\"c d\",\"12\"]]}");
}

TEST(headings_of_several_rows_and_cells_that_span)
{
    check("<table><thead><tr><th></th><th colspan=2>x</th></tr><tr><th>k</th><th>a</th><th>b</th>"
          "</tr></thead><tbody><tr><th rowspan=\"2\">A</th><td>1</td><td>2</td></tr><tr><td>3</td>"
          "<td>4</td></tr></tbody></table>",
        "{\"columns\":[{\"name\":\"k\"},{\"name\":\"x a\",\"align\":\"right\"},{\"name\":\"x b\","
        "\"align\":\"right\"}],\"rows\":[[\"A\",\"1\",\"2\"],[\"A\",\"3\",\"4\"]]}");
    // without <thead>, and with tags that are left out
    check("<TABLE><TR><TH>a<TH>b<TR><TD>1<TD>x</TABLE>",
        "{\"columns\":[{\"name\":\"a\",\"align\":\"right\"},{\"name\":\"b\"}],\"rows\":[[\"1\","
        "\"x\"]]}");
    check("<small>shape: (1, 1)</small><table><tr><td>1</td></tr></table>",
        "{\"columns\":[{\"name\":\"\",\"align\":\"right\"}],\"rows\":[[\"1\"]]}");
}

TEST(what_is_no_table_alone_stays_a_text)
{
    check("", "");
    check("<p>none</p>", "");
    check("<table></table>", "");
    check("<table><tr><td>1", "");
    check("<table><tr><td><table><tr><td>1</table></table>", "");
    check("<table><tr><td>1</table><table><tr><td>2</table>", "");
    check("<h1>A heading</h1><table><tr><td>1</table>", "");
    check("<table><tr><td>1</table><p>and a word", "");
    AUTO_JSON *wide = html_table_read("<table><tr><td colspan=99999 rowspan=99999>1<tr></table>");
    CHECK_INT(cJSON_GetArraySize(json_get(wide, "columns")), 128);
    CHECK_INT(cJSON_GetArraySize(json_get(wide, "rows")), 2);
}

int main(void)
{
    return tap_run();
}
