// SPDX-License-Identifier: MIT
// firesteel clean: hands over to firesteel-kernel, which has the bindings that remove things.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "script/journal/runs/runs.h"

static char **add(char **argv, const char *option, const char *value)
{
    return value ? strv_add(strv_add(argv, option), value) : argv;
}

static int run(struct cli *cli, int argc, char **argv)
{
    bool dry_run = false, yes = false;
    const char *cwd = NULL, *context = NULL, *kubeconfig = NULL;
    const struct option options[] = {
        {"dry-run", 0, NULL, "only list", .given = &dry_run},
        {"yes", 'y', NULL, "remove without asking", .given = &yes},
        {"cwd", 0, "DIR", "the working folder of the run", .text = &cwd},
        {"context", 0, "NAME", "of the kubeconfig", .text = &context},
        {"kubeconfig", 0, "FILE", "else $KUBECONFIG", .text = &kubeconfig},
        {0},
    };
    char **rest = NULL;
    AUTO_FREE char *folder = NULL, *file = NULL;
    int code;
    if (options_parse(cli, &clean_verb, options, argc, argv, &rest, &code) != 0)
        goto done;
    if (strv_len(rest) > 1) {
        code = cli_usage(cli, &clean_verb, "one run at a time");
        goto done;
    }
    const char *word = rest && rest[0] ? rest[0] : "last";
    folder = cli_runs_folder(cli, cwd, word);
    file = runs_is_notebook(word) ? path_absolute(word, NULL) : NULL;
    char **words = add(NULL, "--clean", file ? file : word);
    bool replaced = !cwd && !str_eq(folder, ".");
    words = add(add(add(words, "--cwd", replaced ? folder : cwd), "--context", context),
        "--kubeconfig", kubeconfig);
    if (dry_run)
        words = strv_add(words, "--dry-run");
    if (yes)
        words = strv_add(words, "--yes");
    code = cli_become_kernel(cli, words);
done:
    strv_free(rest);
    return code;
}

const struct verb clean_verb = {
    .name = "clean",
    .summary = "list and remove what a run has left on a cluster",
    .usage = "[RUN] [--dry-run | --yes] [OPTION…]\n\n"
             "Objects that RUN made (without it: the newest of the folder) and that are still "
             "there, in\n"
             "the context it ran in. Only what is provably that run's is removed; on another "
             "cluster it\n"
             "refuses (3). What cannot be looked at stays left over (exit code 1).",
    .run = run,
    .takes_runs = true,
};
