// SPDX-License-Identifier: MIT
// firesteel runs: lists the journals of a folder, newest first, with what they recorded.
#include "script/journal/runs/runs.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/print/print.h"
#include "cli/verbs/runs.h"
#include "script/journal/runs/cost.h"

#include <stdio.h>
#include <string.h>

enum { FIELD_MOST = 80 }; // the widest value in the table

static char *number_text(int64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)n);
    return mem_strdup(text);
}

static char *column_text(const struct runs_column *c, const cJSON *row)
{
    static const char *const sizes[] = {"asked_memory", "peak_memory"};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const cJSON *bytes = str_eq(c->field, sizes[i]) ? json_get(row, sizes[i]) : NULL;
        buf text = {0};
        if (!cJSON_IsNumber(bytes))
            continue;
        cost_memory(bytes->valuedouble, &text);
        return buf_take(&text);
    }
    const cJSON *seconds = str_eq(c->field, "seconds") ? json_get(row, "seconds") : NULL;
    if (seconds)
        return runs_took(json_str(row, "state"), (int64_t)(seconds->valuedouble * CLOCK_SEC));
    return runs_text(runs_field(row, c->field));
}

static enum tone tone_of(const struct runs_column *c, const char *text)
{
    if (!str_eq(c->field, "state"))
        return TONE_PLAIN;
    return str_eq(text, "ok") ? TONE_GOOD : str_eq(text, "running") ? TONE_WARN : TONE_BAD;
}

static void pad(buf *line, int n)
{
    for (; n > 0; n--)
        buf_char(line, ' ');
}

// Adds a field to the current line. Colours are printed at their place.
static void add_field(
    const struct cli *cli, buf *line, const struct runs_column *c, const char *text)
{
    int blank = c->width - text_width(text, strlen(text), 0);
    enum tone tone = cli->colour ? tone_of(c, text) : TONE_PLAIN;
    pad(line, c->right ? blank : 0);
    if (tone != TONE_PLAIN) {
        say(stdout, "%s", buf_cstr(line));
        buf_clear(line);
        say_tone(cli, tone);
        say(stdout, "%s", text);
        say_tone(cli, TONE_PLAIN);
    } else {
        buf_str(line, text);
    }
    pad(line, 2 + (c->right ? 0 : blank));
}

static void print_row(
    const struct cli *cli, const struct runs_column *columns, size_t n, char *const *texts)
{
    AUTO_BUF line = {0};
    for (size_t k = 0; k < n; k++)
        add_field(cli, &line, &columns[k], texts[k]);
    while (line.len && line.data[line.len - 1] == ' ')
        line.len--;
    say(stdout, "%.*s\n", (int)line.len, buf_cstr(&line));
}

// A value on one line of the table: control characters are shown as text, and long values are cut.
static void make_field(char **text, bool whole)
{
    AUTO_BUF lines = {0}, out = {0};
    int width;
    for (const char *p = *text; *p; p++)
        switch (*p) {
        case '\n':
            buf_str(&lines, "\\n");
            break;
        case '\t':
            buf_str(&lines, "\\t");
            break;
        case '\r':
            buf_str(&lines, "\\r");
            break;
        default:
            buf_char(&lines, *p);
        }
    printable(&out, buf_cstr(&lines), lines.len);
    size_t n = out.len, fits = text_fit(buf_cstr(&out), n, FIELD_MOST, &width);
    if (!whole && fits < n) {
        out.len = text_fit(buf_cstr(&out), n, FIELD_MOST - 1, &width);
        buf_str(&out, "…");
    }
    free(*text);
    *text = mem_strdup(buf_cstr(&out));
}

void runs_print(
    const struct cli *cli, struct runs_column *columns, size_t n, char **texts, size_t n_rows)
{
    for (size_t i = 0; i < n * n_rows; i++)
        make_field(&texts[i], i % n == 0);
    for (size_t k = 0; k < n; k++) {
        columns[k].width = text_width(columns[k].title, strlen(columns[k].title), 0);
        for (size_t i = 0; i < n_rows; i++) {
            const char *text = texts[i * n + k];
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
    for (size_t i = 0; i < n_rows; i++)
        print_row(cli, columns, n, texts + i * n);
}

static const struct runs_column usual[] = {
    {"RUN", "run", false, 0},
    {"STATE", "state", false, 0},
    {"STARTED", "started", false, 0},
    {"TOOK", "seconds", true, 0},
    {"OK", "ok", true, 0},
    {"FAILED", "failed", true, 0},
    {"LEFT OVER", "left", false, 0},
};

struct wish {
    struct condition where;
    const char *sort;
    char **columns; // besides run and state; NULL: the default ones
    bool json, children;
};

// The runs to show. For each its index is kept, and if fields are columns, their texts: a row is
// read once, and a list of many runs stays small.
struct shown {
    struct cli *cli;
    const struct wish *wish;
    runs_list *runs;
    const char **fields; // fields that the query names, NULL-terminated
    bool *any;           // a run has the field
    size_t *at, n;       // indices in `runs`, in the requested order
    struct runs_column *columns;
    size_t n_columns;
    char **texts; // n times n_columns, if the query names columns
    bool failed;
};

static const char **fields_of(const struct wish *wish)
{
    size_t n = 0;
    const char **fields =
        mem_array(wish->where.n + strv_len(wish->columns) + 2, sizeof(const char *));
    for (char **c = wish->columns; c && *c; c++)
        fields[n++] = *c;
    for (size_t i = 0; i < wish->where.n; i++)
        fields[n++] = wish->where.terms[i].name;
    if (wish->sort)
        fields[n++] = wish->sort + (*wish->sort == '-');
    return fields;
}

// A field that cannot be read is reported once.
static void tell(struct shown *s, const err *e)
{
    if (e->code)
        cli_error(s->cli, e);
    s->failed = s->failed || e->code;
}

static void fill_columns(struct runs_column *columns, size_t n, const cJSON *row, char **texts)
{
    for (size_t k = 0; k < n; k++) {
        const cJSON *value = runs_field(row, columns[k].field);
        double ignored;
        if (k >= 2 && value && !json_number(value, &ignored))
            columns[k].right = false;
        texts[k] = column_text(&columns[k], row);
    }
}

// Keeps the run, and of its row what will be shown and what it is sorted by.
static void keep_run(struct shown *s, size_t i, const cJSON *row, cJSON **value)
{
    const char *sort = s->wish->sort;
    const cJSON *found = sort ? runs_field(row, sort + (*sort == '-')) : NULL;
    *value = found ? cJSON_Duplicate(found, true) : NULL;
    if (s->texts)
        fill_columns(s->columns, s->n_columns, row, s->texts + s->n * s->n_columns);
    s->at[s->n++] = i;
}

static void order_runs(struct shown *s, cJSON *const *values)
{
    size_t *order = mem_array(s->n + 1, sizeof *order), *at = mem_array(s->n + 1, sizeof *at);
    char **texts = s->texts ? mem_array(s->n * s->n_columns + 1, sizeof *texts) : NULL;
    for (size_t i = 0; i < s->n; i++)
        order[i] = i;
    runs_order(order, (const cJSON *const *)values, s->n, *s->wish->sort == '-');
    for (size_t i = 0; i < s->n; i++) {
        at[i] = s->at[order[i]];
        if (texts)
            memcpy(texts + i * s->n_columns, s->texts + order[i] * s->n_columns,
                s->n_columns * sizeof *texts);
    }
    free(order);
    free(s->at);
    free(s->texts);
    s->at = at;
    s->texts = texts;
}

static void choose_runs(struct shown *s)
{
    size_t all = runs_list_count(s->runs);
    for (size_t i = 0; i < all && !*s->fields; i++)
        s->at[s->n++] = i;
    if (!*s->fields)
        return;
    cJSON **values = mem_array(all + 1, sizeof *values);
    if (s->wish->columns && !s->wish->json)
        s->texts = mem_array(all * s->n_columns + 1, sizeof *s->texts);
    for (size_t i = 0; i < all; i++) {
        err e = {0};
        AUTO_JSON *row = runs_list_row(s->runs, i, s->fields, &e);
        tell(s, &e);
        for (size_t k = 0; s->fields[k]; k++)
            s->any[k] = s->any[k] || runs_field(row, s->fields[k]);
        if (runs_where_holds(&s->wish->where, row))
            keep_run(s, i, row, &values[s->n]);
    }
    if (s->wish->sort)
        order_runs(s, values);
    for (size_t i = 0; i < s->n; i++)
        cJSON_Delete(values[i]);
    free(values);
}

// Names the fields that no run has: they may be misspelt.
static void miss_fields(const struct shown *s)
{
    for (size_t k = 0; runs_list_count(s->runs) && s->fields[k]; k++) {
        if (s->any[k])
            continue;
        say_program(s->cli);
        say(stderr, "no run has \"%s\"\n", s->fields[k]);
    }
}

// The default columns of a list.
static void fill_usual(struct shown *s, size_t at, char **texts)
{
    err e = {0};
    const struct runs_brief *b = runs_list_brief(s->runs, at, &e);
    char started[RUNS_STARTED];
    bool read = !e.code;
    if (!*s->fields)
        tell(s, &e);
    *texts++ = mem_strdup(b->run);
    *texts++ = mem_strdup(b->state);
    *texts++ = mem_strdup(read ? runs_started(b->started, started) : "");
    *texts++ = read ? runs_took(b->state, b->took) : mem_strdup("");
    *texts++ = str_fmt("%lld/%lld", (long long)b->ok, (long long)b->cells);
    *texts++ = read ? number_text(b->failed) : mem_strdup("");
    *texts++ = read ? number_text(b->left) : mem_strdup("");
}

// Lists trials and measurements of all runs together, sorted like runs.
static cJSON *choose_children(struct shown *s)
{
    const char *sort = s->wish->sort;
    size_t n = 0, all = 0;
    AUTO_JSON *rows = cJSON_CreateArray();
    cJSON *chosen = cJSON_CreateArray();
    for (size_t i = 0; i < runs_list_count(s->runs); i++) {
        err e = {0};
        AUTO_JSON *run = runs_list_row(s->runs, i, NULL, &e);
        cJSON *list = cJSON_DetachItemFromObjectCaseSensitive(run, "children");
        tell(s, &e);
        while (list && list->child) {
            cJSON *row = cJSON_DetachItemViaPointer(list, list->child);
            char started[RUNS_STARTED];
            json_set_str(row, "started", runs_started(json_int_or(row, "began", 0), started));
            for (size_t k = 0; s->fields[k]; k++)
                s->any[k] = s->any[k] || runs_field(row, s->fields[k]);
            all++;
            if (runs_where_holds(&s->wish->where, row))
                cJSON_AddItemToArray(rows, row);
            else
                cJSON_Delete(row);
        }
        cJSON_Delete(list);
    }
    n = (size_t)cJSON_GetArraySize(rows);
    cJSON **sorted = mem_array(n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = cJSON_DetachItemFromArray(rows, 0);
    if (sort)
        runs_sort(sorted, n, sort);
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(chosen, sorted[i]);
    free(sorted);
    for (size_t k = 0; all && s->fields[k]; k++)
        if (!s->any[k]) {
            say_program(s->cli);
            say(stderr, "no trial has \"%s\"\n", s->fields[k]);
        }
    return chosen;
}

static void print_children(struct shown *s)
{
    size_t n = s->n_columns, i = 0;
    AUTO_JSON *rows = choose_children(s);
    if (s->wish->json) {
        say_json(rows, 2);
        return;
    }
    if (!rows->child) {
        say(stderr, "No run in this folder has such trials\n");
        return;
    }
    size_t n_rows = (size_t)cJSON_GetArraySize(rows);
    s->texts = mem_array(n * n_rows + 1, sizeof *s->texts);
    s->n = n_rows;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) fill_columns(s->columns, n, row, s->texts + n * i++);
    runs_print(s->cli, s->columns, n, s->texts, n_rows);
}

static void print_list(struct shown *s)
{
    size_t n = s->n_columns;
    if (!s->texts) {
        s->texts = mem_array(n * s->n + 1, sizeof *s->texts);
        for (size_t i = 0; i < s->n; i++)
            fill_usual(s, s->at[i], s->texts + i * n);
    }
    runs_print(s->cli, s->columns, n, s->texts, s->n);
}

static void print_json(struct shown *s)
{
    AUTO_JSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->n; i++) {
        err e = {0};
        cJSON_AddItemToArray(list, runs_list_row(s->runs, s->at[i], NULL, &e));
        if (!*s->fields)
            tell(s, &e);
    }
    say_json(list, 2);
}

static void print_runs(struct shown *s, const char *folder, size_t all)
{
    choose_runs(s);
    miss_fields(s);
    if (s->wish->json)
        print_json(s);
    else if (s->n)
        print_list(s);
    else if (all)
        say(stderr, "None of the %zu runs in %s/.firesteel is so\n", all, folder);
    else
        say(stderr, "There are no runs in %s/.firesteel\n", folder);
}

static void name_columns(struct shown *s)
{
    char **names = s->wish->columns;
    size_t usually = s->wish->children ? 4 : ARRAY_LEN(usual);
    s->n_columns = names ? 2 + strv_len(names) : usually;
    s->columns = mem_array(s->n_columns, sizeof *s->columns);
    for (size_t k = 0; k < s->n_columns; k++)
        s->columns[k] = k < 2 || !names
                            ? usual[k]
                            : (struct runs_column){names[k - 2], names[k - 2], .right = true};
}

static void shown_done(struct shown *s)
{
    for (size_t i = 0; s->texts && i < s->n * s->n_columns; i++)
        free(s->texts[i]);
    runs_list_close(s->runs);
    free(s->texts);
    free(s->columns);
    free(s->fields);
    free(s->any);
    free(s->at);
}

static int list_runs(struct cli *cli, const char *folder, const struct wish *wish)
{
    err e = {0};
    struct shown s = {cli, wish, .runs = runs_list_open(folder, &e)};
    if (!s.runs)
        return cli_error(cli, &e);
    size_t all = runs_list_count(s.runs);
    name_columns(&s);
    s.fields = fields_of(wish);
    s.any = mem_array(wish->where.n + strv_len(wish->columns) + 2, sizeof *s.any);
    s.at = mem_array(all + 1, sizeof *s.at);
    if (wish->children)
        print_children(&s);
    else
        print_runs(&s, folder, all);
    shown_done(&s);
    return s.failed ? 1 : 0;
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
    char **where = NULL, **rest = NULL, **best = NULL;
    struct wish wish = {0};
    bool compare = false;
    const struct option options[] = {
        {"where", 0, "CONDITION", "only such runs: 'lr<0.01 and state=ok'; again: all must hold",
            .list = &where},
        {"sort", 0, "FIELD", "by a field, as val_accuracy; -val_accuracy: the largest first",
            .text = &wish.sort},
        {"columns", 0, "FIELD,…",
            "these fields: of the run, parameters, metrics or tags; cpu_hours, gpu_hours, "
            "peak_memory, … of its pods",
            .text = &columns},
        {"children", 0, NULL, "the runs' trials and measurements, instead of the runs",
            .given = &wish.children},
        {"compare", 0, NULL,
            "the runs and trials that are named, beside one another: the parameters that differ, "
            "and metrics with the best marked",
            .given = &compare},
        {"best", 0, "METRIC=min|max|none", "with --compare: which values of it are the best",
            .list = &best},
        {"cwd", 0, "DIR", "working folder of the runs, instead of this one", .text = &cwd},
        {"output", 'o', "json|csv", "as JSON; with --compare also as CSV", .text = &output},
        {0},
    };
    AUTO_FREE char *folder = NULL;
    int code;
    err e = {0};
    if (options_parse(cli, &runs_verb, options, argc, argv, &rest, &code) == 0) {
        int wrong = 0;
        for (char **w = where; w && *w && !wrong; w++)
            wrong = condition_parse(&wish.where, *w, &e);
        wish.columns = columns ? split_names(columns) : NULL;
        wish.json = output != NULL;
        if (compare && (where || columns || wish.sort || wish.children))
            code = cli_usage(
                cli, &runs_verb, "--compare takes runs, --best, --cwd and --output alone");
        else if (best && !compare)
            code = cli_usage(cli, &runs_verb, "--best is of --compare");
        else if (compare)
            code = runs_compare(
                cli, folder = cli_runs_folder(cli, cwd, rest ? rest[0] : NULL), rest, best, output);
        else if (rest)
            code = cli_usage(cli, &runs_verb,
                "it takes no argument but options: %s; --compare shows runs beside one another",
                rest[0]);
        else if (output && !str_eq(output, "json"))
            code = cli_usage(cli, &runs_verb, "--output %s: it is json", output);
        else if (wrong)
            code = cli_usage(cli, &runs_verb, "--where: %s", e.text);
        else
            code = list_runs(cli, folder = cli_runs_folder(cli, cwd, NULL), &wish);
    }
    condition_done(&wish.where);
    strv_free(wish.columns);
    strv_free(where);
    strv_free(rest);
    strv_free(best);
    return code;
}

const struct verb runs_verb = {
    .name = "runs",
    .summary = "list the runs of this folder",
    .usage = "[--where CONDITION]… [--sort [-]FIELD] [--columns FIELD,…] [--children] [--cwd DIR] "
             "[-o json]\n       firesteel runs --compare RUN… [--best METRIC=min|max|none]… [-o "
             "json|csv]",
    .run = run,
    .takes_runs = true,
};
