// SPDX-License-Identifier: MIT
// CSV: rows that were read are printed, and read back as the same. The first byte chooses the
// separator.
#include "base/json/csvtext.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void print(buf *out, const cJSON *rows, char separator)
{
    const cJSON *row, *field;
    cJSON_ArrayForEach(row, rows)
    {
        cJSON_ArrayForEach(field, row)
        {
            if (field != row->child)
                buf_char(out, separator);
            csvtext_print_field(out, field->valuestring, strlen(field->valuestring), separator);
        }
        buf_char(out, '\n');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e = {0};
    if (n == 0)
        return 0;
    char separator = ",;\t|"[data[0] % 4];
    AUTO_JSON *rows = csvtext_parse((const char *)data + 1, n - 1, separator, &e);
    if (!rows)
        return 0;
    AUTO_BUF text = {0};
    print(&text, rows, separator);
    AUTO_JSON *again = csvtext_parse(buf_cstr(&text), text.len, separator, &e);
    if (!again || !json_equal(rows, again))
        abort();
    return 0;
}
