// SPDX-License-Identifier: MIT
// firesteel runs: lists the journals of a folder, newest first.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/print.h"
#include "script/journal/fold.h"
#include "script/journal/reader.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct row {
    char *run;
    const char *state;
    char when[20];
    buf took;
    size_t ok, failed, cells, left;
};

static void count_cells(const fold *f, struct row *row)
{
    for (size_t i = 0; i < fold_count(f); i++) {
        const struct run_cell *c = fold_cell(f, i);
        size_t at;
        if (!notebook_find(fold_notebook(f), c->id, &at) ||
            notebook_cell(fold_notebook(f), at)->kind != CELL_CODE)
            continue;
        row->cells++;
        row->ok += c->state == STATE_OK;
        row->failed += c->state == STATE_FAILED;
    }
}

static bool read_row(struct cli *cli, const char *folder, const char *run, struct row *row)
{
    AUTO_FREE char *path = journal_file(folder, run);
    err e = {0};
    fold *f = fold_shown(path, NULL, &e);
    *row = (struct row){.run = mem_strdup(run)};
    if (!f) {
        cli_error(cli, &e);
        row->state = "unreadable";
        return false;
    }
    row->state = run_state_name(fold_state(f));
    time_t started = (time_t)(fold_started(f) / CLOCK_SEC);
    struct tm tm;
    strftime(row->when, sizeof row->when, "%Y-%m-%d %H:%M:%S", localtime_r(&started, &tm));
    duration_format(&row->took, fold_duration(f));
    row->left = fold_left_overs(f);
    count_cells(f, row);
    // A notebook that was closed in order is not what passed.
    if (row->failed && str_eq(row->state, "ok"))
        row->state = "failed";
    fold_free(f);
    return true;
}

static void print_rows(const struct cli *cli, const struct row *rows, size_t n)
{
    size_t width = 3;
    for (size_t i = 0; i < n; i++)
        width = strlen(rows[i].run) > width ? strlen(rows[i].run) : width;
    say_tone(cli, TONE_BOLD);
    say(stdout, "%-*s  %-11s  %-19s  %8s  %7s  %6s  %s", (int)width, "RUN", "STATE", "STARTED",
        "TOOK", "OK", "FAILED", "LEFT OVER");
    say_tone(cli, TONE_PLAIN);
    say(stdout, "\n");
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        enum tone t = str_eq(r->state, "ok")        ? TONE_GOOD
                      : str_eq(r->state, "running") ? TONE_WARN
                                                    : TONE_BAD;
        AUTO_FREE char *ok = str_fmt("%zu/%zu", r->ok, r->cells);
        say(stdout, "%-*s  ", (int)width, r->run);
        say_tone(cli, t);
        say(stdout, "%-11s", r->state);
        say_tone(cli, TONE_PLAIN);
        say(stdout, "  %-19s  %8s  %7s  %6zu  %zu\n", r->when, buf_cstr(&r->took), ok, r->failed,
            r->left);
    }
}

static void print_json_rows(const struct row *rows, size_t n)
{
    AUTO_JSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        cJSON *j = cJSON_CreateObject();
        json_set_str(j, "run", rows[i].run);
        json_set_str(j, "state", rows[i].state);
        json_set_str(j, "started", rows[i].when);
        json_set_int(j, "cells", (int64_t)rows[i].cells);
        json_set_int(j, "ok", (int64_t)rows[i].ok);
        json_set_int(j, "failed", (int64_t)rows[i].failed);
        json_set_int(j, "left", (int64_t)rows[i].left);
        cJSON_AddItemToArray(list, j);
    }
    say_json(list, 2);
}

static int list_runs(struct cli *cli, const char *folder, bool json)
{
    err e = {0};
    char **runs = journal_list(folder, &e);
    if (!runs)
        return cli_error(cli, &e);
    size_t n = strv_len(runs);
    struct row *rows = mem_array(n + 1, sizeof *rows);
    int code = 0;
    for (size_t i = 0; i < n; i++)
        if (!read_row(cli, folder, runs[i], &rows[i]))
            code = 1;
    if (json)
        print_json_rows(rows, n);
    else if (n)
        print_rows(cli, rows, n);
    else
        say(stderr, "There are no runs in %s/.firesteel\n", folder);
    for (size_t i = 0; i < n; i++) {
        free(rows[i].run);
        buf_done(&rows[i].took);
    }
    free(rows);
    strv_free(runs);
    return code;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *cwd = NULL, *output = NULL;
    const struct option options[] = {
        {"cwd", 0, "DIR", "working folder of the runs, instead of this one", .text = &cwd},
        {"output", 'o', "json", "as JSON", .text = &output},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &runs_verb, options, argc, argv, &rest, &code) == 0) {
        if (rest)
            code = cli_usage(cli, &runs_verb, "it takes no argument but options: %s", rest[0]);
        else if (output && !str_eq(output, "json"))
            code = cli_usage(cli, &runs_verb, "--output %s: it is json", output);
        else
            code = list_runs(cli, cwd ? cwd : ".", output != NULL);
    }
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb runs_verb = {
    .name = "runs",
    .summary = "list the runs of this folder",
    .usage = "[--cwd DIR] [-o json]",
    .run = run,
};
