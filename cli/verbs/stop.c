// SPDX-License-Identifier: MIT
// firesteel stop: ends a kernel in order, and returns when the kernel is gone.
#include "base/str.h"
#include "cli/cli.h"
#include "cli/ending.h"
#include "cli/options.h"
#include "cli/say.h"

#include <stdio.h>

static int stop_kernel(struct cli *cli, const struct kernel *k, bool force)
{
    err e = {0};
    bool unsaved;
    if (ending_stop(k, force, &unsaved, &e) < 0)
        return cli_error(cli, &e);
    say(stdout, "%s stopped%s\n", k->run,
        unsaved ? "; its unsaved changes are back when the notebook is opened again" : "");
    return 0;
}

static int stop(struct cli *cli, const char *name, bool force)
{
    struct kernels kernels;
    err e = {0};
    if (kernels_find(cli, &kernels, &e) < 0)
        return cli_error(cli, &e);
    const struct kernel *k = kernels_get(&kernels, name, &e);
    int code = k ? stop_kernel(cli, k, force) : cli_error(cli, &e);
    kernels_done(&kernels);
    return code;
}

static int run(struct cli *cli, int argc, char **argv)
{
    bool force = false;
    const struct option options[] = {
        {"force", 0, NULL, "kill it instead of asking it to stop", .given = &force},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &stop_verb, options, argc, argv, &rest, &code) == 0) {
        if (rest && strv_len(rest) > 1)
            code = cli_usage(cli, &stop_verb, "one kernel at a time");
        else
            code = stop(cli, rest ? rest[0] : NULL, force);
    }
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb stop_verb = {
    .name = "stop",
    .summary = "stop a kernel and all that it started",
    .usage =
        "[RUN] [--force]\n\nRUN is a name from `firesteel ls`, its beginning or end; without it, "
        "the only one.",
    .run = run,
};
