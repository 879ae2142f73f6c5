// SPDX-License-Identifier: MIT
// firesteel new: copies a recipe to work on.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/workbench/offers.h"

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

static int list(struct cli *cli)
{
    struct offers all = {0};
    offers_recipes(&all, cli);
    for (size_t i = 0; i < all.n; i++)
        say(stdout, "%s  %s\n    %s\n", all.list[i].notebook,
            all.list[i].about ? all.list[i].about : "", all.list[i].detail);
    if (all.n)
        say(stdout, "\n`firesteel new NAME` copies one here; a part of its name is enough\n");
    else
        say(stderr, "firesteel: no recipes are installed\n");
    int code = all.n ? 0 : 1;
    offers_done(&all);
    return code;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const struct option options[] = {{0}};
    char **rest = NULL;
    int code;
    if (options_parse(cli, &new_verb, options, argc, argv, &rest, &code) == 0) {
        size_t n = rest ? strv_len(rest) : 0;
        if (n > 2)
            code = cli_usage(cli, &new_verb, "a recipe and a path");
        else if (n && !*rest[0]) // a part of every name
            code = cli_usage(cli, &new_verb, "which recipe? Its name is empty");
        else if (n == 0)
            code = list(cli);
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
    .usage = "[RECIPE [PATH]]\n\nRECIPE is a part of its name, as in `firesteel new mnist`. "
             "Without one the "
             "recipes are listed.",
    .run = run,
};
