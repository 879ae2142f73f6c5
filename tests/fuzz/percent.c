// SPDX-License-Identifier: MIT
// The percent format: a text that can be read is saved with the same bytes; a text that is written
// anew gives the same cells.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/notebook.h"
#include "script/notebook/params.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_again(const notebook *nb)
{
    AUTO_BUF text = {0};
    notebook_print(nb, &text);
    err e = {0};
    notebook *again = notebook_parse(buf_cstr(&text), text.len, &e);
    if (!again)
        abort();
    AUTO_BUF twice = {0};
    notebook_print(again, &twice);
    if (!str_eq(buf_cstr(&text), buf_cstr(&twice)))
        abort();
    notebook_free(again);
}

// Python's percent format: whatever is read can be written.
static void check_python(const char *data, size_t n)
{
    err e = {0};
    AUTO_BUF text = {0};
    notebook *nb = notebook_parse_python(data, n, &e);
    if (nb && notebook_print_python(nb, &text, &e) < 0)
        abort();
    notebook_free(nb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e = {0};
    check_python((const char *)data, n);
    notebook *nb = notebook_parse((const char *)data, n, &e);
    if (!nb)
        return 0;
    AUTO_BUF text = {0};
    notebook_print(nb, &text);
    if (text.len != n || (n && memcmp(text.data, data, n) != 0))
        abort();
    notebook_check(nb, &e);
    struct params params;
    if (params_find(nb, &params, &e) == 0)
        params_inject(&params, nb, &e);
    params_done(&params);
    size_t count = notebook_count(nb);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *source = str_fmt("%s!", notebook_cell(nb, i)->source);
        AUTO_FREE char *marker = mem_strdup(notebook_cell(nb, i)->marker);
        notebook_replace(nb, i, source);
        notebook_set_marker(nb, i, "x");
        notebook_set_marker(nb, i, marker);
    }
    if (count > 1) {
        notebook_move(nb, 0, count - 1);
        notebook_split(nb, count / 2, 3);
        notebook_delete(nb, 0);
    }
    check_again(nb);
    cJSON_Delete(notebook_to_ipynb(nb, NULL, NULL));
    notebook_free(nb);
    return 0;
}
