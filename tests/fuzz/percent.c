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

// The percent format of others: what is read is saved with the same bytes; written anew it has the
// same cells.
static void check_other(const char *path, const char *data, size_t n)
{
    err e = {0};
    AUTO_BUF text = {0}, lua = {0}, anew = {0};
    notebook *nb = notebook_parse_as(path, data, n, &e);
    if (!nb)
        return;
    if (notebook_print_as(nb, path, NULL, NULL, &text, &e) < 0)
        abort();
    if (notebook_language(nb) && (text.len != n || (n && memcmp(text.data, data, n) != 0)))
        abort();
    notebook_print(nb, &lua);
    notebook *again = notebook_parse(buf_cstr(&lua), lua.len, &e);
    if (!again || notebook_print_as(again, path, NULL, NULL, &anew, &e) < 0)
        abort();
    notebook_free(again);
    notebook_free(nb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e = {0};
    check_other("x.py", (const char *)data, n);
    check_other("x.R", (const char *)data, n);
    check_other("x.rs", (const char *)data, n);
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
