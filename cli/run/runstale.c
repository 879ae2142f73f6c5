// SPDX-License-Identifier: MIT
// firesteel run --stale: runs only what is outdated, in rounds.
#include "base/mem.h"
#include "base/str.h"
#include "cli/parameters.h"
#include "cli/run/run_private.h"
#include "script/journal/stale/staleplan.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 4 }; // each round runs the cells that the round before has made stale

// Prints what a round will do: to stdout if cells are printed there, else to stderr.
static void tell_plan(const struct stale *s, const struct run *r, const char *output, bool list)
{
    if (list && str_eq(output, "json"))
        stale_print_json(s);
    else
        stale_print(s, r->form == FORM_PLAIN ? stdout : stderr);
    if (stale_holds(s) && !(list && str_eq(output, "json")))
        say(r->form == FORM_PLAIN ? stdout : stderr, "nothing is stale\n");
    fflush(stdout);
}

static int plan_stale(
    struct cli *cli, struct run_options *o, const char *file, const char *word, struct stale *s)
{
    err e = {0};
    bool moved;
    AUTO_FREE char *cwd = cli_work_folder(cli, o->cwd, file, &moved, &e);
    notebook *nb = cwd ? notebook_load(file, &e) : NULL;
    int result = nb ? run_check_document(nb, file, o, &o->parameters, &e) : -1;
    notebook_free(nb);
    o->files = o->yaml = NULL; // their values are now among the parameters
    if (result == 0)
        result = stale_open(cwd, file, word, o->parameters, s, &e);
    if (result == 0)
        return 0;
    e.code = ERR_USAGE;
    return cli_error(cli, &e);
}

// One round; *over: nothing is left to do.
static int run_round(struct cli *cli, struct run_options *o, const char *file, char **word,
    bool first, struct run *r, bool *over)
{
    const struct run begin = {.cli = r->cli, .form = r->form, .reports = r->reports, .said = -1};
    CLEANUP(stale_done) struct stale s = {0};
    int code = plan_stale(cli, o, file, *word, &s);
    *over = code || o->list || stale_holds(&s) || (!first && !stale_plan_count(s.plan, "anew"));
    if (code == 0 && (first || !*over))
        tell_plan(&s, r, o->output, o->list);
    if (*over)
        return code;
    if (!first && r->form != FORM_PLAIN) { // a whole run was printed, and there can be only one
        *over = true;
        return 0;
    }
    run_close(r);
    *r = begin;
    free(*word);
    *word = mem_strdup(s.run);
    o->stale = &s;
    o->resume = *word;
    code = run_start(cli, o, file, r);
    o->stale = NULL;
    o->resume = NULL;
    return code;
}

// All rounds were used, and all their cells passed.
static int tell_rest(struct cli *cli, struct run_options *o, const char *file, const char *word)
{
    CLEANUP(stale_done) struct stale s = {0};
    int code = plan_stale(cli, o, file, word, &s);
    size_t left = code == 0 ? stale_plan_count(s.plan, "anew") : 0;
    if (left == 0)
        return code;
    say(stderr,
        "firesteel: still stale after %d rounds: %zu cell%s, since what is needed has another "
        "value each time (`--stale --list` names them)\n",
        ROUNDS, left, left == 1 ? "" : "s");
    return 1;
}

// Runs what is stale, and then what that has made stale: a cell that ran only to rebuild values may
// have produced other ones than before.
int run_stale(struct cli *cli, struct run_options *o, const char *file, struct run *r)
{
    err e = {0};
    char **files = o->files, **yaml = o->yaml;
    AUTO_FREE char *word = mem_strdup(o->from);
    bool over = false;
    int code = parameters_read(o->parameters, &e);
    if (code)
        return cli_error(cli, &e);
    o->from = NULL;
    for (int round = 0; code == 0 && !over && round < ROUNDS; round++)
        code = run_round(cli, o, file, &word, round == 0, r, &over);
    if (code == 0 && !over)
        code = tell_rest(cli, o, file, word);
    o->files = files;
    o->yaml = yaml;
    return code;
}
