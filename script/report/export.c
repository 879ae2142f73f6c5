// SPDX-License-Identifier: MIT
#include "script/report/export.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "script/journal/text.h"
#include "script/report/junit.h"

#include <string.h>

static const char *const names[] = {"ipynb", "md", "junit"}, *const ends[] = {
                                                                 ".ipynb", ".md", ".xml"};

bool export_format(const char *name, enum export_format *format)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!str_eq(name, names[i]) && !str_ends(name, ends[i]))
            continue;
        *format = (enum export_format)i;
        return true;
    }
    return false;
}

struct export
{
    const fold *fold;
    const char *spool_dir;
    size_t limit;
    err failure; // the first one
};

static cJSON *text_lines(const char *text, size_t n)
{
    cJSON *lines = cJSON_CreateArray();
    for (const char *end = text + n; text < end;) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline + 1 : end;
        AUTO_FREE char *line = mem_strndup(text, (size_t)(stop - text));
        cJSON_AddItemToArray(lines, cJSON_CreateString(line));
        text = stop;
    }
    return lines;
}

static void ipynb_stream(struct export *x, const struct output *o, cJSON *j)
{
    AUTO_BUF text = {0};
    if (output_bytes(o, x->spool_dir, x->limit, &text, &x->failure) < 0)
        return;
    json_set_str(j, "name", o->name);
    json_set(j, "text", text_lines(buf_cstr(&text), text.len));
}

static void ipynb_display(struct export *x, const struct output *o, cJSON *j, long count)
{
    cJSON *data = o->data ? cJSON_Duplicate(o->data, true) : cJSON_CreateObject();
    AUTO_BUF text = {0};
    output_text(o, x->spool_dir, x->limit, &text, &x->failure);
    json_set(data, "text/plain", text_lines(buf_cstr(&text), text.len - (text.len > 0)));
    json_set(j, "data", data);
    json_object_at(j, "metadata");
    if (o->result)
        json_set_int(j, "execution_count", count);
}

static void ipynb_error(const struct output *o, cJSON *j)
{
    json_set_str(j, "ename", o->name);
    json_set_str(j, "evalue", o->text);
    const cJSON *traceback = json_get(o->data, "traceback");
    json_set(j, "traceback", traceback ? cJSON_Duplicate(traceback, true) : cJSON_CreateArray());
}

static cJSON *ipynb_outputs(void *arg, const cell *c, size_t i, long *execution_count)
{
    struct export *x = arg;
    const struct run_cell *rc = fold_cell_by_id(x->fold, c->id, NULL);
    cJSON *outputs = cJSON_CreateArray();
    *execution_count = rc && rc->count > 0 ? rc->count : -1;
    for (size_t k = 0; rc && k < rc->n_outputs; k++) {
        const struct output *o = &rc->outputs[k];
        static const char *const types[] = {"stream", "display_data", "error"};
        cJSON *j = cJSON_CreateObject();
        json_set_str(j, "output_type", o->result ? "execute_result" : types[o->kind]);
        if (o->kind == OUTPUT_STREAM)
            ipynb_stream(x, o, j);
        else if (o->kind == OUTPUT_DISPLAY)
            ipynb_display(x, o, j, rc->count);
        else
            ipynb_error(o, j);
        cJSON_AddItemToArray(outputs, j);
    }
    return outputs;
}

// The language, for other tools' colours, and what papermill also says about a run.
static void ipynb_metadata(const fold *f, cJSON *metadata)
{
    if (!json_get(metadata, "language_info") && !notebook_language(fold_notebook(f))) {
        cJSON *language = json_object_at(metadata, "language_info");
        json_set_str(language, "file_extension", ".lua");
        json_set_str(language, "mimetype", "text/x-lua");
        json_set_str(language, "name", "lua");
    }
    AUTO_BUF when = {0};
    clock_rfc3339(&when, fold_started(f), CLOCK_SECONDS);
    cJSON *run = json_object_at(metadata, "firesteel");
    json_set_str(run, "run", fold_run(f));
    json_set_str(run, "state", run_state_name(fold_state(f)));
    json_set_str(run, "started", buf_cstr(&when));
    json_set(run, "duration", cJSON_CreateNumber((double)fold_duration(f) / CLOCK_SEC));
    const cJSON *parameters = fold_first(f) ? json_get(fold_first(f), "parameters") : NULL;
    if (parameters)
        json_set(run, "parameters", cJSON_Duplicate(parameters, true));
}

static void to_ipynb(struct export *x, buf *out)
{
    AUTO_JSON *j = notebook_to_ipynb(fold_notebook(x->fold), ipynb_outputs, x);
    ipynb_metadata(x->fold, json_object_at(j, "metadata"));
    json_print_pretty(out, j, 1);
    buf_char(out, '\n');
}

// A fence that is longer than any run of backticks in the text.
static void fenced(const char *language, const char *text, size_t n, buf *out)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < n; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    AUTO_BUF fence = {0};
    for (size_t i = 0; i <= longest; i++)
        buf_char(&fence, '`');
    buf_fmt(out, "%s%s\n", fence.data, language);
    buf_add(out, text, n);
    buf_fmt(out, "%s%s\n\n", n && text[n - 1] != '\n' ? "\n" : "", fence.data);
}

static void md_cell(struct export *x, const cell *c, buf *out)
{
    const struct run_cell *rc = fold_cell_by_id(x->fold, c->id, NULL);
    if (c->kind != CELL_CODE) {
        buf_fmt(out, "%s\n\n", c->source);
        return;
    }
    if (c->title)
        buf_fmt(out, "### %s\n\n", c->title);
    const char *path = c->options.file ? c->options.file : c->options.template_;
    const char *dot = path ? strrchr(path, '.') : NULL;
    if (path)
        buf_fmt(out, "`%s`:\n\n", path);
    const char *language = c->options.language ? c->options.language : dot ? dot + 1 : "lua";
    fenced(language, c->source, strlen(c->source), out);
    AUTO_BUF text = {0};
    for (size_t k = 0; rc && k < rc->n_outputs; k++)
        output_text(&rc->outputs[k], x->spool_dir, x->limit, &text, &x->failure);
    if (text.len)
        fenced("text", text.data, text.len, out);
    if (!rc || !rc->ended)
        return;
    AUTO_BUF took = {0};
    duration_format(&took, rc->mono_end - rc->mono_start);
    if (rc->started)
        buf_fmt(out, "*%s, %s*\n\n", cell_state_name(rc->state), buf_cstr(&took));
    else
        buf_str(out, "*not run*\n\n");
}

static void md_head(const fold *f, buf *out)
{
    AUTO_BUF when = {0}, took = {0};
    clock_rfc3339(&when, fold_started(f), CLOCK_SECONDS);
    duration_format(&took, fold_duration(f));
    buf_fmt(out, "> Run `%s`: **%s**, started %s, took %s", fold_run(f) ? fold_run(f) : "?",
        run_state_name(fold_state(f)), buf_cstr(&when), buf_cstr(&took));
    const char *host = fold_first(f) ? json_str(fold_first(f), "host") : NULL;
    if (host)
        buf_fmt(out, ", on %s", host);
    buf_str(out, "\n");
    const cJSON *parameters = fold_first(f) ? json_get(fold_first(f), "parameters") : NULL;
    for (const cJSON *p = parameters ? parameters->child : NULL; p; p = p->next) {
        AUTO_FREE char *value = json_to_str(p);
        buf_fmt(out, "> `%s = %s`\n", p->string, value);
    }
    buf_char(out, '\n');
}

static void md_left_overs(const fold *f, buf *out)
{
    if (!fold_left_overs(f))
        return;
    buf_str(out, "### Left over\n\n");
    for (size_t i = 0; i < fold_ledger_count(f); i++) {
        const struct ledger_entry *l = fold_ledger(f, i);
        if (ledger_left_over(l))
            buf_fmt(out, "- %s\n", l->what ? l->what : l->binding);
    }
    buf_fmt(out, "\n`firesteel clean %s` removes it.\n", fold_run(f));
}

static void to_md(struct export *x, buf *out)
{
    const notebook *nb = fold_notebook(x->fold);
    md_head(x->fold, out);
    for (size_t i = 0; i < notebook_count(nb); i++)
        md_cell(x, notebook_cell(nb, i), out);
    md_left_overs(x->fold, out);
}

int export_run(
    const fold *f, const char *spool_dir, enum export_format format, size_t limit, buf *out, err *e)
{
    struct export x = {.fold = f, .spool_dir = spool_dir, .limit = limit};
    AUTO_BUF text = {0};
    if (format == EXPORT_IPYNB) {
        to_ipynb(&x, &text);
        printable_json(out, text.data, text.len);
    } else if (format == EXPORT_JUNIT) {
        junit_print(f, spool_dir, &text);
        buf_add(out, text.data, text.len);
    } else {
        to_md(&x, &text);
        printable(out, text.data, text.len);
    }
    return x.failure.code ? err_set(e, x.failure.code, "%s", x.failure.text) : 0;
}
