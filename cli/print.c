// SPDX-License-Identifier: MIT
#include "cli/print.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/spool.h"
#include "script/journal/text.h"

#include <stdio.h>
#include <string.h>

struct printer {
    struct cli *cli;
    const fold *fold;
    char *spool_dir;
    buf pending;      // output without its newline yet
    char *pending_of; // "cell stream" it belongs to
    char *shown;      // the cell whose title was printed last
    bool drawn;       // is a line on the terminal that will be redrawn?
    cJSON *rows;      // last printed text of live rows: {"display/uid": text}
};

const char *tone(const struct cli *cli, enum tone t)
{
    static const char *const codes[] = {
        "\033[0m", "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[33m"};
    return cli->colour ? codes[t] : "";
}

printer *printer_new(struct cli *cli, const fold *f)
{
    printer *p = mem_alloc(sizeof *p);
    p->cli = cli;
    p->fold = f;
    p->rows = cJSON_CreateObject();
    return p;
}

void printer_free(printer *p)
{
    if (!p)
        return;
    free(p->spool_dir);
    free(p->pending_of);
    free(p->shown);
    buf_done(&p->pending);
    cJSON_Delete(p->rows);
    free(p);
}

void printer_spools(printer *p, const char *dir)
{
    free(p->spool_dir);
    p->spool_dir = mem_strdup(dir);
}

// UTF-8 as the terminal can show it: others see '?' for what is not ASCII.
static void put_text(const struct cli *cli, const char *text, size_t n, FILE *to)
{
    if (cli->utf8) {
        fwrite(text, 1, n, to);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            fputc(text[i] & 0x80 ? '?' : text[i], to);
}

static void put_lines(const struct cli *cli, const char *text, size_t n, enum tone t)
{
    const char *end = text + n;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        if (stop > text) {
            fputs(t == TONE_PLAIN ? "    " : tone(cli, t), stdout);
            if (t != TONE_PLAIN)
                fputs("    ", stdout);
            put_text(cli, text, (size_t)(stop - text), stdout);
            if (t != TONE_PLAIN)
                fputs(tone(cli, TONE_PLAIN), stdout);
        }
        fputc('\n', stdout);
        text = stop + 1;
    }
}

void printer_clear(printer *p)
{
    if (!p->drawn)
        return;
    fputs("\r\033[2K", stdout);
    p->drawn = false;
}

// Shows one line that the next output replaces; on a terminal only.
static void draw(printer *p, const char *text, size_t n)
{
    if (!p->cli->out_tty)
        return;
    size_t room = (size_t)p->cli->width - 5, used = 0, columns = 0;
    while (used < n && text[used] != '\n' && columns < room) {
        size_t len = utf8_len(text + used, n - used);
        used += len ? len : 1;
        columns++;
    }
    fputs("\r\033[2K    ", stdout);
    put_text(p->cli, text, used, stdout);
    fflush(stdout);
    p->drawn = true;
}

static void end_pending(printer *p)
{
    printer_clear(p);
    if (!p->pending.len)
        return;
    AUTO_BUF raw = {0}, text = {0};
    utf8_clean(&raw, p->pending.data, p->pending.len);
    text_settle(raw.data, raw.len, &text);
    put_lines(p->cli, buf_cstr(&text), text.len, TONE_PLAIN);
    buf_clear(&p->pending);
}

// Whole lines go out; the rest waits, and is shown meanwhile on a terminal.
static void put_output(printer *p, const char *text, size_t n)
{
    enum { LONGEST = 1 << 20 };
    buf_add(&p->pending, text, n);
    size_t whole = p->pending.len;
    while (whole > 0 && p->pending.data[whole - 1] != '\n')
        whole--;
    if (whole == 0 && p->pending.len > LONGEST)
        whole = p->pending.len - utf8_partial(p->pending.data, p->pending.len);
    if (whole > 0) {
        AUTO_BUF raw = {0}, settled = {0};
        utf8_clean(&raw, p->pending.data, whole);
        text_settle(raw.data, raw.len, &settled);
        printer_clear(p);
        put_lines(p->cli, buf_cstr(&settled), settled.len, TONE_PLAIN);
        buf_consume(&p->pending, whole);
    }
    if (p->pending.len && p->cli->out_tty) {
        AUTO_BUF settled = {0};
        text_settle(p->pending.data, p->pending.len, &settled);
        draw(p, buf_cstr(&settled), settled.len);
    }
}

static void put_spooled(printer *p, const cJSON *event)
{
    uint64_t from = (uint64_t)json_int_or(event, "from", 0),
             to = (uint64_t)json_int_or(event, "to", 0);
    spool *s = p->spool_dir ? spool_open(p->spool_dir, json_str(event, "spool"), NULL) : NULL;
    while (s && from < to) {
        AUTO_BUF bytes = {0};
        uint64_t stop = to - from > 1 << 18 ? from + (1 << 18) : to;
        if (spool_read(s, from, stop, &bytes, NULL) < 0 || !bytes.len)
            break;
        put_output(p, bytes.data, bytes.len);
        from += bytes.len;
    }
    spool_close(s);
}

// Number of a code cell among code cells; 0 for others.
static size_t code_number(const notebook *nb, const char *id, size_t *total, const cell **c)
{
    size_t number = 0;
    *total = 0;
    *c = NULL;
    for (size_t i = 0; i < notebook_count(nb); i++) {
        const cell *one = notebook_cell(nb, i);
        if (one->kind != CELL_CODE)
            continue;
        ++*total;
        if (str_eq(one->id, id))
            number = *total, *c = one;
    }
    return number;
}

void print_title(struct cli *cli, const fold *f, const char *id, buf *out)
{
    size_t total;
    const cell *c;
    size_t number = code_number(fold_notebook(f), id, &total, &c);
    buf_fmt(out, "%s[%zu/%zu] ", tone(cli, TONE_BOLD), number, total);
    if (c && c->title) {
        buf_str(out, c->title);
    } else if (c && cell_has_tag(c, "parameters")) {
        buf_str(out, "Parameters");
    } else if (c) { // the first line that says something
        const char *line = c->source + strspn(c->source, " \t\n");
        size_t n = strcspn(line, "\n"), limit = (size_t)cli->width - 16;
        while (n > limit || (n > 0 && (line[n] & 0xc0) == 0x80))
            n--;
        buf_add(out, line, n);
    }
    buf_str(out, tone(cli, TONE_PLAIN));
}

// Live views of earlier cells go on: their title comes again before what they say.
static void show_title(printer *p, const char *id, bool starts)
{
    if (!starts && str_eq(id, p->shown))
        return;
    end_pending(p);
    AUTO_BUF title = {0};
    print_title(p->cli, p->fold, id, &title);
    put_text(p->cli, title.data, title.len, stdout);
    const struct run_cell *c = fold_cell_by_id(p->fold, id, NULL);
    printf("%s\n", c && c->state != STATE_RUNNING ? " (live)" : "");
    free(p->shown);
    p->shown = mem_strdup(id);
}

static void on_stream(printer *p, const cJSON *event)
{
    AUTO_FREE char *of =
        str_fmt("%s %s", json_str_or(event, "cell", ""), json_str_or(event, "name", ""));
    if (!str_eq(of, p->pending_of)) {
        end_pending(p);
        free(p->pending_of);
        p->pending_of = STEAL(of);
    }
    show_title(p, json_str_or(event, "cell", ""), false);
    const char *text = json_str(event, "text");
    if (json_str(event, "spool"))
        put_spooled(p, event);
    else if (text)
        put_output(p, text, strlen(text));
}

static void put_state(struct cli *cli, const struct run_cell *c)
{
    AUTO_BUF took = {0};
    if (c->mono_end - c->mono_start >= CLOCK_MS) {
        buf_char(&took, ' ');
        duration_format(&took, c->mono_end - c->mono_start);
    }
    enum tone t = c->state == STATE_OK       ? TONE_GOOD
                  : c->state == STATE_FAILED ? TONE_BAD
                                             : TONE_WARN;
    printf("    %s%s%s%s%s%s\n", tone(cli, t), cell_state_name(c->state), tone(cli, TONE_DIM),
        buf_cstr(&took), c->resumed ? ", verified" : "", tone(cli, TONE_PLAIN));
}

static void on_state(printer *p, const cJSON *event)
{
    const char *id = json_str_or(event, "cell", "");
    const struct run_cell *c = fold_cell_by_id(p->fold, id, NULL);
    if (!c || (c->state != STATE_RUNNING && !c->ended) || !c->started)
        return;
    end_pending(p);
    if (c->state == STATE_RUNNING) {
        show_title(p, id, true);
    } else if (c->state != STATE_QUEUED && c->state != STATE_STALE) {
        put_state(p->cli, c);
    }
}

static const char *progress_text(const struct output *o)
{
    return json_get(o->data, "application/vnd.firesteel.progress+json")
               ? json_str(o->data, "text/plain")
               : NULL;
}

static const cJSON *table_of(const struct output *o)
{
    for (const cJSON *part = o->data ? o->data->child : NULL; part; part = part->next)
        if (cJSON_IsArray(json_get(part, "columns")) && cJSON_IsArray(json_get(part, "rows")))
            return part;
    return NULL;
}

static const char *column_name(const cJSON *table, int i)
{
    const cJSON *column = cJSON_GetArrayItem(json_get(table, "columns"), i);
    return cJSON_IsString(column) ? column->valuestring : json_str_or(column, "name", "");
}

// The widest text that column i has by now.
static size_t column_width(const cJSON *table, int i)
{
    size_t width = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, json_get(table, "rows"))
    {
        const cJSON *item = cJSON_GetArrayItem(json_get(row, "cells"), i);
        size_t n = cJSON_IsString(item) ? strlen(item->valuestring) : 0;
        width = n > width ? n : width;
    }
    return width;
}

// Of a table with a status, name and status are what people follow; of others all but the age, or
// every row would differ each second.
static bool column_shown(const cJSON *table, int i)
{
    bool has_status = false;
    for (int k = 0; k < cJSON_GetArraySize(json_get(table, "columns")); k++)
        has_status = has_status || strcasecmp(column_name(table, k), "status") == 0;
    const char *name = column_name(table, i);
    if (has_status)
        return strcasecmp(name, "name") == 0 || strcasecmp(name, "status") == 0;
    return strcasecmp(name, "age") != 0;
}

// A row in one line.
static void row_text(const cJSON *table, const cJSON *row, bool aligned, buf *out)
{
    const cJSON *item;
    int i = -1, pad = 0;
    cJSON_ArrayForEach(item, json_get(row, "cells"))
    {
        i++;
        if (!cJSON_IsString(item) || !column_shown(table, i))
            continue;
        buf_fmt(out, "%*s%s", pad, "", item->valuestring);
        size_t n = strlen(item->valuestring), width = aligned ? column_width(table, i) : n;
        pad = (int)(width > n ? width - n : 0) + 3;
    }
    if (json_bool_or(row, "deleted", false))
        buf_fmt(out, "%*s(gone)", pad, "");
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
}

// Says what is new under this key; false when it was said already.
static bool is_news(printer *p, const struct output *o, const char *key, const char *text)
{
    AUTO_FREE char *whole = str_fmt("%lld/%s", (long long)o->id, key);
    if (str_eq(json_str(p->rows, whole), text))
        return false;
    json_set_str(p->rows, whole, text);
    return true;
}

static void put_row(printer *p, const struct output *o, const char *below, const cJSON *row)
{
    AUTO_BUF news = {0}, text = {0};
    row_text(table_of(o), row, false, &news);
    if (!is_news(p, o, json_str_or(row, "uid", ""), buf_cstr(&news)) || !news.len)
        return;
    row_text(table_of(o), row, true, &text);
    show_title(p, below, false);
    end_pending(p);
    put_lines(p->cli, text.data, text.len, TONE_PLAIN);
}

// The whole of a live table: only the rows that are news, and a changed note on its age.
static void put_table(printer *p, const struct output *o, const char *below)
{
    const cJSON *table = table_of(o), *row;
    cJSON_ArrayForEach(row, json_get(table, "rows"))
    {
        put_row(p, o, below, row);
    }
    const char *note = json_str_or(table, "note", "");
    AUTO_FREE char *reason = mem_strdup(strchr(note, ':') ? strchr(note, ':') + 1 : note);
    if (is_news(p, o, "note", reason) && *note) {
        end_pending(p);
        put_lines(p->cli, note, strlen(note), TONE_WARN);
    }
}

// The cell that a display stands below; "" if none.
static const char *cell_of(const printer *p, int64_t display)
{
    for (size_t i = 0; i < fold_count(p->fold); i++) {
        const struct run_cell *c = fold_cell(p->fold, i);
        for (size_t k = 0; k < c->n_outputs; k++)
            if (c->outputs[k].kind == OUTPUT_DISPLAY && c->outputs[k].id == display)
                return c->id;
    }
    return "";
}

static void on_display(printer *p, const cJSON *event)
{
    const struct output *o = fold_display(p->fold, json_int_or(event, "id", -1));
    if (!o)
        return;
    const char *progress = progress_text(o), *below = cell_of(p, o->id);
    if (progress && o->live) {
        draw(p, progress, strlen(progress));
        return;
    }
    if (progress && !p->cli->out_tty)
        return; // its end says nothing that the output has not said
    if (o->live && table_of(o)) {
        put_table(p, o, below);
        return;
    }
    AUTO_BUF text = {0};
    output_text(o, p->spool_dir, 0, &text, NULL);
    if (!text.len)
        return;
    show_title(p, below, false);
    end_pending(p);
    put_lines(p->cli, text.data, text.len, TONE_PLAIN);
}

static void on_update(printer *p, const cJSON *event)
{
    const struct output *o = fold_display(p->fold, json_int_or(event, "id", -1));
    if (!o)
        return;
    const char *below = cell_of(p, o->id);
    const cJSON *row;
    cJSON_ArrayForEach(row, json_get(event, "rows"))
    {
        put_row(p, o, below, row);
    }
    if (json_get(event, "data") && table_of(o))
        put_table(p, o, below);
    else if (json_get(event, "data"))
        on_display(p, event);
}

static void put_error(struct cli *cli, const struct output *o)
{
    AUTO_BUF text = {0};
    buf_fmt(&text, "%s: ", o->name);
    output_text(o, NULL, 0, &text, NULL);
    put_lines(cli, text.data, text.len, TONE_BAD);
}

static void on_error(printer *p, const cJSON *event)
{
    const struct run_cell *c = fold_cell_by_id(p->fold, json_str_or(event, "cell", ""), NULL);
    end_pending(p);
    if (c && c->n_outputs && c->outputs[c->n_outputs - 1].kind == OUTPUT_ERROR)
        put_error(p->cli, &c->outputs[c->n_outputs - 1]);
}

// What reaches beyond this machine is said when it begins.
static void on_ledger(printer *p, const cJSON *event)
{
    const char *effect = json_str(event, "effect"), *what = json_str(event, "what");
    if (!str_eq(json_str(event, "phase"), "intent") || !what || str_eq(effect, "local"))
        return;
    end_pending(p);
    AUTO_BUF line = {0};
    buf_fmt(&line, "%s: %s", effect, what);
    put_lines(p->cli, line.data, line.len, TONE_DIM);
}

static void on_kernel(printer *p, const cJSON *event)
{
    const char *state = json_str(event, "state"), *message = json_str(event, "message");
    if (!message && !str_eq(state, "wedged"))
        return;
    end_pending(p);
    AUTO_BUF line = {0};
    buf_fmt(&line, "kernel: %s", message ? message : state);
    put_lines(p->cli, line.data, line.len, TONE_WARN);
}

void printer_event(printer *p, const cJSON *event)
{
    static const struct {
        const char *type;
        void (*print)(printer *p, const cJSON *event);
    } handlers[] = {{"stream", on_stream}, {"state", on_state}, {"display", on_display},
        {"update", on_update}, {"error", on_error}, {"ledger", on_ledger}, {"kernel", on_kernel}};
    for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
        if (str_eq(json_str(event, "type"), handlers[i].type))
            handlers[i].print(p, event);
    if (str_eq(json_str(event, "type"), "end"))
        end_pending(p);
    fflush(stdout);
}

void print_cell(struct cli *cli, const fold *f, size_t i, const char *spool_dir)
{
    const struct run_cell *c = fold_cell(f, i);
    size_t total;
    const cell *doc;
    if (!code_number(fold_notebook(f), c->id, &total, &doc) && !c->n_outputs)
        return;
    AUTO_BUF title = {0};
    print_title(cli, f, c->id, &title);
    put_text(cli, title.data, title.len, stdout);
    fputc('\n', stdout);
    for (size_t k = 0; k < c->n_outputs; k++) {
        const struct output *o = &c->outputs[k];
        AUTO_BUF text = {0};
        err e = {0};
        if (o->kind == OUTPUT_ERROR)
            put_error(cli, o);
        else if (output_text(o, spool_dir, 0, &text, &e) < 0)
            printf("    %s[%s]%s\n", tone(cli, TONE_WARN), e.text, tone(cli, TONE_PLAIN));
        else
            put_lines(cli, buf_cstr(&text), text.len, TONE_PLAIN);
    }
    if (c->ended && c->started)
        put_state(cli, c);
    else if (c->state != STATE_IDLE)
        printf(
            "    %s%s%s\n", tone(cli, TONE_WARN), cell_state_name(c->state), tone(cli, TONE_PLAIN));
}

// The first cell that failed: false if none did.
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
        fprintf(stderr, "firesteel: %s\n", text.data);
        return true;
    }
    return false;
}

void print_summary(struct cli *cli, const fold *f)
{
    size_t ok = 0, failed = 0, rest = 0;
    for (size_t i = 0; i < fold_count(f); i++) {
        const struct run_cell *c = fold_cell(f, i);
        size_t total;
        const cell *doc;
        bool code = code_number(fold_notebook(f), c->id, &total, &doc) > 0;
        ok += c->state == STATE_OK && code;
        failed += c->state == STATE_FAILED;
        rest += code && c->state != STATE_OK && c->state != STATE_FAILED;
    }
    AUTO_BUF took = {0};
    duration_format(&took, fold_duration(f));
    enum run_state state = fold_state(f);
    enum tone t = state == RUN_OK ? TONE_GOOD : state == RUN_RUNNING ? TONE_WARN : TONE_BAD;
    printf("%s%s%s: %zu cells ok", tone(cli, t), run_state_name(state), tone(cli, TONE_PLAIN), ok);
    if (failed)
        printf(", %zu failed", failed);
    if (rest)
        printf(", %zu not run", rest);
    printf(" in %s (run %s)\n", buf_cstr(&took), fold_run(f) ? fold_run(f) : "?");
    size_t left = fold_left_overs(f);
    if (left)
        printf("%zu left over: firesteel clean %s\n", left, fold_run(f) ? fold_run(f) : "");
    fflush(stdout);
    if (put_failure(cli, f))
        return;
    if (fold_message(f) && state != RUN_OK)
        fprintf(stderr, "firesteel: %s\n", fold_message(f));
    else if (fold_error(f))
        fprintf(stderr, "firesteel: %s\n", fold_error(f)->text);
}
