// SPDX-License-Identifier: MIT
// A table as a display sends it, and changes of its rows, on two lines: drawn rows can be found and
// have no control characters; order and filter lose no row.
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"
#include "tui/part/table/tabledata.h"

#include <stdlib.h>
#include <string.h>

static void check_cells(const tabledata *t, const struct table_row *row)
{
    AUTO_BUF words = {0};
    for (int i = 0; i < tabledata_columns(t); i++) {
        tabledata_entry(row, i, 0, &words);
        for (const char *c = buf_cstr(&words); *c; c++)
            if ((unsigned char)*c < 0x20 || *c == 0x7f)
                abort();
    }
}

static void check_rows(const tabledata *t)
{
    struct table_column columns[TABLE_COLUMNS];
    tabledata_measure(t, columns);
    if (tabledata_count(t) > tabledata_total(t) || (tabledata_ages(t) && !tabledata_count(t)))
        abort();
    for (size_t i = 0; i < tabledata_count(t); i++) {
        const struct table_row *row = tabledata_at(t, i);
        if (*row->uid && tabledata_find(t, row->uid) == SIZE_MAX)
            abort();
        check_cells(t, row);
    }
}

static void order_and_filter(tabledata *t)
{
    static const char *const patterns[] = {"a", "!a", "a>1 and b~x", "NAME=''", ""};
    for (int column = TABLE_SICK_FIRST; column < tabledata_columns(t); column++) {
        tabledata_sort(t, column, column % 2);
        check_rows(t);
    }
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        tabledata_filter(t, patterns[i], 0);
        check_rows(t);
    }
    if (tabledata_count(t) != tabledata_total(t))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data, *line = n ? memchr(text, '\n', n) : NULL;
    size_t first = line ? (size_t)(line - text) : n;
    AUTO_JSON *table = json_parse(text, first, NULL);
    AUTO_JSON *rows = line ? json_parse(line + 1, n - first - 1, NULL) : NULL;
    AUTO_BUF printed = {0};
    if (!table)
        return 0;
    tabledata *t = tabledata_new();
    tabledata_load(t, table);
    order_and_filter(t);
    if (rows) {
        tabledata_change(t, rows);
        order_and_filter(t);
    }
    tabledata_load(t, table);
    check_rows(t);
    tabledata_free(t);
    tabletext_print(table, 0, &printed);
    tabletext_summary(table, &printed);
    return 0;
}
