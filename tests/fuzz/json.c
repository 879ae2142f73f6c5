// SPDX-License-Identifier: MIT
// JSON: a text that was read is printed, and reads back as the same.
#include "base/json/json.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e = {0};
    AUTO_JSON *j = json_parse((const char *)data, n, &e);
    if (!j)
        return 0;
    AUTO_FREE char *text = json_to_str(j);
    AUTO_JSON *again = json_parse(text, strlen(text), &e);
    if (!again)
        abort();
    AUTO_FREE char *same = json_to_str(again);
    if (strcmp(text, same) != 0)
        abort();
    return 0;
}
