// SPDX-License-Identifier: MIT
// Prints a run as .ipynb: outputs below the cells, and papermill's metadata of a run in papermill's
// places.
#include "base/clock.h"
#include "base/json/secret.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/jupyter.h"
#include "script/journal/text.h"
#include "script/notebook/params.h"
#include "script/report/export_private.h"
#include "script/report/html/html_charts.h"
#include "script/report/html/html_output.h"
#include "script/report/page/page.h"
#include "script/report/page/page_display.h"

#include <string.h>

enum { OWN_MOST = 16 << 20 }; // bytes of the notebook's file

// Adds types that other programs can show to a bundle: they do not know our own types.
static void add_views(const struct output *o, cJSON *data)
{
    const cJSON *table = page_table(data), *plot = json_get(data, PAGE_KIND("plot"));
    AUTO_BUF html = {0}, svg = {0};
    if (table && !json_get(data, "text/html")) {
        html_table(table, o->live, &html);
        json_set_str(data, "text/html", buf_cstr(&html));
    }
    if (plot && !json_get(data, "image/svg+xml") && html_plot_image(plot, &svg))
        json_set_str(data, "image/svg+xml", buf_cstr(&svg));
}

cJSON *export_bundle(const struct output *o, cJSON **metadata)
{
    cJSON *data = jupyter_bundle(o, 0, metadata, NULL);
    add_views(o, data);
    return data;
}

static void add_all_views(const struct run_cell *c, cJSON *outputs)
{
    cJSON *j = outputs->child;
    for (size_t k = 0; c && k < c->n_outputs; k++, j = j->next) {
        j = output_branch(c, k) ? j->next : j; // after its heading
        if (c->outputs[k].kind == OUTPUT_DISPLAY)
            add_views(&c->outputs[k], json_object_at(j, "data"));
    }
}

static cJSON *ipynb_outputs(void *arg, const cell *c, size_t i, long *execution_count)
{
    struct export *x = arg;
    const struct run_cell *rc = fold_cell_by_id(x->fold, c->id, NULL);
    *execution_count = rc && rc->count > 0 ? rc->count : -1;
    cJSON *outputs = jupyter_outputs(rc, x->spool_dir, x->limit, &x->failure);
    add_all_views(rc, outputs);
    jupyter_as_saved(outputs);
    return outputs;
}

static void set_time(cJSON *to, const char *name, int64_t wall)
{
    AUTO_BUF when = {0};
    if (!wall)
        return;
    clock_rfc3339(&when, wall, CLOCK_MICROS);
    json_set_str(to, name, buf_cstr(&when));
}

static void set_seconds(cJSON *to, const char *name, int64_t ns)
{
    json_set(to, name, cJSON_CreateNumber((double)ns / CLOCK_SEC));
}

// JupyterLab asks for a kernel if a notebook names none; nbconvert picks the highlighting by
// language.
static void set_language(const fold *f, cJSON *metadata)
{
    static const struct {
        const char *name, *extension, *mimetype, *kernel, *title;
    } known[] = {{"lua", ".lua", "text/x-lua", "firesteel", "Lua (firesteel)"},
        {"python", ".py", "text/x-python", "python3", "Python 3"}};
    const char *own = notebook_language(fold_notebook(f));
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (!str_eq(own ? own : "lua", known[i].name))
            continue;
        if (!json_get(metadata, "language_info")) {
            cJSON *language = json_object_at(metadata, "language_info");
            json_set_str(language, "file_extension", known[i].extension);
            json_set_str(language, "mimetype", known[i].mimetype);
            json_set_str(language, "name", known[i].name);
        }
        if (!json_get(metadata, "kernelspec")) {
            cJSON *kernel = json_object_at(metadata, "kernelspec");
            json_set_str(kernel, "display_name", known[i].title);
            json_set_str(kernel, "language", known[i].name);
            json_set_str(kernel, "name", known[i].kernel);
        }
    }
}

// A path as the command line may have had it: relative to the working folder if it is below.
static const char *short_path(const fold *f)
{
    const char *path = json_str_or(fold_first(f), "path", ""),
               *cwd = json_str(fold_first(f), "cwd");
    size_t n = cwd ? strlen(cwd) : 0;
    return n && str_starts(path, cwd) && path[n] == '/' ? path + n + 1 : path;
}

static void set_exception(cJSON *to, const fold *f)
{
    if (fold_state(f) == RUN_OK || fold_state(f) == RUN_RUNNING)
        json_set(to, "exception", cJSON_CreateNull());
    else
        json_set_bool(to, "exception", true);
}

// papermill's names in a notebook's metadata; its tools (and scrapbook) read them.
static void set_papermill(const fold *f, cJSON *metadata)
{
    cJSON *to = json_object_at(metadata, "papermill");
    const cJSON *given = json_get(fold_last_start(f), "given");
    struct params defaults;
    if (params_find(fold_notebook(f), &defaults, NULL) == 0)
        json_set(to, "default_parameters", params_values(&defaults));
    params_done(&defaults);
    set_seconds(to, "duration", fold_duration(f));
    set_time(to, "end_time", fold_state(f) == RUN_RUNNING ? 0 : fold_last(f));
    json_object_at(to, "environment_variables");
    set_exception(to, f);
    json_set_str(to, "input_path", short_path(f));
    json_set(to, "output_path", cJSON_CreateNull());
    json_set(to, "parameters", given ? cJSON_Duplicate(given, true) : cJSON_CreateObject());
    set_time(to, "start_time", fold_started(f));
    json_set_str(to, "version", "firesteel " FIRESTEEL_VERSION);
}

static bool is_ours(const char *member)
{
    static const char *const ours[] = {"papermill", "firesteel", "jupytext", "widgets"};
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (str_eq(ours[i], member))
            return true;
    return false;
}

// What other programs keep in the file's metadata (Colab's "colab" and "accelerator"): it is not
// in the journal, so it is taken from the file as it is now, if that is still there.
static void keep_own(const fold *f, cJSON *metadata)
{
    const char *path = json_str(fold_first(f), "path");
    AUTO_BUF text = {0};
    if (!path || !str_ends(path, ".ipynb") || path_read(path, &text, OWN_MOST, NULL) < 0)
        return;
    AUTO_JSON *file = json_parse(buf_cstr(&text), text.len, NULL);
    cJSON *own = (cJSON *)json_get(file, "metadata");
    const cJSON *member;
    if (!cJSON_IsObject(own))
        return;
    secret_hide(file, own, NULL);
    cJSON_ArrayForEach(member, own)
    {
        if (!json_get(metadata, member->string) && !is_ours(member->string))
            json_set(metadata, member->string, cJSON_Duplicate(member, true));
    }
}

static void ipynb_metadata(const fold *f, cJSON *metadata)
{
    AUTO_BUF when = {0};
    AUTO_JSON *results = fold_results(f), *record = page_record(f);
    keep_own(f, metadata);
    set_language(f, metadata);
    set_papermill(f, metadata);
    clock_rfc3339(&when, fold_started(f), CLOCK_SECONDS);
    cJSON *run = json_object_at(metadata, "firesteel");
    json_set_str(run, "run", fold_run(f));
    json_set_str(run, "state", run_state_name(fold_state(f)));
    json_set_str(run, "started", buf_cstr(&when));
    set_seconds(run, "duration", fold_duration(f));
    const cJSON *part;
    json_set(run, "parameters", fold_params(f));
    cJSON_ArrayForEach(part, results) if (part->child && !str_eq(part->string, "params"))
        json_set(run, part->string, cJSON_Duplicate(part, true));
    json_set(run, "record", STEAL(record));
    json_set(run, "origin", fold_origin(f));
}

static const char *papermill_status(const struct run_cell *c)
{
    return c && c->state == STATE_OK        ? "completed"
           : c && c->state == STATE_FAILED  ? "failed"
           : c && c->state == STATE_RUNNING ? "running"
                                            : "pending";
}

static void cell_papermill(const struct run_cell *c, cJSON *metadata)
{
    cJSON *to = json_object_at(metadata, "papermill");
    bool ran = c && c->started && c->ended;
    if (ran)
        set_seconds(to, "duration", c->mono_end - c->mono_start);
    else
        json_set(to, "duration", cJSON_CreateNull());
    set_time(to, "end_time", ran ? c->ended : 0);
    json_set_bool(to, "exception", c && c->state == STATE_FAILED);
    set_time(to, "start_time", c ? c->started : 0);
    json_set_str(to, "status", papermill_status(c));
}

// A header of the notebook's own stands before its first cell.
static void ipynb_cells(const fold *f, cJSON *cells)
{
    const notebook *nb = fold_notebook(f);
    int first = cJSON_GetArraySize(cells) - (int)notebook_count(nb), at = 0;
    cJSON *j;
    cJSON_ArrayForEach(j, cells)
    {
        size_t i = (size_t)(at++ - first);
        if (at > first && notebook_cell(nb, i)->kind == CELL_CODE)
            cell_papermill(
                fold_cell_by_id(f, notebook_cell(nb, i)->id, NULL), json_object_at(j, "metadata"));
    }
}

void export_ipynb(struct export *x, buf *out)
{
    AUTO_JSON *j = notebook_to_ipynb(fold_notebook(x->fold), ipynb_outputs, x);
    ipynb_metadata(x->fold, json_object_at(j, "metadata"));
    ipynb_cells(x->fold, json_array_at(j, "cells"));
    json_sort(j);
    json_print_pretty(out, j, 1);
    buf_char(out, '\n');
}
