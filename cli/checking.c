// SPDX-License-Identifier: MIT
#include "cli/checking.h"

#include "base/mem.h"
#include "cli/say.h"
#include "script/kernel/cells/compile.h"
#include "script/notebook/params.h"

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
