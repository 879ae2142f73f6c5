// SPDX-License-Identifier: MIT
// firesteel attach: opens the workbench on a running kernel.
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/notebookoptions.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/workbench/joining.h"
#include "cli/workbench/offers.h"
#include "cli/workbench/workbench.h"
#include "script/journal/runs/runs.h"

#include <stdio.h>
#include <unistd.h>

// Without a name, the only kernel of this folder; never guesses another folder's. NULL with
// *several: there are several, and the person must choose.
static const struct kernel *choose(const struct offers *all, const struct kernels *kernels,
    const char *name, bool *several, err *e)
{
    const struct kernel *here = NULL;
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        if (all->list[i].here)
            here = all->list[i].kernel, n++;
    *several = !name && n != 1 && all->n > 0;
    if (*several)
        return NULL;
    return !name && n == 1 ? here : kernels_get(kernels, name, e);
}

// A run that has ended is still to be seen.
static void name_ended(struct cli *cli, const char *name, err *e)
{
    AUTO_FREE char *folder = cli_runs_folder(cli, NULL, name);
    AUTO_FREE char *run = runs_pick(folder, NULL, name, NULL);
    if (run)
        err_set(e, ERR_NOT_FOUND, "no kernel runs %s any more; `firesteel show --open %s` opens it",
            run, run);
}

static const char *list_title(const struct offers *all)
{
    return all->list[0].here ? "Several kernels of this folder are alive"
                             : "No kernel of this folder is alive; elsewhere there are";
}

// Lists the kernels if nobody can choose.
static int print_list(const struct offers *all)
{
    say(stderr, "firesteel: %s; say which: firesteel attach RUN\n", list_title(all));
    for (size_t i = 0; i < all->n; i++)
        say(stderr, "  %s  %s  %s\n", all->list[i].kernel->run, all->list[i].kernel->state,
            all->list[i].folder);
    return 2;
}

// Attaches to the chosen kernel, or one of the list; does nothing if the person chooses none.
static void join(struct cli *cli, const struct offers *all, const struct kernel *k, err *e)
{
    workbench *w = workbench_open(cli, &(struct bench_about){.looks = cli->read_only}, e);
    if (w && !k) {
        AUTO_FREE struct pick_row *rows = offers_rows(all);
        int row = workbench_pick(w, list_title(all), rows, all->n);
        k = row >= 0 ? all->list[row].kernel : NULL;
    }
    if (w && k && workbench_join(w, k->socket, k->headless || cli->read_only, e) == 0)
        workbench_run(w, e);
    workbench_close(w);
}

static int attach(struct cli *cli, const char *name)
{
    err e = {0};
    struct kernels kernels;
    struct offers all = {0};
    bool several = false;
    int code = 0;
    if (kernels_find(cli, &kernels, &e) < 0)
        return cli_error(cli, &e);
    offers_kernels(&all, &kernels, cli->cwd);
    const struct kernel *k = choose(&all, &kernels, name, &several, &e);
    if (several && !(cli->out_tty && isatty(STDIN_FILENO)))
        code = print_list(&all);
    else if (k || several)
        join(cli, &all, k, &e);
    else if (name && e.code == ERR_NOT_FOUND)
        name_ended(cli, name, &e);
    offers_done(&all);
    kernels_done(&kernels);
    return e.code ? cli_error(cli, &e) : code;
}

static int attach_run(struct cli *cli, int argc, char **argv)
{
    const struct option options[] = {
        {"no-ask", 0, NULL,
            "ask nothing before something is ended, run again or deleted (or FIRESTEEL_ASK=off)",
            .given = &cli->no_ask},
        {"no-mouse", 0, NULL, "leave the mouse to the terminal (or FIRESTEEL_MOUSE=off)",
            .given = &cli->no_mouse},
        KEEP_OPTION(cli),
        {"read-only", 0, NULL, "only look: nothing is run, edited, answered or changed from here",
            .given = &cli->read_only},
        {"notify", 0, "HOW",
            "tell of an end or a question by: auto, bell, osc9, osc777, none (or FIRESTEEL_NOTIFY)",
            .text = &cli->notify},
        {0},
    };
    char **rest = NULL;
    int code;
    const char *keep;
    int64_t ns;
    err e = {0};
    if (options_parse(cli, &attach_verb, options, argc, argv, &rest, &code) == 0) {
        if (rest && strv_len(rest) > 1)
            code = cli_usage(cli, &attach_verb, "one run at a time");
        else if (joining_keep(cli, &keep, &ns, &e) < 0)
            code = cli_error(cli, &e);
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
    .usage = "[RUN]\n\nWithout RUN: the kernel of this folder; where it has several, or only other "
             "folders have some, a list to choose from.",
    .run = attach_run,
};
