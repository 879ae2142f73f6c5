// SPDX-License-Identifier: MIT
//   title, outcome · why it failed · record, parameters, metrics, curves · contents · cells
#include "script/report/html/html.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/embed.h"
#include "script/journal/text.h"
#include "script/report/html/html_charts.h"
#include "script/report/html/html_children.h"
#include "script/report/html/html_output.h"
#include "script/report/html/html_text.h"
#include "script/report/page/page.h"

#include <math.h>
#include <string.h>

extern const struct lua_source report_style[]; // chart.css, report.css

enum { SOURCE_OPEN = 16 }; // longer sources of cells are folded

struct page {
    const fold *fold;
    const notebook *nb;
    struct html_source from;
    buf *out;
    err failure; // the first one
};

static const struct run_cell *run_of(const struct page *p, size_t i)
{
    return fold_cell_by_id(p->fold, notebook_cell(p->nb, i)->id, NULL);
}

static const struct output *error_of(const struct run_cell *c)
{
    for (size_t i = 0; c && i < c->n_outputs; i++)
        if (c->outputs[i].kind == OUTPUT_ERROR)
            return &c->outputs[i];
    return NULL;
}

static void badge(struct page *p, const char *state)
{
    buf_fmt(p->out, "<span class=\"badge %s\">%s</span>", state, state);
}

static void named(struct page *p, const char *name, const char *value)
{
    buf_str(p->out, "<dt>");
    html_string(p->out, name);
    buf_str(p->out, "</dt><dd>");
    html_string(p->out, value);
    buf_str(p->out, "</dd>\n");
}

static void record(struct page *p)
{
    AUTO_JSON *all = page_record(p->fold);
    const cJSON *v;
    buf_str(p->out, "<dl>\n");
    cJSON_ArrayForEach(v, all) named(p, v->string, v->valuestring);
    buf_str(p->out, "</dl>\n");
}

static void params(struct page *p, const char *title, const cJSON *list)
{
    const cJSON *v;
    if (!list || !list->child)
        return;
    buf_fmt(p->out, "<h3>%s</h3>\n<dl>\n", title);
    cJSON_ArrayForEach(v, list)
    {
        AUTO_FREE char *text = html_value(v);
        named(p, v->string, cJSON_IsTrue(v) && str_eq(title, "Tags") ? "" : text);
    }
    buf_str(p->out, "</dl>\n");
}

static void cell_of_table(struct page *p, const cJSON *value)
{
    AUTO_FREE char *text = html_value(value);
    buf_str(p->out, "<td class=\"n\">");
    html_string(p->out, text);
    buf_str(p->out, "</td>");
}

static void metrics(struct page *p, const cJSON *list)
{
    static const char *const columns[] = {"value", "step", "n", "min", "max"};
    const cJSON *m;
    if (!list || !list->child)
        return;
    buf_str(p->out, "<h3>Metrics</h3>\n<div class=\"wide\"><table><thead><tr><th>metric</th>"
                    "<th class=\"n\">last</th><th class=\"n\">step</th><th class=\"n\">values</th>"
                    "<th class=\"n\">least</th><th class=\"n\">most</th></tr></thead>\n<tbody>\n");
    cJSON_ArrayForEach(m, list)
    {
        buf_str(p->out, "<tr><td>");
        html_string(p->out, m->string);
        buf_str(p->out, "</td>");
        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
            cell_of_table(p, json_get(m, columns[i]));
        buf_str(p->out, "</tr>\n");
    }
    buf_str(p->out, "</tbody></table></div>\n");
}

static void artifacts(struct page *p, const cJSON *list)
{
    const cJSON *a;
    if (!list || !list->child)
        return;
    buf_str(p->out, "<h3>Artifacts</h3>\n<dl>\n");
    cJSON_ArrayForEach(a, list)
    {
        AUTO_FREE char *text = str_fmt("%s, %lld bytes, sha256:%s", json_str_or(a, "path", ""),
            (long long)json_int_or(a, "size", 0), json_str_or(a, "sha256", ""));
        named(p, a->string, text);
    }
    buf_str(p->out, "</dl>\n");
}

static void results(struct page *p)
{
    AUTO_JSON *results = fold_results(p->fold), *history = fold_history(p->fold);
    AUTO_BUF curves = {0};
    params(p, "Parameters", json_get(results, "params"));
    metrics(p, json_get(results, "metrics"));
    params(p, "Tags", json_get(results, "tags"));
    artifacts(p, json_get(results, "artifacts"));
    html_curves(history, &curves);
    if (curves.len) {
        buf_str(p->out, "<div class=\"curves\">\n");
        buf_add(p->out, curves.data, curves.len);
        buf_str(p->out, "</div>\n");
    }
    html_children(p->fold, p->out);
}

static void link_to(struct page *p, size_t i)
{
    AUTO_FREE char *name = notebook_cell_title(fold_notebook(p->fold), i);
    buf_fmt(p->out, "<a href=\"#cell-%zu\">", i + 1);
    html_string(p->out, name);
    buf_str(p->out, "</a>");
}

static void failed_cells(struct page *p)
{
    for (size_t i = 0; i < notebook_count(p->nb); i++) {
        const struct run_cell *c = run_of(p, i);
        const struct output *error = c && c->state == STATE_FAILED ? error_of(c) : NULL;
        if (!c || c->state != STATE_FAILED)
            continue;
        buf_str(p->out, "<p>");
        link_to(p, i);
        if (error && json_int_or(error->data, "line", 0))
            buf_fmt(p->out, ", line %lld", (long long)json_int_or(error->data, "line", 0));
        buf_str(p->out, "</p>\n<pre>");
        html_string(p->out, error ? error->text : "it says nothing");
        buf_str(p->out, "</pre>\n");
    }
}

static void left_overs(struct page *p)
{
    if (!fold_left_overs(p->fold))
        return;
    buf_str(p->out, "<p>Left over elsewhere; <code>firesteel clean ");
    html_string(p->out, fold_run(p->fold));
    buf_str(p->out, "</code> removes it:</p>\n<ul>\n");
    for (size_t i = 0; i < fold_ledger_count(p->fold); i++) {
        const struct ledger_entry *l = fold_ledger(p->fold, i);
        if (!ledger_left_over(l))
            continue;
        buf_str(p->out, "<li>");
        html_string(p->out, l->what ? l->what : l->binding);
        buf_str(p->out, "</li>\n");
    }
    buf_str(p->out, "</ul>\n");
}

static void failures(struct page *p)
{
    bool failed = fold_in_state(p->fold, STATE_FAILED) > 0;
    const char *reason = page_reason(p->fold);
    if (fold_state(p->fold) == RUN_OK && !failed && !fold_left_overs(p->fold))
        return;
    buf_str(p->out, "<section class=\"fails\">\n<h2>What went wrong, and what is left</h2>\n");
    if (reason && (!failed || fold_error(p->fold))) {
        buf_str(p->out, "<pre>");
        html_string(p->out, reason);
        buf_str(p->out, "</pre>\n");
    }
    failed_cells(p);
    left_overs(p);
    buf_str(p->out, "</section>\n");
}

static void time_of(struct page *p, const struct run_cell *c)
{
    AUTO_BUF took = {0};
    if (!c || !c->started || !c->ended)
        return;
    duration_format(&took, c->mono_end - c->mono_start);
    buf_fmt(p->out, "<span class=\"time\">%s</span>", buf_cstr(&took));
}

static void contents(struct page *p)
{
    size_t total = 0;
    if (notebook_count(p->nb))
        notebook_code_number(p->nb, 0, &total);
    if (total < 2)
        return;
    buf_str(p->out, "<nav aria-label=\"Contents\">\n<b>Contents</b>\n<ol>\n");
    for (size_t i = 0; i < notebook_count(p->nb); i++) {
        const char *state = page_cell_state(p->fold, i);
        if (notebook_cell(p->nb, i)->kind != CELL_CODE)
            continue;
        buf_str(p->out, "<li>");
        link_to(p, i);
        if (fold_run(p->fold))
            buf_fmt(p->out, " <span class=\"time %s\">%s</span> ", state, state);
        time_of(p, run_of(p, i));
        buf_str(p->out, "</li>\n");
    }
    buf_str(p->out, "</ol>\n</nav>\n");
}

static size_t line_count(const char *text)
{
    size_t n = *text != '\0';
    for (; *text; text++)
        n += *text == '\n' && text[1];
    return n;
}

// The line that failed stands out.
static void source(struct page *p, const cell *c, int64_t failed)
{
    size_t n = line_count(c->source);
    const char *path = c->options.file ? c->options.file : c->options.template_;
    const char *own = notebook_language(p->nb);
    const char *language = c->options.language ? c->options.language
                           : path              ? ""
                           : own               ? own
                                               : "Lua";
    if (n == 0)
        return;
    buf_fmt(p->out, "<details%s><summary>", n <= SOURCE_OPEN || failed ? " open" : "");
    html_string(p->out, language);
    buf_fmt(p->out, "%s%zu line%s%s", *language ? ", " : "", n, n == 1 ? "" : "s",
        path ? ", written to " : "");
    html_string(p->out, path);
    buf_str(p->out, "</summary>\n<pre class=\"source\"><code>");
    const char *line = c->source;
    for (int64_t at = 1; *line; at++) {
        size_t length = strcspn(line, "\n");
        buf_str(p->out, at == failed ? "<mark>" : "");
        html_escape(p->out, line, length);
        buf_str(p->out, at == failed ? "</mark>\n" : "\n");
        line += length + (line[length] == '\n');
    }
    buf_str(p->out, "</code></pre></details>\n");
}

static void outputs(struct page *p, const struct run_cell *c)
{
    for (size_t i = 0; c && i < c->n_outputs; i++) {
        AUTO_BUF heading = {0};
        output_heading(c, i, &heading);
        if (heading.len) {
            buf_str(p->out, "<p><b>");
            html_escape(p->out, heading.data, heading.len - 1);
            buf_str(p->out, "</b></p>\n");
        }
        html_output(&c->outputs[i], &p->from, p->out, &p->failure);
    }
}

static void code(struct page *p, size_t i)
{
    const cell *c = notebook_cell(p->nb, i);
    const struct run_cell *rc = run_of(p, i);
    const struct output *error = error_of(rc);
    AUTO_FREE char *name = notebook_cell_title(fold_notebook(p->fold), i);
    buf_fmt(p->out, "<article id=\"cell-%zu\">\n<header><h2>", i + 1);
    html_string(p->out, name);
    buf_str(p->out, "</h2>");
    if (fold_run(p->fold))
        badge(p, page_cell_state(p->fold, i));
    if (rc && *rc->how)
        buf_fmt(p->out, "<span class=\"note\">%s</span>", rc->how);
    time_of(p, rc);
    buf_str(p->out, "</header>\n");
    source(
        p, c, error && !json_get(error->data, "origin") ? json_int_or(error->data, "line", 0) : 0);
    outputs(p, rc);
    buf_str(p->out, "</article>\n");
}

// The first heading is the page's title already.
static void text(struct page *p, const cell *c, bool first)
{
    const char *words = c->source;
    if (first && str_starts(words, "# "))
        words += strcspn(words, "\n");
    if (c->kind == CELL_MARKDOWN) {
        html_markdown(p->out, words, strlen(words));
        return;
    }
    buf_str(p->out, "<pre>");
    html_string(p->out, words);
    buf_str(p->out, "</pre>\n");
}

static void cells(struct page *p)
{
    bool heading = true;
    for (size_t i = 0; i < notebook_count(p->nb); i++) {
        const cell *c = notebook_cell(p->nb, i);
        if (c->kind == CELL_CODE)
            code(p, i);
        else
            text(p, c, heading);
        heading = heading && c->kind != CELL_CODE && !str_starts(c->source, "# ");
    }
}

static void head(struct page *p, const char *title)
{
    buf_str(p->out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'unsafe-inline'; img-src data:\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"generator\" content=\"firesteel " FIRESTEEL_VERSION "\">\n"
                    "<title>");
    html_string(p->out, title);
    if (fold_run(p->fold))
        buf_fmt(p->out, ": %s", run_state_name(fold_state(p->fold)));
    buf_str(p->out, "</title>\n<style>\n");
    for (const struct lua_source *s = report_style; s->name; s++)
        buf_add(p->out, s->text, s->n);
    buf_str(p->out, "</style>\n</head>\n<body>\n<main>\n");
}

static void top(struct page *p, const char *title)
{
    AUTO_FREE char *count = page_count(p->fold);
    buf_str(p->out, "<h1>");
    html_string(p->out, title);
    buf_str(p->out, "</h1>\n");
    if (!fold_run(p->fold)) // a notebook without a run
        return;
    buf_str(p->out, "<p class=\"lead\">");
    badge(p, run_state_name(fold_state(p->fold)));
    buf_fmt(p->out, " %s</p>\n", count);
    failures(p);
    record(p);
    results(p);
}

int html_print(const fold *f, const char *spool_dir, size_t limit, buf *out, err *e)
{
    struct page p = {.fold = f, .nb = fold_notebook(f), .from = {spool_dir, limit}, .out = out};
    AUTO_FREE char *title = page_title(f);
    head(&p, title);
    top(&p, title);
    contents(&p);
    cells(&p);
    buf_str(out,
        "<footer>A run of firesteel " FIRESTEEL_VERSION ". This page loads nothing and runs "
        "nothing.</footer>\n</main>\n</body>\n</html>\n");
    if (p.failure.code)
        return err_set(e, p.failure.code, "%s", p.failure.text);
    return 0;
}
