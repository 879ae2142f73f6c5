// SPDX-License-Identifier: MIT
// firesteel ls: lists the living kernels.
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/offers.h"
#include "cli/options.h"
#include "cli/print.h"

#include <stdio.h>
#include <string.h>

static void print_head(const struct cli *cli, int width)
{
    say_tone(cli, TONE_BOLD);
    say(stdout, "%-*s  %7s  %-13s  %s", width, "RUN", "PID", "STATE", "FOLDER");
    say_tone(cli, TONE_PLAIN);
    say(stdout, "\n");
}

static int list(struct cli *cli)
{
    struct kernels k;
    err e = {0};
    if (kernels_find(cli, &k, &e) < 0)
        return cli_error(cli, &e);
    size_t width = 3;
    for (size_t i = 0; i < k.n; i++)
        width = strlen(k.list[i].run) > width ? strlen(k.list[i].run) : width;
    if (k.n)
        print_head(cli, (int)width);
    else
        say(stderr, "No kernel is running\n");
    struct offers sorted = {0};
    offers_kernels(&sorted, &k, cli->cwd);
    for (size_t i = 0; i < sorted.n; i++) {
        const struct kernel *one = sorted.list[i].kernel;
        AUTO_FREE char *state = str_fmt("%s%s", one->state, one->unsaved ? ", unsaved" : "");
        say(stdout, "%-*s  %7d  %-13s  %s\n", (int)width, one->run, one->pid, state, one->cwd);
    }
    offers_done(&sorted);
    kernels_done(&k);
    return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const struct option options[] = {{0}};
    char **rest = NULL;
    int code;
    if (options_parse(cli, &ls_verb, options, argc, argv, &rest, &code) == 0)
        code = rest ? cli_usage(cli, &ls_verb, "it takes no argument: %s", rest[0]) : list(cli);
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb ls_verb = {
    .name = "ls",
    .summary = "list the kernels that are alive",
    .usage = "",
    .run = run,
};
