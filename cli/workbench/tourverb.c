// SPDX-License-Identifier: MIT
// firesteel tour: ten steps in the workbench, in a sandbox and a folder of their own.
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/workbench/opening.h"
#include "cli/workbench/tour.h"

#include <unistd.h>

static int run(struct cli *cli, int argc, char **argv)
{
    struct tour_options o = {0};
    const struct option options[] = {
        {"new", 0, NULL, "start over: the kernel of the last tour ends, and its folder is emptied",
            .given = &o.anew},
        {"cwd", 0, "DIR", "the folder in which it happens (else one of its own)", .text = &o.cwd},
        {"sandbox", 0, NULL,
            "=processes: pods are plain processes, where users may make no namespaces",
            .word = "processes", .given = &o.sandbox, .text = &o.processes},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &tour_verb, options, argc, argv, &rest, &code) == 0)
        code = rest                    ? cli_usage(cli, &tour_verb, "it takes no notebook")
               : !isatty(STDIN_FILENO) ? cli_usage(cli, &tour_verb, "it needs a terminal")
                                       : open_tour(cli, &o);
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb tour_verb = {
    .name = "tour",
    .summary = "learn the workbench in ten steps, in a sandbox",
    .usage = "[--new] [--cwd DIR]\n\n"
             "Opens a notebook that says at each step what to press, in a private sandbox and in a "
             "folder of its own\n($XDG_STATE_HOME/firesteel/tour). Leave it with q: `firesteel "
             "tour` goes on where you were.",
    .run = run,
};
