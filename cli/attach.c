// SPDX-License-Identifier: MIT
// firesteel attach: the workbench on a kernel that is alive.
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/kernels.h"
#include "cli/options.h"
#include "cli/workbench.h"

#include <string.h>

// Without a name: the newest of this folder, else the only one there is.
static const struct kernel *choose(
    struct cli *cli, const struct kernels *all, const char *name, err *e)
{
    const struct kernel *newest = NULL;
    for (size_t i = 0; i < all->n && !name; i++)
        if (str_eq(all->list[i].cwd, cli->cwd) &&
            (!newest || strcmp(all->list[i].run + strlen(all->list[i].run) - 20,
                            newest->run + strlen(newest->run) - 20) > 0))
            newest = &all->list[i];
    return newest ? newest : kernels_get(all, name, e);
}

static int attach(struct cli *cli, const char *name)
{
    err e = {0};
    struct kernels all;
    if (kernels_find(cli, &all, &e) < 0)
        return cli_error(cli, &e);
    const struct kernel *k = choose(cli, &all, name, &e);
    workbench *w = k ? workbench_open(cli, &(struct bench_about){0}, &e) : NULL;
    bool ok = w && workbench_join(w, k->socket, k->headless, &e) == 0 && workbench_run(w, &e) == 0;
    workbench_close(w);
    kernels_done(&all);
    return ok ? 0 : cli_error(cli, &e);
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
    .usage = "[RUN]\n\nWithout RUN: this folder's newest, or the only one there is.",
    .run = attach_run,
};
