// SPDX-License-Identifier: MIT
// Prints a finished run: titles, output, states and the summary.
#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "cli/print/print_private.h"
#include "script/journal/text.h"
#include "script/report/page/page.h"

#include <ctype.h>
#include <string.h>

static void put_plain(const struct cli *cli, const char *text, size_t n)
{
    AUTO_BUF page = {0};
    for (const char *end = text + n, *stop; text < end; text = stop + 1) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        stop = newline ? newline : end;
        buf_str(&page, stop > text ? "    " : "");
        buf_add(&page, text, (size_t)(stop - text));
        buf_char(&page, '\n');
    }
    say_text(cli, stdout, buf_cstr(&page), page.len);
}

void put_lines(const struct cli *cli, const char *text, size_t n, enum tone t)
{
    if (t == TONE_PLAIN) {
        put_plain(cli, text, n);
        return;
    }
    const char *end = text + n;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        if (stop > text) {
            say_tone(cli, t);
            say(stdout, "    ");
            say_text(cli, stdout, text, (size_t)(stop - text));
            say_tone(cli, TONE_PLAIN);
        }
        say(stdout, "\n");
        text = stop + 1;
    }
}

// The number of a code cell among code cells; 0 for others.
static size_t code_number(const notebook *nb, const char *id, size_t *total, const cell **c)
{
    size_t i, number = 0;
    *c = NULL;
    *total = 0;
    if (notebook_find(nb, id, &i) && (number = notebook_code_number(nb, i, total)) > 0)
        *c = notebook_cell(nb, i);
    return number;
}

void print_title(struct cli *cli, const fold *f, const char *id)
{
    size_t total;
    const cell *c;
    size_t number = code_number(fold_notebook(f), id, &total, &c);
    say_tone(cli, TONE_BOLD);
    say(stdout, "[%zu/%zu] ", number, total);
    if (c && c->title) {
        say_text(cli, stdout, c->title, strlen(c->title));
    } else if (c && cell_has_tag(c, "parameters")) {
        say(stdout, "Parameters");
    } else if (c) { // the first line with text
        const char *line = c->source + strspn(c->source, " \t\n");
        size_t n = strcspn(line, "\n"), limit = (size_t)cli->width - 16;
        while (n > limit || (n > 0 && (line[n] & 0xc0) == 0x80))
            n--;
        say_text(cli, stdout, line, n);
    }
    say_tone(cli, TONE_PLAIN);
}

void print_spoken(struct cli *cli, const fold *f, const char *id, const char *words)
{
    const notebook *nb = fold_notebook(f);
    size_t at;
    AUTO_BUF name = {0};
    if (nb && notebook_find(nb, id, &at)) {
        const cell *c = notebook_cell(nb, at);
        buf_fmt(&name, "cell %zu%s%s", at + 1, c->title ? " " : "", c->title ? c->title : "");
    }
    buf_fmt(&name, ": %s\n", words);
    say_text(cli, stdout, buf_cstr(&name), name.len);
}

void speak_cells(const cJSON *columns, const cJSON *cells, buf *out)
{
    const cJSON *column = columns ? columns->child : NULL, *item;
    cJSON_ArrayForEach(item, cells)
    {
        AUTO_FREE char *number = cJSON_IsNumber(item) ? str_fmt("%.10g", item->valuedouble) : NULL;
        const char *words = cJSON_IsString(item) ? item->valuestring : number;
        const char *name = column ? tabletext_column(column) : "";
        if (words && *words && (!column || !tabletext_is_wide(column)) &&
            strcasecmp(name, "age") != 0) {
            buf_str(out, out->len ? ", " : "");
            for (const char *c = name; *c; c++)
                buf_char(out, (char)tolower((unsigned char)*c));
            buf_fmt(out, " %s", words);
        }
        column = column ? column->next : NULL;
    }
}

void put_state(struct cli *cli, const struct run_cell *c)
{
    AUTO_BUF took = {0};
    if (c->mono_end - c->mono_start >= CLOCK_MS) {
        buf_char(&took, ' ');
        duration_format(&took, c->mono_end - c->mono_start);
    }
    enum tone t = c->state == STATE_OK       ? TONE_GOOD
                  : c->state == STATE_FAILED ? TONE_BAD
                                             : TONE_WARN;
    say(stdout, "    ");
    say_tone(cli, t);
    say(stdout, "%s", cell_state_name(c->state));
    say_tone(cli, TONE_DIM);
    say(stdout, "%s%s%s", buf_cstr(&took), *c->how ? ", " : "", c->how);
    say_tone(cli, TONE_PLAIN);
    say(stdout, "\n");
}

void put_error(struct cli *cli, const struct output *o)
{
    AUTO_BUF text = {0};
    buf_fmt(&text, "%s: ", o->name);
    output_text(o, NULL, 0, &text, NULL);
    put_lines(cli, text.data, text.len, TONE_BAD);
}

const cJSON *table_of(const struct output *o)
{
    for (const cJSON *part = o->data ? o->data->child : NULL; part; part = part->next)
        if (cJSON_IsArray(json_get(part, "columns")) && cJSON_IsArray(json_get(part, "rows")))
            return part;
    return NULL;
}

// In a table with a status, name and status are what people follow; in other tables the columns
// that are always shown. Ages are not strings, and not news.
static bool column_shown(const cJSON *column, bool has_status)
{
    const char *name = tabletext_column(column);
    if (tabletext_is_wide(column))
        return false;
    if (has_status)
        return strcasecmp(name, "name") == 0 || strcasecmp(name, "status") == 0;
    return strcasecmp(name, "age") != 0;
}

static size_t width_of(const char *text)
{
    return (size_t)text_width(text, strlen(text), 0);
}

// The widest texts so far, among rows that fit on a screen.
static void measure(struct row_look *look, const cJSON *rows)
{
    enum { ALIGNED = 100 };
    const cJSON *row = rows ? rows->child : NULL, *item;
    for (int n = 0; row && n < ALIGNED; n++, row = row->next) {
        size_t i = 0;
        cJSON_ArrayForEach(item, json_get(row, "cells"))
        {
            size_t width = cJSON_IsString(item) ? width_of(item->valuestring) : 0;
            if (i < look->n && width > look->columns[i].width)
                look->columns[i].width = width;
            i++;
        }
    }
}

static char *heading_of(const struct row_look *look, const cJSON *columns)
{
    const cJSON *column;
    AUTO_JSON *row = cJSON_CreateObject();
    cJSON *cells = cJSON_AddArrayToObject(row, "cells");
    AUTO_BUF text = {0};
    cJSON_ArrayForEach(column, columns)
    {
        cJSON_AddItemToArray(cells, cJSON_CreateString(tabletext_column(column)));
    }
    row_text(look, row, true, &text);
    return buf_take(&text);
}

struct row_look row_look(const cJSON *table)
{
    const cJSON *columns = json_get(table, "columns"), *column;
    struct row_look look = {0};
    bool has_status = false;
    look.columns = mem_array((size_t)cJSON_GetArraySize(columns) + 1, sizeof *look.columns);
    cJSON_ArrayForEach(column, columns)
    {
        has_status = has_status || strcasecmp(tabletext_column(column), "status") == 0;
    }
    cJSON_ArrayForEach(column, columns)
    {
        struct column_look *c = &look.columns[look.n++];
        c->shown = column_shown(column, has_status);
        c->width = has_status ? 0 : width_of(tabletext_column(column));
    }
    measure(&look, json_get(table, "rows"));
    look.heading = has_status ? NULL : heading_of(&look, columns);
    return look;
}

void row_look_done(struct row_look *look)
{
    free(look->columns);
    free(look->heading);
}

void row_text(const struct row_look *look, const cJSON *row, bool aligned, buf *out)
{
    const cJSON *item;
    size_t i = 0, pad = 0;
    cJSON_ArrayForEach(item, json_get(row, "cells"))
    {
        const struct column_look *column = i < look->n ? &look->columns[i] : NULL;
        i++;
        if (!cJSON_IsString(item) || !column || !column->shown)
            continue;
        buf_fmt(out, "%*s%s", (int)pad, "", item->valuestring);
        size_t n = width_of(item->valuestring), width = aligned ? column->width : n;
        pad = (width > n ? width - n : 0) + 3;
    }
    if (json_bool_or(row, "deleted", false))
        buf_fmt(out, "%*s(gone)", (int)pad, "");
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
}

static void put_warning(struct cli *cli, const char *before, const char *text, const char *after)
{
    say(stdout, "    ");
    say_tone(cli, TONE_WARN);
    say(stdout, "%s%s%s", before, text, after);
    say_tone(cli, TONE_PLAIN);
    say(stdout, "\n");
}

static const char *unfinished(const fold *f, enum cell_state state)
{
    if (fold_state(f) != RUN_KILLED || (state != STATE_RUNNING && state != STATE_QUEUED))
        return cell_state_name(state);
    return state == STATE_RUNNING ? "killed" : "not run";
}

bool put_left_out(struct cli *cli, const fold *f, const struct run_cell *c)
{
    const char *when = page_left_out(f, c->id);
    if (!when)
        return false;
    AUTO_FREE char *line = str_fmt("not run: when=\"%s\"", when);
    put_lines(cli, line, strlen(line), TONE_DIM);
    return true;
}

void print_cell(struct cli *cli, const fold *f, size_t i, const char *spool_dir)
{
    const struct run_cell *c = fold_cell(f, i);
    size_t total;
    const cell *doc;
    if (!code_number(fold_notebook(f), c->id, &total, &doc) && !c->n_outputs)
        return;
    if (fold_is_child(f) && !c->n_outputs) // other cells, and a cell's state, are not the child's
        return;
    print_title(cli, f, c->id);
    say(stdout, "\n");
    for (size_t k = 0; k < c->n_outputs; k++) {
        const struct output *o = &c->outputs[k];
        AUTO_BUF heading = {0};
        output_heading(c, k, &heading);
        put_lines(cli, buf_cstr(&heading), heading.len, TONE_DIM);
        AUTO_BUF text = {0};
        err e = {0};
        if (o->kind == OUTPUT_ERROR)
            put_error(cli, o);
        else if (output_text(o, spool_dir, 0, &text, &e) < 0)
            put_warning(cli, "[", e.text, "]");
        else
            put_lines(cli, buf_cstr(&text), text.len, TONE_PLAIN);
    }
    if (fold_is_child(f) || put_left_out(cli, f, c))
        return;
    if (c->ended && c->started)
        put_state(cli, c);
    else if (c->state != STATE_IDLE)
        put_warning(cli, "", unfinished(f, c->state), "");
}

// Prints the first cell that failed; false if none did.
static bool put_failure(struct cli *cli, const fold *f)
{
    const notebook *nb = fold_notebook(f);
    for (size_t i = 0; i < fold_count(f); i++) {
        const struct run_cell *c = fold_cell(f, i);
        size_t at;
        if (c->state != STATE_FAILED || !notebook_find(nb, c->id, &at))
            continue;
        const struct output *o = c->n_outputs ? &c->outputs[c->n_outputs - 1] : NULL;
        AUTO_BUF text = {0};
        notebook_cell_name(nb, at, &text);
        int64_t line = o && o->kind == OUTPUT_ERROR ? json_int_or(o->data, "line", 0) : 0;
        if (line)
            buf_fmt(&text, ", line %lld", (long long)line);
        if (o && o->kind == OUTPUT_ERROR)
            buf_fmt(&text, ": %s", o->text);
        say(stderr, "firesteel: %s\n", text.data);
        return true;
    }
    return false;
}

// A trial's or a measurement's state, and how long it took.
static void print_child_summary(struct cli *cli, const fold *f)
{
    AUTO_BUF took = {0};
    duration_format(&took, fold_duration(f));
    say_tone(cli, fold_state(f) == RUN_OK ? TONE_GOOD : TONE_WARN);
    say(stdout, "%s", run_state_name(fold_state(f)));
    say_tone(cli, TONE_PLAIN);
    say(stdout, " in %s (%s)\n", buf_cstr(&took), fold_run(f));
    fflush(stdout);
    if (fold_message(f))
        say(stderr, "firesteel: %s\n", fold_message(f));
}

void print_summary(struct cli *cli, const fold *f)
{
    if (fold_is_child(f)) {
        print_child_summary(cli, f);
        return;
    }
    size_t ok = 0, failed = 0, begun = 0, rest = 0;
    for (size_t i = 0; i < fold_count(f); i++) {
        const struct run_cell *c = fold_cell(f, i);
        size_t at;
        bool code =
            notebook_find(fold_notebook(f), c->id, &at) && notebook_counts(fold_notebook(f), at);
        ok += c->state == STATE_OK && code;
        failed += c->state == STATE_FAILED;
        begun += code && page_is_begun(c);
        rest += code && c->state != STATE_OK && c->state != STATE_FAILED && !page_is_begun(c);
    }
    AUTO_BUF took = {0};
    duration_format(&took, fold_duration(f));
    enum run_state state = fold_state(f);
    enum tone t = state == RUN_OK ? TONE_GOOD : state == RUN_RUNNING ? TONE_WARN : TONE_BAD;
    say_tone(cli, t);
    say(stdout, "%s", run_state_name(state));
    say_tone(cli, TONE_PLAIN);
    say(stdout, ": %zu %s ok", ok, ok == 1 ? "cell" : "cells");
    if (failed)
        say(stdout, ", %zu failed", failed);
    if (begun)
        say(stdout, ", %zu %s", begun, page_begun(f));
    if (rest)
        say(stdout, ", %zu not run", rest);
    say(stdout, " in %s%s (run %s)\n", buf_cstr(&took), state == RUN_KILLED ? " or more" : "",
        fold_run(f) ? fold_run(f) : "?");
    size_t left = fold_left_overs(f);
    if (left)
        say(stdout, "%zu left over: firesteel clean %s\n", left, fold_run(f) ? fold_run(f) : "");
    fflush(stdout);
    if (put_failure(cli, f))
        return;
    if (fold_message(f) && state != RUN_OK)
        say(stderr, "firesteel: %s\n", fold_message(f));
    else if (fold_error(f))
        say(stderr, "firesteel: %s\n", fold_error(f)->text);
}
