// SPDX-License-Identifier: MIT
// firesteel attach: the workbench on a kernel that is alive.
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/offers.h"
#include "cli/options.h"
#include "cli/workbench.h"

// Without a name: the newest of this folder, else the only one there is; NULL with *several when it
// is for the person to say.
static const struct kernel *choose(struct cli *cli, const struct offers *all,
    const struct kernels *kernels, const char *name, bool *several, err *e)
{
    for (size_t i = 0; i < all->n && !name; i++)
        if (str_eq(all->list[i].folder, cli->cwd))
            return all->list[i].kernel;
    *several = !name && all->n > 1;
    return *several ? NULL : kernels_get(kernels, name, e);
}

static int attach(struct cli *cli, const char *name)
{
    err e = {0};
    struct kernels kernels;
    struct offers all = {0};
    bool several = false;
    if (kernels_find(cli, &kernels, &e) < 0)
        return cli_error(cli, &e);
    offers_kernels(&all, &kernels, cli->cwd);
    const struct kernel *k = choose(cli, &all, &kernels, name, &several, &e);
    workbench *w = k || several ? workbench_open(cli, &(struct bench_about){0}, &e) : NULL;
    if (w && several) {
        AUTO_FREE struct pick_row *rows = offers_rows(&all);
        int row = workbench_pick(w, "Kernels that are alive", rows, all.n);
        k = row >= 0 ? all.list[row].kernel : NULL;
    }
    if (w && k && workbench_join(w, k->socket, k->headless, &e) == 0)
        workbench_run(w, &e);
    workbench_close(w);
    offers_done(&all);
    kernels_done(&kernels);
    return e.code ? cli_error(cli, &e) : 0;
}

static int attach_run(struct cli *cli, int argc, char **argv)
{
    const struct option options[] = {{0}};
    char **rest = NULL;
    int code;
    if (options_parse(cli, &attach_verb, options, argc, argv, &rest, &code) == 0) {
        if (rest && strv_len(rest) > 1)
            code = cli_usage(cli, &attach_verb, "one run at a time");
        else
            code = attach(cli, rest ? rest[0] : NULL);
    }
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb attach_verb = {
    .name = "attach",
    .summary = "open the workbench on a kernel that is alive",
    .usage = "[RUN]\n\nWithout RUN: this folder's newest, or the only one there is, or a list to "
             "choose from.",
    .run = attach_run,
};
