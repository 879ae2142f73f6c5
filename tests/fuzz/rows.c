// SPDX-License-Identifier: MIT
// The first byte is a separator, the rest a text whose rows and fields a viewer looks for: each row
// ends behind its start and within the text, and its fields come to an end.
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"
#include "tui/part/table/rowtext.h"

#include <stdlib.h>
#include <string.h>

static void check_fields(const char *row, size_t n, char separator)
{
    AUTO_BUF field = {0};
    size_t at = 0, used = 0;
    for (bool more = true; more; used += field.len) {
        size_t before = at;
        buf_clear(&field);
        more = rowtext_field(row, n, &at, separator, &field);
        if (at <= before || at > n + 1)
            abort();
    }
    if (used > n)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    char separator = ",;\t|"[data[0] % 4];
    AUTO_FREE char *own = mem_alloc(n); // ends where its memory does
    memcpy(own, data + 1, n - 1);
    const char *text = own;
    size_t left = n - 1;
    rowtext_separator(text, left);
    while (left) {
        size_t used = rowtext_end(text, left, ROWTEXT_CSV, separator);
        if (used == 0 || (used != SIZE_MAX && used > left))
            abort();
        used = used == SIZE_MAX ? left : used;
        check_fields(text, used, separator);
        text += used;
        left -= used;
    }
    return 0;
}
