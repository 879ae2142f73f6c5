// SPDX-License-Identifier: MIT
// firesteel check: hands over to firesteel-kernel, which has Lua.
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"

struct wishes {
    const char *context, *kubeconfig, *output;
};

static int check(struct cli *cli, char *const *notebooks, const struct wishes *w)
{
    char **words = NULL;
    if (w->context)
        words = strv_add(strv_add(words, "--context"), w->context);
    if (w->kubeconfig)
        words = strv_add(strv_add(words, "--kubeconfig"), w->kubeconfig);
    if (w->output)
        words = strv_add(words, "--json");
    for (; *notebooks; notebooks++)
        words = strv_add(strv_add(words, "--check"), *notebooks);
    return cli_become_kernel(cli, words);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct wishes w = {0};
    const struct option options[] = {
        {"context", 0, "NAME", "manifests are checked by the schemas of this cluster",
            .text = &w.context},
        {"kubeconfig", 0, "FILE", "the same, of the cluster that this file names",
            .text = &w.kubeconfig},
        {"output", 'o', "FORMAT", "json: an object for each mistake, a line each",
            .text = &w.output},
        {0}};
    char **rest = NULL;
    int code;
    if (options_parse(cli, &check_verb, options, argc, argv, &rest, &code) == 0)
        code = !rest ? cli_usage(cli, &check_verb, "which notebooks?")
               : w.output && !str_eq(w.output, "json")
                   ? cli_usage(cli, &check_verb, "the output format is json")
                   : check(cli, rest, &w);
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb check_verb = {
    .name = "check",
    .summary = "say what would keep notebooks from being run, without running them",
    .usage =
        "[--context NAME | --kubeconfig FILE] [-o json] NOTEBOOK…\n\n"
        "A line for each mistake: options and magics that are unknown, Lua that does not\n"
        "compile (cells, .lua files that cells write, templates), JSON and YAML that does not\n"
        "parse (files and templates, with the values of parameters), another language. Also\n"
        "what does not keep them from being run: manifests that do not fit the schemas of\n"
        "their kinds (of the cluster that is named, else those that a sandbox has), texts in\n"
        "Dockerfile, bash (by shellcheck, else bash -n) and Python. Exit code: 0 none, 2\n"
        "there are some. `firesteel run` does the first before its first cell.",
    .run = run,
};
