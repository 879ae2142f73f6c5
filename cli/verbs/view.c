// SPDX-License-Identifier: MIT
// firesteel view: a table in a file, on the screen.
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/workbench/workbench.h"

#include <unistd.h>

static int view_file(struct cli *cli, const char *path)
{
    err e = {0};
    if (!(cli->out_tty && isatty(STDIN_FILENO)))
        err_set(&e, ERR_USAGE, "not a terminal; a table is looked at in one");
    workbench *w = e.code ? NULL : workbench_open(cli, &(struct bench_about){.looks = true}, &e);
    if (w)
        workbench_view(w, path, &e);
    workbench_close(w);
    return e.code ? cli_error(cli, &e) : 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    static const struct option options[] = {{0}};
    char **rest = NULL;
    int code;
    if (options_parse(cli, &view_verb, options, argc, argv, &rest, &code) == 0) {
        if (!rest || strv_len(rest) != 1)
            code = cli_usage(cli, &view_verb, "which file? one at a time");
        else
            code = view_file(cli, rest[0]);
    }
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb view_verb = {
    .name = "view",
    .summary = "look at a table in a file: sort, filter, count, without loading it",
    .usage =
        "FILE.csv|.tsv|.jsonl\n\nThe first line of CSV and TSV has the names of the columns. A "
        "line of JSONL is an object.",
    .run = run,
};
