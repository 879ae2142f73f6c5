// SPDX-License-Identifier: MIT
// .ipynb files: they are read, checked, and written in both formats, also with their outputs as a
// run has them.
#include "script/journal/jupyter.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e = {0};
    notebook *nb = notebook_parse_ipynb((const char *)data, n, &e);
    if (!nb)
        return 0;
    notebook_check(nb, &e);
    AUTO_BUF text = {0};
    notebook_print(nb, &text);
    notebook_free(notebook_parse(buf_cstr(&text), text.len, &e));
    cJSON_Delete(notebook_to_ipynb(nb, NULL, NULL));
    fold *past = jupyter_past(nb, 1);
    for (size_t i = 0; past && i < fold_count(past); i++)
        cJSON_Delete(jupyter_outputs(fold_cell(past, i), NULL, 0, NULL));
    fold_free(past);
    notebook_free(nb);
    return 0;
}
