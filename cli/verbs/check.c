// SPDX-License-Identifier: MIT
// firesteel check: hands over to firesteel-kernel, which has Lua.
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"

static int check(struct cli *cli, char *const *notebooks)
{
    char **words = NULL;
    for (; *notebooks; notebooks++)
        words = strv_add(strv_add(words, "--check"), *notebooks);
    return cli_become_kernel(cli, words);
}

static int run(struct cli *cli, int argc, char **argv)
{
    const struct option options[] = {{0}};
    char **rest = NULL;
    int code;
    if (options_parse(cli, &check_verb, options, argc, argv, &rest, &code) == 0)
        code = rest ? check(cli, rest) : cli_usage(cli, &check_verb, "which notebooks?");
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb check_verb = {
    .name = "check",
    .summary = "say what would keep notebooks from being run, without running them",
    .usage =
        "NOTEBOOK…\n\n"
        "A line for each mistake: options and magics that are unknown, Lua that does not\n"
        "compile (cells, .lua files that cells write, templates), JSON and YAML that does not\n"
        "parse (files and templates, with the values of parameters), another language. Exit\n"
        "code: 0 none, 2 there are some. `firesteel run` does the same before the first cell.",
    .run = run,
};
