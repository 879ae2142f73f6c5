// SPDX-License-Identifier: MIT
// A cell's marker on the first line; below it a parameters cell, whose values are also given:
// markers are printed as they were read, and given values equal those of the cell.
#include "script/notebook/params.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

// A printed notebook has the same markers when it is read again.
static void check_marker(const char *marker)
{
    notebook *nb = notebook_new();
    AUTO_BUF text = {0};
    err e;
    const cell *c = notebook_insert(nb, 0, marker, "x = 1");
    notebook_print(nb, &text);
    notebook *again = notebook_parse(buf_cstr(&text), text.len, &e);
    if (again && (notebook_count(again) != 1 || notebook_cell(again, 0)->kind != c->kind))
        abort();
    notebook_free(again);
    notebook_free(nb);
}

static void give(notebook *nb, const char *value)
{
    struct params p;
    err e;
    if (params_find(nb, &p, &e) != 0) {
        params_done(&p);
        return;
    }
    for (size_t i = 0; i < p.n; i++) {
        AUTO_FREE char *assignment = str_fmt("%s=%s", p.list[i].name, value);
        params_give(&p, assignment, &e);
        AUTO_JSON *of_file = json_parse(value, strlen(value), &e);
        if (of_file)
            params_give_value(&p, p.list[i].name, of_file, &e);
    }
    cJSON_Delete(params_values(&p));
    cJSON_Delete(params_given(&p));
    size_t before = notebook_count(nb);
    if (params_inject(&p, nb, &e) == 0 && notebook_count(nb) > before + 1)
        abort();
    params_done(&p);
}

// In Python a text that is given is what its cell says afterwards.
static void check_python(const char *value, const char *source)
{
    struct params p;
    err e;
    AUTO_FREE char *text = str_fmt("# %%%% tags=[\"parameters\"]\n%s\n\n# %%%%\n1\n", source);
    notebook *nb = notebook_parse_as("x.py", text, strlen(text), &e);
    if (!nb)
        return;
    if (params_find(nb, &p, &e) != 0 || !p.python || !p.n) {
        params_done(&p);
        notebook_free(nb);
        return;
    }
    AUTO_FREE char *assignment = str_fmt("%s=%s", p.list[0].name, value);
    size_t given = (size_t)p.cell + 1;
    if (params_give(&p, assignment, &e) == 0 && params_inject(&p, nb, &e) == 0 &&
        cJSON_IsString(p.list[0].value) &&
        cell_has_tag(notebook_cell(nb, given), "injected-parameters")) {
        AUTO_JSON *said = params_said(nb, notebook_cell(nb, given));
        if (!str_eq(json_str(said, p.list[0].name), p.list[0].value->valuestring))
            abort();
    }
    params_done(&p);
    notebook_free(nb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data, *line = n ? memchr(text, '\n', n) : NULL;
    if (!line || !utf8_valid(text, n) || memchr(text, '\0', n) || memchr(text, '\r', n))
        return 0; // a notebook has none
    AUTO_FREE char *first = mem_strndup(text, (size_t)(line - text));
    AUTO_FREE char *rest = mem_strndup(line + 1, n - (size_t)(line + 1 - text));
    check_marker(first);
    notebook *nb = notebook_new();
    notebook_insert(nb, 0, "parameters tags=[\"parameters\"]", rest);
    give(nb, first);
    give(nb, first);
    notebook_free(nb);
    check_python(first, rest);
    return 0;
}
