// SPDX-License-Identifier: MIT
// firesteel new: a copy of a recipe to work on.
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/offers.h"
#include "cli/options.h"
#include "cli/say.h"

#include <stdio.h>
#include <string.h>

static int copy(struct cli *cli, const char *name, const char *to)
{
    err e = {0};
    AUTO_FREE char *recipe = recipe_find(cli, name, &e);
    AUTO_FREE char *own = recipe ? path_basename(recipe) : NULL;
    AUTO_FREE char *path = !recipe                 ? NULL
                           : to && path_is_dir(to) ? path_join(to, own)
                                                   : mem_strdup(to ? to : own);
    if (!recipe || recipe_copy(recipe, path, &e) < 0)
        return cli_error(cli, &e);
    say(stdout,
        "%s; open it with `firesteel %s`, or with `firesteel --sandbox %s` where there is no "
        "cluster\n",
        path, path, path);
    return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const struct option options[] = {{0}};
    char **rest = NULL;
    int code;
    if (options_parse(cli, &new_verb, options, argc, argv, &rest, &code) == 0) {
        size_t n = rest ? strv_len(rest) : 0;
        if (n < 1 || n > 2)
            code = cli_usage(cli, &new_verb, n ? "a recipe and a path" : "which recipe?");
        else
            code = copy(cli, rest[0], rest[1]);
    }
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb new_verb = {
    .name = "new",
    .summary = "begin a notebook from a recipe",
    .usage = "RECIPE [PATH]\n\nRECIPE is a part of its name, as in `firesteel new mnist`.",
    .run = run,
};
