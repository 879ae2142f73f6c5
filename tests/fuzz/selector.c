// SPDX-License-Identifier: MIT
// Label and field selectors, and JSONPaths of printer columns.
#include "k8s/sandbox/api/objects/selector.h"
#include "base/mem.h"
#include "k8s/sandbox/api/print/table.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char object[] =
        "{\"metadata\": {\"name\": \"n\", \"labels\": {\"a\": \"b\"}}, \"l\": "
        "[{\"type\": \"x\"}], \"status\": {\"phase\": \"P\"}}";
    AUTO_JSON *o = json_parse(object, sizeof object - 1, NULL);
    AUTO_FREE char *text = mem_strndup((const char *)data, n);
    err e = {0};
    selector *s = selector_parse_labels(text, &e);
    selector_matches(s, o);
    selector_free(s);
    s = selector_parse_fields(KIND(PODS), text, &e);
    selector_matches(s, o);
    selector_free(s);
    table_jsonpath(o, text);
    return 0;
}
