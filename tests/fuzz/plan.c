// SPDX-License-Identifier: MIT
// Sources of cells: magics, $NAME and {expr} become Lua with as many lines.
#include "script/notebook/plan.h"
#include "base/mem.h"
#include "script/notebook/notebook.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static size_t lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n' || !s[1];
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_FREE char *source = mem_strndup((const char *)data, n);
    notebook *nb = notebook_new();
    const cell *c = notebook_insert(nb, 0, "", source);
    struct plan p;
    err e = {0};
    if (plan_cell(NULL, c, &p, &e) == 0) {
        if (p.kind == PLAN_LUA && lines(p.text) + (size_t)p.skipped != lines(source))
            abort();
        plan_done(&p);
    }
    notebook_free(nb);
    return 0;
}
