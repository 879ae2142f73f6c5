// SPDX-License-Identifier: MIT
// .ipynb files: they are read, checked, and written in both formats.
#include "script/notebook/notebook.h"
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
    notebook_free(nb);
    return 0;
}
