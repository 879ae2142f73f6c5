// SPDX-License-Identifier: MIT
#include "script/journal/compare/compare.h"

#include "base/clock.h"
#include "base/data/linediff.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/runs/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct both {
    const struct compared *a, *b;
    const notebook *nb_a, *nb_b;
    size_t *partner; // of a's cells
    cJSON *out;
    bool differs; // something that was computed differs
};

static cJSON *head(const fold *f)
{
    cJSON *h = cJSON_CreateObject();
    AUTO_BUF when = {0};
    clock_rfc3339(&when, fold_started(f), CLOCK_SECONDS);
    json_set_str(h, "run", fold_run(f));
    json_set_str(h, "state", run_state_name(fold_state(f)));
    json_set_str(h, "started", buf_cstr(&when));
    json_set(h, "seconds", cJSON_CreateNumber((double)fold_duration(f) / CLOCK_SEC));
    json_set_str(h, "notebook", json_str(fold_first(f), "path"));
    return h;
}

static bool equal(const cJSON *a, const cJSON *b)
{
    return (!a && !b) || (a && b && json_equal(a, b));
}

static void add_pair(cJSON *to, const char *name, const cJSON *a, const cJSON *b)
{
    cJSON *pair = json_object_at(to, name);
    if (a)
        json_set(pair, "a", cJSON_Duplicate(a, true));
    if (b)
        json_set(pair, "b", cJSON_Duplicate(b, true));
}

static const cJSON *shown_value(const cJSON *entry, const char *member)
{
    return entry && member ? json_get(entry, member) : entry;
}

// Adds the members of two objects that differ: of each only `member`, or all of it if that is NULL.
static void add_members(cJSON *to, const cJSON *a, const cJSON *b, const char *member)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, a)
    {
        const cJSON *x = shown_value(m, member), *y = shown_value(json_get(b, m->string), member);
        if (!equal(x, y))
            add_pair(to, m->string, x, y);
    }
    cJSON_ArrayForEach(m, b) if (!json_get(a, m->string))
        add_pair(to, m->string, NULL, shown_value(m, member));
}

static void add_list(struct both *w, const char *name, const cJSON *a, const cJSON *b,
    const char *member, bool computed)
{
    cJSON *list = cJSON_CreateObject();
    add_members(list, json_get(a, name), json_get(b, name), member);
    if (list->child) {
        w->differs |= computed;
        json_set(w->out, name, list);
    } else
        cJSON_Delete(list);
}

// Of a metric also by how much it moved.
static void add_changes(cJSON *metrics)
{
    cJSON *m;
    cJSON_ArrayForEach(m, metrics)
    {
        const cJSON *a = json_get(m, "a"), *b = json_get(m, "b");
        double was, is;
        if (json_number(a, &was) && json_number(b, &is))
            json_set(m, "change", cJSON_CreateNumber(is - was));
    }
}

// Objects that the runs made: "made by the run" is true in both, so only the name may differ.
static void drop_own(cJSON *objects)
{
    for (cJSON *o = objects ? objects->child : NULL, *next; o; o = next) {
        next = o->next;
        if (cJSON_IsTrue(o))
            cJSON_Delete(cJSON_DetachItemViaPointer(objects, o));
    }
}

static void add_results(struct both *w)
{
    AUTO_JSON *a = fold_results(w->a->fold);
    AUTO_JSON *b = fold_results(w->b->fold);
    const struct paired pair = {w->a->fold, w->b->fold, w->partner};
    static const char *const told[] = {"metrics", "artifacts"};
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        json_set(a, told[i], compare_recorded(&pair, pair.a, told[i]));
        json_set(b, told[i], compare_recorded(&pair, pair.b, told[i]));
    }
    drop_own((cJSON *)json_get(a, "objects"));
    drop_own((cJSON *)json_get(b, "objects"));
    add_list(w, "params", a, b, NULL, true);
    add_list(w, "tags", a, b, NULL, true);
    add_list(w, "inputs", a, b, NULL, true);
    add_list(w, "images", a, b, NULL, true);
    add_list(w, "variables", a, b, NULL, true);
    add_list(w, "objects", a, b, NULL, true);
    add_list(w, "environment", a, b, NULL, false);
    add_list(w, "versions", a, b, NULL, false);
    add_list(w, "programs", a, b, NULL, false);
    add_list(w, "metrics", a, b, "value", true);
    add_changes((cJSON *)json_get(w->out, "metrics"));
    add_list(w, "artifacts", a, b, "sha256", true);
}

static void add_origin(struct both *w)
{
    static const char *const compared[] = {"command", "allow", "seed", "host", "user", "machine",
        "cwd", "git.commit", "git.branch", "git.dirty", "git.diff", "cluster.context",
        "cluster.namespace", "cluster.uid", "cluster.version"};
    AUTO_JSON *a = fold_origin(w->a->fold);
    AUTO_JSON *b = fold_origin(w->b->fold);
    cJSON *list = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(compared); i++) {
        const char *dot = strchr(compared[i], '.');
        const cJSON *x = json_path(a, compared[i]), *y = json_path(b, compared[i]);
        if (!equal(x, y))
            add_pair(list, dot ? dot + 1 : compared[i], x, y);
    }
    if (list->child)
        json_set(w->out, "origin", list);
    else
        cJSON_Delete(list);
}

static cJSON *entry_for(const char *title)
{
    cJSON *entry = cJSON_CreateObject();
    json_set_str(entry, "title", title);
    return entry;
}

static void add_entry(struct both *w, const char *list, cJSON *entry)
{
    cJSON_AddItemToArray(json_array_at(w->out, list), entry);
}

// A cell as it is in the file: marker and source.
static void whole(const cell *c, buf *out)
{
    buf_fmt(
        out, "%%%%%s%s\n%s%s", *c->marker ? " " : "", c->marker, c->source, *c->source ? "\n" : "");
}

// a or b: NULL if only the other run has the cell.
static void add_source(struct both *w, const char *title, const cell *a, const cell *b)
{
    AUTO_BUF before = {0}, after = {0}, diff = {0};
    if (a)
        whole(a, &before);
    if (b)
        whole(b, &after);
    if (!linediff(&diff, "a", "b", buf_cstr(&before), buf_cstr(&after)))
        return;
    cJSON *entry = entry_for(title);
    json_set_str(entry, "change", !a ? "added" : !b ? "removed" : "source");
    json_set_str(entry, "diff", buf_cstr(&diff));
    add_entry(w, "cells", entry);
    w->differs = true;
}

static void add_cells(struct both *w)
{
    size_t n = notebook_count(w->nb_b);
    AUTO_FREE bool *known = mem_array(n + 1, sizeof *known);
    for (size_t i = 0; i < notebook_count(w->nb_a); i++) {
        const cell *c = notebook_cell(w->nb_a, i);
        AUTO_FREE char *title = notebook_cell_title(w->nb_a, i);
        size_t k = w->partner[i];
        if (k != SIZE_MAX)
            known[k] = true;
        if (!cell_has_tag(c, "injected-parameters"))
            add_source(w, title, c, k == SIZE_MAX ? NULL : notebook_cell(w->nb_b, k));
    }
    for (size_t k = 0; k < n; k++) {
        AUTO_FREE char *title = notebook_cell_title(w->nb_b, k);
        if (!known[k] && !cell_has_tag(notebook_cell(w->nb_b, k), "injected-parameters"))
            add_source(w, title, NULL, notebook_cell(w->nb_b, k));
    }
}

static void add_state(
    struct both *w, const char *title, const struct run_cell *a, const struct run_cell *b)
{
    if (a->state == b->state)
        return;
    cJSON *entry = entry_for(title);
    json_set_str(entry, "a", cell_state_name(a->state));
    json_set_str(entry, "b", cell_state_name(b->state));
    add_entry(w, "states", entry);
    w->differs = true;
}

static bool is_alike(const struct both *w, const buf *before, const buf *after)
{
    AUTO_BUF a = {0}, b = {0};
    compare_settle(buf_cstr(before), fold_run(w->a->fold), &a);
    compare_settle(buf_cstr(after), fold_run(w->b->fold), &b);
    return str_eq(buf_cstr(&a), buf_cstr(&b));
}

static void add_branch_output(struct both *w, const char *title, const char *branch,
    const struct run_cell *a, const struct run_cell *b)
{
    AUTO_BUF before = {0}, after = {0}, diff = {0};
    AUTO_FREE char *name = compare_branch_title(title, branch);
    compare_output(w->a, a, branch, &before);
    compare_output(w->b, b, branch, &after);
    if (is_alike(w, &before, &after) ||
        !linediff(&diff, "a", "b", buf_cstr(&before), buf_cstr(&after)))
        return;
    cJSON *entry = entry_for(name);
    json_set_str(entry, "diff", buf_cstr(&diff));
    add_entry(w, "outputs", entry);
    w->differs = true;
}

static void add_output(
    struct both *w, const char *title, const struct run_cell *a, const struct run_cell *b)
{
    char **branches = compare_branches(a, b);
    for (char **branch = branches; *branch; branch++)
        add_branch_output(w, title, *branch, a, b);
    strv_free(branches);
}

static void add_duration(
    struct both *w, const char *title, const struct run_cell *a, const struct run_cell *b)
{
    if (!a->started || !a->ended || !b->started || !b->ended)
        return;
    cJSON *entry = entry_for(title);
    json_set(entry, "a", cJSON_CreateNumber((double)(a->mono_end - a->mono_start) / CLOCK_SEC));
    json_set(entry, "b", cJSON_CreateNumber((double)(b->mono_end - b->mono_start) / CLOCK_SEC));
    add_entry(w, "durations", entry);
}

static void add_executions(struct both *w)
{
    for (size_t i = 0; i < notebook_count(w->nb_a); i++) {
        size_t k = w->partner[i];
        if (k == SIZE_MAX || notebook_cell(w->nb_a, i)->kind != CELL_CODE)
            continue;
        AUTO_FREE char *title = notebook_cell_title(w->nb_a, i);
        const struct run_cell *a = fold_cell_by_id(w->a->fold, notebook_cell(w->nb_a, i)->id, NULL);
        const struct run_cell *b = fold_cell_by_id(w->b->fold, notebook_cell(w->nb_b, k)->id, NULL);
        if (!a || !b)
            continue;
        add_state(w, title, a, b);
        add_output(w, title, a, b);
        add_duration(w, title, a, b);
    }
}

cJSON *compare_runs(const struct compared *a, const struct compared *b)
{
    struct both w = {.a = a,
        .b = b,
        .nb_a = fold_notebook(a->fold),
        .nb_b = fold_notebook(b->fold),
        .out = cJSON_CreateObject()};
    w.partner = compare_match(w.nb_a, w.nb_b);
    json_set(w.out, "a", head(a->fold));
    json_set(w.out, "b", head(b->fold));
    add_results(&w);
    add_origin(&w);
    add_cells(&w);
    add_executions(&w);
    // What a trial reads is recorded for its cell only.
    if (json_get(w.out, "metrics") && !fold_is_child(a->fold) && !fold_is_child(b->fold))
        json_set(w.out, "causes", compare_causes(a, b, w.out));
    json_set_bool(w.out, "same", !w.differs);
    free(w.partner);
    return w.out;
}
