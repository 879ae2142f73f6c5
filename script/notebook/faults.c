// SPDX-License-Identifier: MIT
#include "script/notebook/faults.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/plan.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void faults_done(struct faults *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->list[i].text);
    free(f->list);
    *f = (struct faults){0};
}

void faults_add(struct faults *f, long at, int line, const char *text)
{
    const struct fault one = {.cell = at, .line = line, .text = (char *)text, .source = "notebook"};
    faults_note(f, &one);
}

void faults_note(struct faults *f, const struct fault *one)
{
    f->list = mem_resize(f->list, f->n + 1, sizeof *f->list);
    f->list[f->n] = *one;
    f->list[f->n++].text = mem_strdup(one->text);
}

static const char *known_source(const char *name)
{
    static const char *const names[] = {
        "kubernetes", "dockerfile", "bash", "shellcheck", "python", "lua", "yaml", "json"};
    for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
        if (str_eq(names[i], name))
            return names[i];
    return "notebook";
}

void faults_add_findings(struct faults *f, const notebook *nb, const cJSON *findings)
{
    const cJSON *one;
    size_t i;
    cJSON_ArrayForEach(one, findings)
    {
        const char *id = json_str(one, "cell");
        if (!id || !notebook_find(nb, id, &i))
            continue;
        const struct fault fault = {.cell = (long)i,
            .line = (int)json_int_or(one, "line", 1),
            .text = (char *)json_str_or(one, "text", ""),
            .from = (size_t)json_int_or(one, "from", 0),
            .to = (size_t)json_int_or(one, "to", 0),
            .warning = !str_eq(json_str(one, "severity"), "error"),
            .source = known_source(json_str(one, "source"))};
        faults_note(f, &fault);
    }
}

cJSON *faults_json(const struct fault *f)
{
    cJSON *o = cJSON_CreateObject();
    json_set_int(o, "line", f->line);
    json_set_int(o, "from", (int64_t)f->from);
    json_set_int(o, "to", (int64_t)f->to);
    json_set_str(o, "severity", f->warning ? "warning" : "error");
    json_set_str(o, "text", f->text);
    json_set_str(o, "source", f->source);
    return o;
}

void faults_take(struct faults *f, struct faults *others)
{
    if (others->n) {
        f->list = mem_resize(f->list, f->n + others->n, sizeof *f->list);
        memcpy(f->list + f->n, others->list, others->n * sizeof *f->list);
        f->n += others->n;
    }
    free(others->list);
    *others = (struct faults){0};
}

static int by_place(const void *a, const void *b)
{
    const struct fault *x = a, *y = b;
    return x->cell != y->cell   ? (x->cell > y->cell) - (x->cell < y->cell)
           : x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                                : (x->from > y->from) - (x->from < y->from);
}

void faults_sort(struct faults *f)
{
    if (f->n)
        qsort(f->list, f->n, sizeof *f->list, by_place);
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void find_twin(const notebook *nb, size_t i, struct faults *f)
{
    size_t first;
    const cell *c = notebook_cell(nb, i);
    if (!notebook_find(nb, c->id, &first) || first == i)
        return;
    AUTO_BUF name = {0};
    notebook_cell_name(nb, first, &name);
    AUTO_FREE char *text = str_fmt("the id \"%s\" is that of %s too", c->id, buf_cstr(&name));
    faults_add(f, (long)i, 0, text);
}

// Does any cell name the variable, or does one's output become its value?
static bool has_name(const notebook *nb, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < notebook_count(nb); i++) {
        const cell *c = notebook_cell(nb, i);
        if (str_eq(c->options.capture, name))
            return true;
        const char *before = c->source;
        for (const char *at = before; (at = strstr(at, name)); at++)
            if ((at == before || !is_of_name(at[-1])) && !is_of_name(at[n]))
                return true;
    }
    return false;
}

// A word of which the notebook knows nothing would be nil: the cell never runs.
static void find_when(const notebook *nb, size_t i, struct faults *f)
{
    const cell *c = notebook_cell(nb, i);
    const char *meant = c->options.when ? options_when_meant(c->options.when) : NULL;
    if (!meant || c->problem || has_name(nb, c->options.when))
        return;
    err e = {0};
    options_refuse_when(c->options.when, meant, &e);
    err_wrap(&e, "option when");
    faults_add(f, (long)i, 0, e.text);
}

void faults_find(const notebook *nb, struct faults *f)
{
    err e = {0};
    if (!notebook_count(nb))
        faults_add(f, -1, 0, "it has no cells: there is nothing to run");
    if (notebook_is_undecided(nb))
        faults_add(f, -1, 0, notebook_undecided_words());
    for (size_t i = 0; i < notebook_count(nb) && !notebook_is_undecided(nb); i++) {
        struct plan plan = {0};
        const cell *c = notebook_cell(nb, i);
        find_twin(nb, i, f);
        find_when(nb, i, f);
        if (c->problem)
            faults_add(f, (long)i, 0, c->problem);
        if (!c->options.unclear && plan_text(nb, c, &plan, &e) < 0)
            faults_add(f, (long)i, plan.line, e.text);
        plan_done(&plan);
    }
}

// "line 12", or "cell 2 (Deploy), line 3" where the file has no lines.
static void print_place(const struct fault *f, const notebook *nb, bool numbered, buf *out)
{
    const cell *c = notebook_cell(nb, (size_t)f->cell);
    int line = f->line && c->first_line ? c->first_line + f->line - 1 : c->line;
    if (line)
        buf_fmt(out, "%s%d: ", numbered ? "" : "line ", line);
    else
        buf_str(out, numbered ? " " : "");
    if (!line || numbered)
        notebook_cell_name(nb, (size_t)f->cell, out);
    if (!line && f->line)
        buf_fmt(out, ", line %d", f->line);
    buf_str(out, line && !numbered ? "" : ": ");
}

void faults_print(const struct fault *f, const notebook *nb, const char *path, buf *out)
{
    buf_fmt(out, "%s:", path);
    if (f->cell >= 0)
        print_place(f, nb, true, out);
    else
        buf_char(out, ' ');
    buf_fmt(out, "%s%s\n", f->warning ? "warning: " : "", f->text);
}

void faults_say(const struct fault *f, const notebook *nb, buf *out)
{
    if (f->cell >= 0)
        print_place(f, nb, false, out);
    buf_str(out, f->text);
}

int notebook_check(const notebook *nb, err *e)
{
    CLEANUP(faults_done) struct faults all = {0};
    faults_find(nb, &all);
    if (!all.n)
        return 0;
    AUTO_BUF text = {0};
    faults_say(&all.list[0], nb, &text);
    return err_set(e, ERR_USAGE, "%s", buf_cstr(&text));
}
