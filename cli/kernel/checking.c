// SPDX-License-Identifier: MIT
#include "cli/kernel/checking.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/kernel/link.h"
#include "cli/say.h"
#include "script/api/language/kinds.h"
#include "script/kernel/cells/compile.h"
#include "script/notebook/lua/locals.h"
#include "script/notebook/params.h"

static const int64_t patience = 60 * CLOCK_SEC; // time for what programs check in one notebook

struct checker {
    struct kernel_options *options;
    struct link link; // the cluster whose schemas count, where one is named
    struct language_asking asking;
    struct language_world world;
    bool json;
    size_t found;
};

static void check_texts(struct checker *c, const notebook *nb, struct faults *all)
{
    AUTO_JSON *list = compile_texts(nb, NULL), *found = cJSON_CreateArray();
    c->world.deadline = clock_mono() + patience;
    c->asking.patience.deadline = c->world.deadline;
    language_check_all(list, &c->world, found);
    faults_add_findings(all, nb, found);
}

static void print_json(const struct fault *f, const notebook *nb, const char *path)
{
    AUTO_JSON *o = cJSON_CreateObject();
    const cell *of = f->cell >= 0 ? notebook_cell(nb, (size_t)f->cell) : NULL;
    AUTO_BUF name = {0};
    json_set_str(o, "path", path);
    if (of) {
        notebook_cell_name(nb, (size_t)f->cell, &name);
        json_set_str(o, "cell", buf_cstr(&name));
        json_set_str(o, "id", of->id);
        json_set_int(o, "cell_line", f->line);
        if (f->line && of->first_line)
            json_set_int(o, "line", of->first_line + f->line - 1);
        else if (of->line)
            json_set_int(o, "line", of->line);
    }
    if (f->to) {
        json_set_int(o, "column", (int64_t)f->from + 1);
        json_set_int(o, "end_column", (int64_t)f->to + 1);
    }
    json_set_str(o, "severity", f->warning ? "warning" : "error");
    json_set_str(o, "message", f->text);
    json_set_str(o, "source", f->source);
    say_json(o, 0);
}

static void print_all(
    struct checker *c, const struct faults *all, const notebook *nb, const char *path)
{
    AUTO_BUF out = {0};
    for (size_t i = 0; i < all->n; i++)
        if (c->json)
            print_json(&all->list[i], nb, path);
        else
            faults_print(&all->list[i], nb, path, &out);
    say(stdout, "%s", buf_cstr(&out));
    c->found += all->n;
}

static void check(struct checker *c, const char *path)
{
    struct kernel_options *o = c->options;
    o->notebook = path;
    err e = {0};
    CLEANUP(faults_done) struct faults all = {0};
    struct params params = {.cell = -1};
    notebook *nb = notebook_load(path, &e);
    if (nb)
        compile_check(nb, &all);
    if (nb && !all.n)
        compile_check_kernels(nb, o->find_kernel, o, &all);
    if (nb) {
        locals_check(nb, NULL, &all);
        check_texts(c, nb, &all);
        faults_sort(&all);
    }
    if (nb && params_find(nb, &params, &e) < 0)
        err_wrap(&e, "%s", path);
    if (e.code) {
        const struct fault f = {.cell = -1, .text = e.text, .source = "notebook"};
        c->found++;
        if (c->json)
            print_json(&f, nb, path);
        else
            say(stdout, "%s\n", e.text);
    }
    print_all(c, &all, nb, path);
    params_done(&params);
    notebook_free(nb);
}

// Without --context or --kubeconfig no server is asked.
static int begin(struct checker *c, err *e)
{
    const struct call_cluster *chosen = &c->options->cluster;
    AUTO_FREE char *sandbox = language_sandbox(c->options->paths.kernel);
    c->asking.kinds = language_kinds_new(sandbox);
    c->asking.patience.retry_ns = -1;
    c->asking.world = &c->world;
    c->world = (struct language_world){
        .kind = language_kinds_find, .arg = &c->asking, .env = c->options->env};
    if (!chosen->context && !chosen->kubeconfig)
        return 0;
    if (link_start(&c->link, e) < 0 || link_client(&c->link, c->options, e) < 0)
        return -1;
    c->asking.client = c->link.client;
    c->asking.patience.deadline = clock_mono() + patience;
    AUTO_JSON *index = client_openapi_index(c->link.client, &c->asking.patience, e);
    return index ? 0 : err_wrap(e, "the kinds of the cluster");
}

int checking_run(char *const *notebooks, struct kernel_options *options, bool json)
{
    struct checker c = {.options = options, .json = json};
    err e = {0};
    int begun = begin(&c, &e);
    for (; begun == 0 && *notebooks; notebooks++)
        check(&c, *notebooks);
    if (begun < 0)
        say(stderr, "firesteel: %s\n", e.text);
    if (c.link.loop)
        link_end(&c.link);
    language_kinds_free(c.asking.kinds);
    return begun < 0 ? 1 : c.found ? 2 : 0;
}
