// SPDX-License-Identifier: MIT
// firesteel runs --compare: several runs and trials beside one another.
#include "base/json/csvtext.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs/runs.h"
#include "script/journal/runs/beside.h"
#include "script/journal/runs/runs.h"

#include <stdio.h>
#include <string.h>

static cJSON *row_of(const char *folder, const char *word, err *e)
{
    AUTO_FREE char *child = NULL;
    AUTO_FREE char *run = runs_pick_child(folder, NULL, word, &child, e);
    if (!run)
        return NULL;
    err unread = {0};
    cJSON *row = child ? runs_child_row(folder, run, child, e) : runs_row(folder, run, &unread);
    if (!child && unread.code) {
        cJSON_Delete(row);
        err_give(e, &unread);
        return NULL;
    }
    return row;
}

// "loss=max". The name is a copy.
static int read_told(const char *word, struct metric_told *to, err *e)
{
    const char *at = strrchr(word, '=');
    static const struct {
        const char *name;
        enum metric_best best;
    } ways[] = {{"min", METRIC_LEAST}, {"max", METRIC_GREATEST}, {"none", METRIC_UNKNOWN}};
    for (size_t i = 0; at && at > word && i < ARRAY_LEN(ways); i++)
        if (str_eq(at + 1, ways[i].name)) {
            *to = (struct metric_told){mem_strndup(word, (size_t)(at - word)), ways[i].best};
            return 0;
        }
    return err_set(e, ERR_USAGE, "--best %s: it is METRIC=min, METRIC=max or METRIC=none",
        str_short_line(word, 60).text);
}

static void print_table(const struct cli *cli, const cJSON *table)
{
    const cJSON *names = table->child, *row, *text;
    size_t n = (size_t)cJSON_GetArraySize(names), n_rows = (size_t)cJSON_GetArraySize(table) - 1,
           k = 0, i = 0;
    struct runs_column *columns = mem_array(n + 1, sizeof *columns);
    char **texts = mem_array(n * n_rows + 1, sizeof *texts);
    cJSON_ArrayForEach(text, names) columns[k++].title = text->valuestring;
    for (row = names->next; row; row = row->next)
        cJSON_ArrayForEach(text, row) texts[i++] = mem_strdup(text->valuestring);
    runs_print(cli, columns, n, texts, n_rows);
    for (i = 0; i < n * n_rows; i++)
        free(texts[i]);
    free(texts);
    free(columns);
}

// Marks are for people: programs read them in JSON.
static void print_csv(const cJSON *table)
{
    AUTO_BUF out = {0};
    const cJSON *row, *text;
    cJSON_ArrayForEach(row, table)
    {
        cJSON_ArrayForEach(text, row)
        {
            size_t n = strlen(text->valuestring);
            bool marked = row != table->child && text != row->child && n > 1 &&
                          text->valuestring[n - 1] == '*';
            if (text != row->child)
                buf_char(&out, ',');
            csvtext_print_field(&out, text->valuestring, n - marked, ',');
        }
        buf_char(&out, '\n');
    }
    say_file(buf_cstr(&out), out.len);
}

static void show(const struct cli *cli, cJSON *const *rows, size_t n,
    const struct metric_told *told, const char *output)
{
    AUTO_JSON *beside = runs_beside(rows, n, told);
    AUTO_JSON *table = runs_beside_table(beside);
    const cJSON *same = json_get(beside, "same"), *p;
    if (str_eq(output, "json")) {
        say_json(beside, 2);
        return;
    }
    if (output) {
        print_csv(table);
        return;
    }
    print_table(cli, table);
    if (!same || !same->child)
        return;
    say(stdout, "all:");
    cJSON_ArrayForEach(p, same)
    {
        AUTO_FREE char *text = runs_text(p);
        say(stdout, " %s=%s", p->string, str_short_line(text, 60).text);
    }
    say(stdout, "\n");
}

int runs_compare(
    struct cli *cli, const char *folder, char *const *words, char *const *best, const char *output)
{
    size_t n = words ? strv_len(words) : 0, n_told = best ? strv_len(best) : 0, read = 0;
    err e = {0};
    if (n < 2)
        return cli_usage(cli, &runs_verb, "--compare takes two runs or more");
    if (output && !str_eq(output, "json") && !str_eq(output, "csv"))
        return cli_usage(cli, &runs_verb, "--output %s: it is json or csv", output);
    struct metric_told *told = mem_array(n_told + 1, sizeof *told);
    cJSON **rows = mem_array(n + 1, sizeof *rows);
    for (size_t i = 0; i < n_told && !e.code; i++)
        read_told(best[i], &told[i], &e);
    for (; read < n && !e.code; read++)
        rows[read] = row_of(folder, words[read], &e);
    if (e.code)
        cli_error(cli, &e);
    else
        show(cli, rows, n, told, output);
    for (size_t i = 0; i < read; i++)
        cJSON_Delete(rows[i]);
    for (size_t i = 0; i < n_told; i++)
        free((char *)told[i].name);
    free(rows);
    free(told);
    return e.code ? 2 : 0;
}
