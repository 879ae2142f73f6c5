// SPDX-License-Identifier: MIT
// firesteel show: prints a run from its journal, with all output, also long afterwards and without
// a cluster.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/kernels.h"
#include "cli/options.h"
#include "cli/print/print.h"
#include "cli/workbench/workbench.h"
#include "script/journal/file/reader.h"
#include "script/journal/fold/fold.h"
#include "script/journal/origin.h"
#include "script/journal/runs/cost.h"
#include "script/journal/runs/runs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_head(struct cli *cli, const fold *f)
{
    AUTO_BUF when = {0};
    clock_rfc3339(&when, fold_started(f), CLOCK_SECONDS);
    const cJSON *first = fold_first(f);
    say_tone(cli, TONE_BOLD);
    say(stdout, "%s", fold_run(f) ? fold_run(f) : "?");
    say_tone(cli, TONE_PLAIN);
    say(stdout, ", started %s", buf_cstr(&when));
    if (first && json_str(first, "host"))
        say(stdout, " on %s", json_str(first, "host"));
    say(stdout, "\n");
    AUTO_JSON *results = fold_results(f);
    const cJSON *p;
    cJSON_ArrayForEach(p, json_get(results, "params"))
    {
        AUTO_FREE char *value = json_to_str(p);
        say(stdout, "  %s = %s\n", p->string, value);
    }
}

// Prints what is needed to repeat the run.
static void print_origin(const fold *f)
{
    AUTO_BUF text = {0};
    origin_print(f, "  ", &text);
    say(stdout, "%s", buf_cstr(&text));
}

// "loss = 0.2 (step 3; 3 values, 0.2 to 0.6)"
static void print_metric(const cJSON *m)
{
    AUTO_FREE char *value = runs_text(json_get(m, "value"));
    AUTO_FREE char *least = runs_text(json_get(m, "min"));
    AUTO_FREE char *most = runs_text(json_get(m, "max"));
    AUTO_BUF more = {0};
    if (json_get(m, "step"))
        buf_fmt(&more, "step %lld", (long long)json_int_or(m, "step", 0));
    if (json_int_or(m, "n", 1) > 1)
        buf_fmt(&more, "%s%lld values", more.len ? "; " : "", (long long)json_int_or(m, "n", 1));
    if (json_int_or(m, "n", 1) > 1 && *least)
        buf_fmt(&more, ", %s to %s", least, most);
    say(stdout, "  %s = %s%s%s%s\n", m->string, value, more.len ? " (" : "", buf_cstr(&more),
        more.len ? ")" : "");
}

// What cells recorded and trainings measured; parameters are at the top.
static void print_recorded(const fold *f)
{
    AUTO_JSON *results = fold_results(f);
    const cJSON *metrics = json_get(results, "metrics"), *tags = json_get(results, "tags"), *item,
                *artifacts = json_get(results, "artifacts");
    if (metrics->child)
        say(stdout, "metrics\n");
    cJSON_ArrayForEach(item, metrics) print_metric(item);
    if (tags->child)
        say(stdout, "tags\n");
    cJSON_ArrayForEach(item, tags)
    {
        AUTO_FREE char *text = runs_text(item);
        say(stdout, "  %s%s%s\n", item->string, cJSON_IsTrue(item) ? "" : " = ",
            cJSON_IsTrue(item) ? "" : text);
    }
    AUTO_BUF cost = {0};
    cost_print(json_get(results, "pods"), (double)fold_last(f) / CLOCK_SEC, &cost);
    if (cost.len)
        say(stdout, "pods\n%s", buf_cstr(&cost));
    if (artifacts->child)
        say(stdout, "artifacts\n");
    cJSON_ArrayForEach(item, artifacts) say(stdout, "  %s: %s, %lld bytes, sha256:%s\n",
        item->string, json_str_or(item, "path", ""), (long long)json_int_or(item, "size", 0),
        json_str_or(item, "sha256", ""));
}

static void print_ledger(const fold *f)
{
    for (size_t i = 0; i < fold_ledger_count(f); i++) {
        const struct ledger_entry *l = fold_ledger(f, i);
        const char *state = l->undone     ? "gone"
                            : l->failed   ? "failed"
                            : l->verified ? "verified"
                            : l->repeated ? "repeated"
                            : l->outcome  ? "done"
                                          : "unknown";
        say(stdout, "%4lld  %-11s  %-8s  %s%s\n", (long long)l->entry, l->effect ? l->effect : "",
            state,
            l->what      ? l->what
            : l->binding ? l->binding
                         : "",
            fold_left_overs(f) && ledger_left_over(l) ? "  (left over)" : "");
    }
}

static int show(struct cli *cli, const char *folder, const char *name, bool ledger)
{
    err e = {0}, bad = {0};
    AUTO_FREE char *spools = NULL;
    fold *f = runs_open(folder, name, &spools, &bad, &e);
    if (!f)
        return cli_error(cli, &e);
    if (ledger) {
        print_ledger(f);
    } else {
        print_head(cli, f);
        print_origin(f);
        for (size_t i = 0; i < fold_count(f); i++)
            print_cell(cli, f, i, spools);
        print_recorded(f);
        print_summary(cli, f);
    }
    size_t damaged = fold_corrupt(f);
    if (damaged == 1)
        say(stderr, "firesteel: 1 line of the journal is damaged and left out: %s\n", bad.text);
    else if (damaged)
        say(stderr, "firesteel: %zu lines of the journal are damaged and left out; the first: %s\n",
            damaged, bad.text);
    mem_leave(f);
    return damaged ? 1 : 0;
}

// On the full screen: a run at any time of it; a running one as it is now.
static int open_run(struct cli *cli, const char *folder, const char *name)
{
    err e = {0};
    struct kernels kernels = {0};
    AUTO_FREE char *run = runs_pick(folder, NULL, name, &e);
    AUTO_FREE char *path = run ? journal_file(folder, run) : NULL;
    const struct kernel *k = NULL;
    if (path && !(cli->out_tty && isatty(STDIN_FILENO)))
        err_set(&e, ERR_USAGE, "not a terminal; `firesteel show %s` needs none", run);
    else if (path && journal_is_written(path) && kernels_find(cli, &kernels, &e) == 0)
        k = kernels_get(&kernels, run, NULL);
    replay *past =
        e.code || k ? NULL : replay_open(path, &e); // no screen for a run that cannot be read
    workbench *w = e.code ? NULL : workbench_open(cli, &(struct bench_about){0}, &e);
    if (w && k && workbench_join(w, k->socket, k->headless, &e) == 0)
        workbench_run(w, &e);
    else if (w && !k)
        workbench_look(w, STEAL(past), path, &e);
    replay_free(past);
    workbench_close(w);
    kernels_done(&kernels);
    return e.code ? cli_error(cli, &e) : 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *cwd = NULL;
    bool ledger = false, open = false;
    const struct option options[] = {
        {"ledger", 0, NULL, "the effects it had, instead of its cells", .given = &ledger},
        {"open", 0, NULL, "in the workbench, read-only: as it ended, and at any time before",
            .given = &open},
        {"cwd", 0, "DIR", "working folder of the run, instead of this one", .text = &cwd},
        {0},
    };
    char **rest = NULL;
    AUTO_FREE char *folder = NULL;
    int code;
    if (options_parse(cli, &show_verb, options, argc, argv, &rest, &code) == 0) {
        const char *word = rest ? rest[0] : NULL;
        if (rest && strv_len(rest) > 1)
            code = cli_usage(cli, &show_verb, "one run at a time");
        else if (open && ledger)
            code = cli_usage(cli, &show_verb, "--ledger is printed: leave --open out");
        else if (open)
            code = open_run(cli, folder = cli_runs_folder(cli, cwd, word), word);
        else
            code = show(cli, folder = cli_runs_folder(cli, cwd, word), word, ledger);
    }
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb show_verb = {
    .name = "show",
    .summary = "show a run with its output, from the journal",
    .usage = "[RUN]\n\nRUN is a name from `firesteel runs`, its beginning or end, newest, -2 or a "
             "notebook; "
             "without\nit, the newest.",
    .run = run,
    .takes_runs = true,
};
