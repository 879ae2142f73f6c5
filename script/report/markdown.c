// SPDX-License-Identifier: MIT
// Prints a run as Markdown: results first, then its cells.
#include "base/text/markdown.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/origin.h"
#include "script/journal/text.h"
#include "script/report/export_private.h"
#include "script/report/markdown_output.h"
#include "script/report/page/page.h"

#include <string.h>

static void md_cell(struct export *x, const cell *c, buf *out)
{
    const struct run_cell *rc = fold_cell_by_id(x->fold, c->id, NULL);
    if (c->kind != CELL_CODE) {
        AUTO_FREE char *fence = markdown_open_fence(c->source, strlen(c->source));
        buf_fmt(out, "%s%s\n\n", c->source, fence ? fence : "");
        return;
    }
    if (c->title)
        buf_fmt(out, "### %s\n\n", c->title);
    const char *path = c->options.file ? c->options.file : c->options.template_;
    const char *dot = path ? strrchr(path, '.') : NULL;
    if (path)
        buf_fmt(out, "`%s`:\n\n", path);
    const char *own = notebook_language(fold_notebook(x->fold));
    const char *language = c->options.language ? c->options.language
                           : dot               ? dot + 1
                           : own               ? own
                                               : "lua";
    md_fenced(language, c->source, strlen(c->source), out);
    md_outputs(x, rc, out);
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
    AUTO_JSON *record = page_record(f), *results = fold_results(f);
    AUTO_FREE char *count = page_count(f);
    const cJSON *v;
    buf_fmt(out, "> Run `%s`: **%s**, %s, started %s, took %s\n\n", fold_run(f) ? fold_run(f) : "?",
        run_state_name(fold_state(f)), count, json_str_or(record, "started", "?"),
        json_str_or(record, "took", "?"));
    cJSON_ArrayForEach(v, record)
    {
        if (str_eq(v->string, "run") || str_eq(v->string, "started") || str_eq(v->string, "took"))
            continue;
        buf_fmt(out, "- %s: `%s`\n", v->string, v->valuestring);
    }
    cJSON_ArrayForEach(v, json_get(results, "params"))
    {
        AUTO_FREE char *value = json_to_str(v);
        buf_fmt(out, "- parameter `%s = %s`\n", v->string, value);
    }
    buf_char(out, '\n');
}

static void md_metrics(const fold *f, buf *out)
{
    AUTO_JSON *results = fold_results(f);
    const cJSON *metrics = json_get(results, "metrics"), *m;
    if (!metrics->child)
        return;
    buf_str(out, "| metric | last | step | values | least | most |\n"
                 "|---|---:|---:|---:|---:|---:|\n");
    cJSON_ArrayForEach(m, metrics)
    {
        static const char *const columns[] = {"value", "step", "n", "min", "max"};
        buf_str(out, "| ");
        md_entry(out, m->string);
        for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
            const cJSON *v = json_get(m, columns[i]);
            AUTO_FREE char *text = cJSON_IsNumber(v)   ? str_fmt("%.10g", v->valuedouble)
                                   : cJSON_IsString(v) ? mem_strdup(v->valuestring)
                                   : cJSON_IsRaw(v)    ? mem_strdup(v->valuestring)
                                                       : mem_strdup("");
            buf_fmt(out, " | %s", text);
        }
        buf_str(out, " |\n");
    }
    buf_char(out, '\n');
}

static void md_summary_row(const fold *f, size_t i, buf *out)
{
    const struct run_cell *c = fold_cell_by_id(f, notebook_cell(fold_notebook(f), i)->id, NULL);
    AUTO_FREE char *name = notebook_cell_title(fold_notebook(f), i);
    AUTO_BUF took = {0};
    if (c && c->started && c->ended)
        duration_format(&took, c->mono_end - c->mono_start);
    buf_fmt(out, "| %zu | ", notebook_code_number(fold_notebook(f), i, NULL));
    md_entry(out, name);
    const char *mark = c && c->state == STATE_FAILED ? "**" : "";
    buf_fmt(out, " | %s%s%s | %s |\n", mark, page_cell_state(f, i), mark, buf_cstr(&took));
}

static void md_failures(const fold *f, buf *out)
{
    const char *reason = page_reason(f);
    for (size_t i = 0; i < fold_count(f); i++) {
        const struct run_cell *c = fold_cell(f, i);
        for (size_t k = 0; c->state == STATE_FAILED && k < c->n_outputs; k++) {
            const struct output *o = &c->outputs[k];
            if (o->kind != OUTPUT_ERROR || i >= notebook_count(fold_notebook(f)))
                continue;
            AUTO_FREE char *name = notebook_cell_title(fold_notebook(f), i);
            AUTO_BUF text = {0};
            output_text(o, NULL, 0, &text, NULL);
            buf_fmt(out, "**%s** failed:\n\n", name);
            md_fenced("text", buf_cstr(&text), text.len, out);
        }
    }
    if (reason && (fold_error(f) || !fold_in_state(f, STATE_FAILED)))
        md_fenced("text", reason, strlen(reason), out);
}

static void md_summary(const fold *f, buf *out)
{
    const notebook *nb = fold_notebook(f);
    md_failures(f, out);
    buf_str(out, "| | cell | | took |\n|---:|---|---|---:|\n");
    for (size_t i = 0; i < notebook_count(nb); i++)
        if (notebook_cell(nb, i)->kind == CELL_CODE)
            md_summary_row(f, i, out);
    buf_char(out, '\n');
    md_metrics(f, out);
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

// Stands at the end: few readers need it, but those need all of it.
static void md_origin(const fold *f, buf *out)
{
    AUTO_BUF text = {0};
    origin_print(f, "", &text);
    if (!text.len)
        return;
    buf_str(out, "### Made by\n\n");
    md_fenced("text", text.data, text.len, out);
}

void export_md(struct export *x, buf *out)
{
    const notebook *nb = fold_notebook(x->fold);
    if (fold_run(x->fold)) {
        md_head(x->fold, out);
        md_summary(x->fold, out);
    }
    for (size_t i = 0; i < notebook_count(nb); i++)
        md_cell(x, notebook_cell(nb, i), out);
    md_left_overs(x->fold, out);
    md_origin(x->fold, out);
}
