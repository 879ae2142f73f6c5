// SPDX-License-Identifier: MIT
#include "cli/kernel/checking.h"

#include "base/mem.h"
#include "cli/say.h"
#include "script/kernel/cells/compile.h"
#include "script/notebook/lua/locals.h"
#include "script/notebook/params.h"

// Locals of earlier cells that a cell reads: they are nil, which stops no run.
static void check_locals(const notebook *nb, struct faults *all)
{
    for (size_t i = 0; i < notebook_count(nb); i++) {
        AUTO_JSON *lost = locals_lost(nb, i);
        for (const cJSON *one = lost ? lost->child : NULL; one; one = one->next) {
            AUTO_FREE char *words = locals_words(one->string, one);
            faults_add(all, (long)i, (int)json_int_or(one, "line", 1), words);
        }
    }
    faults_sort(all);
}

static void check(const char *path, struct kernel_options *o, buf *out)
{
    o->notebook = path;
    err e = {0};
    CLEANUP(faults_done) struct faults all = {0};
    struct params params = {.cell = -1};
    notebook *nb = notebook_load(path, &e);
    if (nb)
        compile_check(nb, &all);
    if (nb && !all.n)
        compile_check_kernels(nb, o->find_kernel, o, &all);
    if (nb)
        check_locals(nb, &all);
    for (size_t i = 0; i < all.n; i++)
        faults_print(&all.list[i], nb, path, out);
    if (nb && params_find(nb, &params, &e) < 0)
        err_wrap(&e, "%s", path);
    if (e.code)
        buf_fmt(out, "%s\n", e.text);
    params_done(&params);
    notebook_free(nb);
}

int checking_run(char *const *notebooks, struct kernel_options *options)
{
    AUTO_BUF out = {0};
    for (; *notebooks; notebooks++)
        check(*notebooks, options, &out);
    say(stdout, "%s", buf_cstr(&out));
    return out.len ? 2 : 0;
}
