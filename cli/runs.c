// SPDX-License-Identifier: MIT
// firesteel runs: lists the journals of a folder, newest first; with what they recorded.
#include "script/journal/runs.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/print.h"
#include "script/journal/reader.h"

#include <stdio.h>
#include <string.h>

// New; *failed is set if the journal cannot be read.
static cJSON *read_row(struct cli *cli, const char *folder, const char *run, bool *failed)
{
    err e = {0};
    cJSON *row = runs_row(folder, run, &e);
    if (e.code)
        cli_error(cli, &e);
    *failed = *failed || e.code;
    return row;
}

struct column {
    const char *title, *field;
    bool right;
    int width;
};

static char *column_text(const struct column *c, const cJSON *row)
{
    if (str_eq(c->field, "seconds") && json_get(row, "seconds")) {
        AUTO_BUF took = {0};
        duration_format(&took, (int64_t)(json_get(row, "seconds")->valuedouble * CLOCK_SEC));
        return mem_strdup(buf_cstr(&took));
    }
    if (str_eq(c->title, "OK"))
        return str_fmt("%lld/%lld", (long long)json_int_or(row, "ok", 0),
            (long long)json_int_or(row, "cells", 0));
    return runs_text(runs_field(row, c->field));
}

static enum tone tone_of(const struct column *c, const char *text)
{
    if (!str_eq(c->field, "state"))
        return TONE_PLAIN;
    return str_eq(text, "ok") ? TONE_GOOD : str_eq(text, "running") ? TONE_WARN : TONE_BAD;
}

static void print_field(const struct cli *cli, const struct column *c, const char *text, bool last)
{
    int blank = c->width - text_width(text, strlen(text), 0);
    blank = blank < 0 ? 0 : blank;
    say(stdout, "%*s", c->right ? blank : 0, "");
    say_tone(cli, tone_of(c, text));
    say(stdout, "%s", text);
    say_tone(cli, TONE_PLAIN);
    say(stdout, "%*s", last ? 0 : 2 + (c->right ? 0 : blank), "");
}

static void print_rows(
    const struct cli *cli, struct column *columns, size_t n, cJSON *const *rows, size_t n_rows)
{
    for (size_t k = 0; k < n; k++) {
        columns[k].width = text_width(columns[k].title, strlen(columns[k].title), 0);
        for (size_t i = 0; i < n_rows; i++) {
            AUTO_FREE char *text = column_text(&columns[k], rows[i]);
            int width = text_width(text, strlen(text), 0);
            columns[k].width = width > columns[k].width ? width : columns[k].width;
        }
    }
    say_tone(cli, TONE_BOLD);
    for (size_t k = 0; k < n; k++)
        say(stdout, "%*s%s", columns[k].right ? columns[k].width : -columns[k].width,
            columns[k].title, k + 1 < n ? "  " : "");
    say_tone(cli, TONE_PLAIN);
    say(stdout, "\n");
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t k = 0; k < n; k++) {
            AUTO_FREE char *text = column_text(&columns[k], rows[i]);
            print_field(cli, &columns[k], text, k + 1 == n);
        }
        say(stdout, "\n");
    }
}

static const struct column usual[] = {
    {"RUN", "run", false, 0},
    {"STATE", "state", false, 0},
    {"STARTED", "started", false, 0},
    {"TOOK", "seconds", true, 0},
    {"OK", "ok", true, 0},
    {"FAILED", "failed", true, 0},
    {"LEFT OVER", "left", false, 0},
};

struct wish {
    struct runs_where where;
    const char *sort;
    char **columns; // beside run and state; NULL: the usual ones
    bool json;
};

static bool is_number_column(const char *field, cJSON *const *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const cJSON *value = runs_field(rows[i], field);
        if (value && !cJSON_IsNumber(value))
            return false;
    }
    return true;
}

static void print_list(
    const struct cli *cli, const struct wish *wish, cJSON *const *rows, size_t n_rows)
{
    size_t n = wish->columns ? 2 + strv_len(wish->columns) : ARRAY_LEN(usual);
    struct column *columns = mem_array(n, sizeof *columns);
    for (size_t k = 0; k < n; k++) {
        if (k < 2 || !wish->columns) {
            columns[k] = usual[k];
            continue;
        }
        const char *field = wish->columns[k - 2];
        columns[k] = (struct column){field, field, is_number_column(field, rows, n_rows), 0};
    }
    print_rows(cli, columns, n, rows, n_rows);
    free(columns);
}

static void print_json(cJSON *const *rows, size_t n)
{
    AUTO_JSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemReferenceToArray(list, rows[i]);
    say_json(list, 2);
}

static void miss(const struct cli *cli, const char *field, cJSON *const *rows, size_t n)
{
    if (runs_any_has(rows, n, field))
        return;
    say_program(cli);
    say(stderr, "no run has \"%s\"\n", field);
}

// Says which fields there are none of: they may be misspelt.
static void miss_fields(
    const struct cli *cli, const struct wish *wish, cJSON *const *rows, size_t n)
{
    for (char **c = wish->columns; n && c && *c; c++)
        miss(cli, *c, rows, n);
    for (size_t i = 0; n && i < wish->where.n; i++)
        miss(cli, wish->where.terms[i].name, rows, n);
    if (n && wish->sort)
        miss(cli, wish->sort + (*wish->sort == '-'), rows, n);
}

static int list_runs(struct cli *cli, const char *folder, const struct wish *wish)
{
    err e = {0};
    char **runs = journal_list(folder, &e);
    if (!runs)
        return cli_error(cli, &e);
    size_t all = strv_len(runs), n = 0;
    cJSON **every = mem_array(all + 1, sizeof *every), **rows = mem_array(all + 1, sizeof *rows);
    bool failed = false;
    for (size_t i = 0; i < all; i++) {
        every[i] = read_row(cli, folder, runs[i], &failed);
        if (runs_where_holds(&wish->where, every[i]))
            rows[n++] = every[i];
    }
    miss_fields(cli, wish, every, all);
    if (wish->sort)
        runs_sort(rows, n, wish->sort);
    if (wish->json)
        print_json(rows, n);
    else if (n)
        print_list(cli, wish, rows, n);
    else if (all)
        say(stderr, "None of the %zu runs in %s/.firesteel is so\n", all, folder);
    else
        say(stderr, "There are no runs in %s/.firesteel\n", folder);
    for (size_t i = 0; i < all; i++)
        cJSON_Delete(every[i]);
    free(every);
    free(rows);
    strv_free(runs);
    return failed ? 1 : 0;
}

// "lr, val_accuracy" → a strv.
static char **split_names(const char *text)
{
    char **names = NULL;
    while (*text) {
        size_t n = strcspn(text, ",");
        AUTO_FREE char *name = str_trim(text, n);
        if (*name)
            names = strv_add(names, name);
        text += n + (text[n] == ',');
    }
    return names;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *cwd = NULL, *output = NULL, *columns = NULL;
    char **where = NULL, **rest = NULL;
    struct wish wish = {0};
    const struct option options[] = {
        {"where", 0, "CONDITION", "only such runs: 'lr<0.01 and state=ok'; again: all must hold",
            .list = &where},
        {"sort", 0, "FIELD", "by a field, as val_accuracy; -val_accuracy: the largest first",
            .text = &wish.sort},
        {"columns", 0, "FIELD,…", "these fields: of the run, parameters, metrics or tags",
            .text = &columns},
        {"cwd", 0, "DIR", "working folder of the runs, instead of this one", .text = &cwd},
        {"output", 'o', "json", "as JSON", .text = &output},
        {0},
    };
    int code;
    err e = {0};
    if (options_parse(cli, &runs_verb, options, argc, argv, &rest, &code) == 0) {
        int wrong = 0;
        for (char **w = where; w && *w && !wrong; w++)
            wrong = runs_where_parse(&wish.where, *w, &e);
        wish.columns = columns ? split_names(columns) : NULL;
        wish.json = output != NULL;
        if (rest)
            code = cli_usage(cli, &runs_verb, "it takes no argument but options: %s", rest[0]);
        else if (output && !str_eq(output, "json"))
            code = cli_usage(cli, &runs_verb, "--output %s: it is json", output);
        else if (wrong)
            code = cli_usage(cli, &runs_verb, "--where: %s", e.text);
        else
            code = list_runs(cli, cwd ? cwd : ".", &wish);
    }
    runs_where_done(&wish.where);
    strv_free(wish.columns);
    strv_free(where);
    strv_free(rest);
    return code;
}

const struct verb runs_verb = {
    .name = "runs",
    .summary = "list the runs of this folder",
    .usage = "[--where CONDITION]… [--sort [-]FIELD] [--columns FIELD,…] [--cwd DIR] [-o json]",
    .run = run,
};
