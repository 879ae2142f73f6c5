// SPDX-License-Identifier: MIT
#include "script/report/page/page_display.h"

#include "base/json/rowset.h"
#include "base/json/tabletext.h"

const cJSON *page_table(const cJSON *data)
{
    const cJSON *table = json_get(data, PAGE_KIND("table"));
    return table ? table : json_get(data, PAGE_KIND("pods"));
}

int page_table_width(const cJSON *table, const cJSON **rows, size_t n)
{
    int width = cJSON_GetArraySize(json_get(table, "columns"));
    for (size_t i = 0; width == 0 && i < n; i++) {
        int entries = cJSON_IsArray(rows[i]) ? cJSON_GetArraySize(rows[i]) : 0;
        width = entries > width ? entries : width;
    }
    return width;
}

void page_table_below(const cJSON *table, buf *out)
{
    tabletext_summary(table, out);
    if (out->len)
        buf_char(out, '\n');
    rowset_say_more(json_int_or(table, "more", 0), out);
    if (json_str(table, "note"))
        buf_fmt(out, "%s\n", json_str(table, "note"));
}
