// SPDX-License-Identifier: MIT
// firesteel NOTEBOOK: opens the workbench on the notebook's kernel; starts one if there is none.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/ending.h"
#include "cli/host.h"
#include "cli/linear/linear.h"
#include "cli/notebookoptions.h"
#include "cli/options.h"
#include "cli/parameters.h"
#include "cli/workbench/joining.h"
#include "cli/workbench/offers.h"
#include "cli/workbench/opening.h"
#include "cli/workbench/recovery.h"
#include "cli/workbench/tour.h"
#include "cli/workbench/workbench.h"
#include "script/journal/file/lock.h"
#include "script/journal/file/writer.h"
#include "script/notebook/notebook.h"

#include <string.h>
#include <time.h>

enum { ENDING_MS = 3000, STEP_MS = 20 };

struct open_options {
    const char *cwd, *context, *namespace_, *kubeconfig, *registry, *memory;
    char **parameters, **files, **yaml, **protect, **command;
    bool sandbox, no_outputs;
    const char *processes;
    const char *cell; // id of the cell to begin at; NULL: the first
};

static char *target_name(const struct open_options *o)
{
    if (o->sandbox)
        return mem_strdup("sandbox");
    if (!o->context && !o->namespace_)
        return NULL;
    return str_fmt("%s%s%s", o->context ? o->context : "", o->context && o->namespace_ ? "/" : "",
        o->namespace_ ? o->namespace_ : "");
}

// A notebook that was found and read; the struct owns all fields.
struct place {
    char *path, *name, *cwd;
    buf text;
    bool old, undecided; // notebook.h
};

static void place_done(struct place *p)
{
    free(p->path);
    free(p->name);
    free(p->cwd);
    buf_done(&p->text);
}

static int place_find(struct place *p, struct cli *cli, const char *cwd, const char *file, err *e)
{
    bool moved;
    notebook *nb = notebook_open(file, e);
    *p = (struct place){.name = cli_notebook_name(file)};
    p->path = nb ? path_absolute(file, e) : NULL;
    p->cwd = p->path ? cli_work_folder(cli, cwd, file, &moved, e) : NULL;
    if (nb)
        notebook_print(nb, &p->text);
    p->old = nb && notebook_is_old(nb);
    p->undecided = nb && notebook_is_undecided(nb);
    notebook_free(nb);
    return p->cwd ? 0 : -1;
}

// Asks the kernel that listens there; a kernel that is just ending does not count.
static bool ask_kernel(const char *socket, const cJSON *wants, struct kernels *out)
{
    bool there = kernels_ask(socket, wants, out, NULL) == 0 && out->n &&
                 !str_eq(out->list[0].state, "stopping");
    if (!there)
        kernels_done(out);
    return there;
}

// The kernel that has this notebook open, if any. If that kernel is just ending, waits for the end.
// With this_folder, a kernel that works in another folder does not count: our own kernel will then
// report who has the notebook.
static void living_kernel(
    const struct place *at, bool this_folder, const cJSON *wants, struct kernels *out)
{
    *out = (struct kernels){0};
    for (int waited = 0; waited < ENDING_MS; waited += STEP_MS) {
        struct lock_holder who;
        if (!document_lock_holder(at->path, at->cwd, &who))
            return;
        bool joins = who.socket && (!this_folder || str_eq(who.cwd, at->cwd));
        AUTO_FREE char *socket = joins ? mem_strdup(who.socket) : NULL;
        lock_holder_done(&who);
        if (!socket || ask_kernel(socket, wants, out))
            return;
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * CLOCK_MS}, NULL);
    }
}

static cJSON *wants_of(struct cli *cli, const struct open_options *o, err *e)
{
    return joining_wants(cli,
        &(struct wanted){.parameters = o->parameters,
            .protect = o->protect,
            .context = o->context,
            .namespace_ = o->namespace_,
            .kubeconfig = o->kubeconfig,
            .registry = o->registry,
            .memory = o->memory,
            .sandbox = o->sandbox},
        e);
}

// In the workbench w, or else in lines. recover: a journal whose document the kernel takes instead
// of the file's; NULL: none.
static int launch(workbench *w, linear *l, struct cli *cli, const struct open_options *o,
    const struct place *at, const char *recover, err *e)
{
    const char *keep;
    int64_t ns;
    if (joining_keep(cli, &keep, &ns, e) < 0)
        return -1;
    AUTO_FREE char *program = cli_program(cli, "firesteel-kernel", e);
    AUTO_FREE char *sockets = program ? cli_runtime_dir(cli, e) : NULL;
    if (!sockets)
        return -1;
    AUTO_FREE char *images = cli_images_dir(cli, e);
    if (!images)
        return -1;
    AUTO_FREE char *socket = NULL;
    AUTO_FREE char *run = cli_new_run(sockets, at->cwd, at->name, &socket);
    AUTO_FREE char *data = cli_data_dir(cli);
    const struct launch kernel = {.program = program,
        .notebook = at->path,
        .name = at->name,
        .cwd = at->cwd,
        .run = run,
        .socket = socket,
        .recover = recover,
        .memory = o->memory,
        .lifetime = keep,
        .context = o->context,
        .namespace_ = o->namespace_,
        .kubeconfig = o->kubeconfig,
        .registry = o->registry,
        .images = images,
        .data = data,
        .parameters = recover ? NULL : (const char *const *)o->parameters,
        .command = (const char *const *)o->command,
        .protect = (const char *const *)o->protect,
        .read_only = cli->read_only,
        .sandbox = o->sandbox,
        .processes = o->processes};
    return l ? linear_launch(l, &kernel, e) : workbench_launch(w, &kernel, e);
}

struct starting {
    struct cli *cli;
    const struct open_options *options;
    const struct place *at;
};

static int start_again(void *arg, workbench *w, const char *recover, err *e)
{
    const struct starting *s = arg;
    struct open_options now = *s->options;
    bool processes;
    if (workbench_in_sandbox(w, &processes) && !now.sandbox) { // a person has started it
        now = (struct open_options){.cwd = now.cwd,
            .memory = now.memory,
            .parameters = now.parameters,
            .protect = now.protect,
            .command = now.command,
            .sandbox = true,
            .processes = processes ? "processes" : NULL};
    }
    return launch(w, NULL, s->cli, &now, s->at, recover, e);
}

// The status line's text about a killed run; NULL: none.
static char *about_recovery(const struct recovery *found, bool back)
{
    const char *run = found->run;
    if (!run)
        return NULL;
    if (!back)
        return str_fmt(
            "unsaved changes of %s are left, since -p is given: `firesteel show %s`", run, run);
    if (found->touched && !found->hidden)
        return str_fmt(
            "unsaved changes of %s are back; the file was changed, too: :e! reads it", run);
    if (!found->hidden)
        return str_fmt("unsaved changes of %s are back; :e! drops them", run);
    return str_fmt("unsaved changes of %s are back, but in %zu cell%s with secrets; :e! drops them",
        run, found->hidden, found->hidden == 1 ? "" : "s");
}

// Parameters are for the file's text: if some are given, unsaved text is not restored, and a notice
// says so.
static int begin(workbench *w, struct cli *cli, const struct open_options *o,
    const struct place *at, const struct recovery *found, err *e)
{
    bool back = found->run && !o->parameters;
    AUTO_FREE char *words = about_recovery(found, back);
    const buf *text = back ? &found->words : &at->text;
    workbench_show(w, at->path, buf_cstr(text), text->len);
    if (o->cell)
        workbench_select(w, o->cell);
    if (words)
        workbench_say(w, words);
    else if (at->old)
        workbench_say(
            w, "this file has an old format (nbformat 2 or 3): saving it writes nbformat 4");
    else if (path_is_read_only(at->path))
        workbench_say(
            w, "the file is read-only: what is changed here is saved only by :w! or :w NAME");
    return back ? workbench_start(w, buf_cstr(text), text->len, found->run, e)
                : launch(w, NULL, cli, o, at, NULL, e);
}

// Joins the kernel that has the notebook open, and tells the person.
static int join(workbench *w, struct cli *cli, const struct place *at, const struct kernel *k,
    const char *differs, err *e)
{
    workbench_show(w, at->path, buf_cstr(&at->text), at->text.len);
    if (cli->read_only)
        workbench_only_looks(w);
    AUTO_FREE char *words = joining_words(k, differs);
    workbench_joined(w, words);
    return workbench_join(w, k->socket, cli->read_only, e);
}

// A free file name beside a notebook: "small-2.lua"; new.
static char *free_name(const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);
    for (int i = 2;; i++) {
        char *name = str_fmt("%.*s-%d%s", (int)n, path, i, path + n);
        if (!path_exists(name))
            return name;
        free(name);
    }
}

static int open_place(
    workbench *w, struct cli *cli, const struct open_options *o, const struct place *at, err *e);

static int open_copy(workbench *w, struct cli *cli, const struct open_options *o,
    const struct place *at, const char *name, err *e)
{
    struct place copy = {0};
    int result = recipe_copy(at->path, name, e);
    if (result == 0)
        result = place_find(&copy, cli, o->cwd, name, e);
    if (result == 0)
        result = open_place(w, cli, o, &copy, e);
    place_done(&copy);
    return result;
}

static int begin_anew(
    workbench *w, struct cli *cli, const struct open_options *o, const struct place *at, err *e)
{
    struct recovery found = {0};
    recovery_find(at->path, at->name, at->cwd, &at->text, &found);
    int result = begin(w, cli, o, at, &found, e);
    recovery_done(&found);
    return result == 0 ? workbench_run(w, e) : -1;
}

// The choices if the kernel does not have what was asked for. A kernel of another version cannot be
// joined, and a notebook that is not saved yet cannot be copied.
static int choose(workbench *w, struct cli *cli, const struct open_options *o,
    const struct place *at, const struct kernel *k, const char *differs, err *e)
{
    enum { JOIN, COPY, ANEW, CHOICES };
    AUTO_FREE char *name = free_name(at->path);
    AUTO_FREE char *copy_name = path_basename(name);
    AUTO_FREE char *own = path_basename(at->path);
    AUTO_FREE char *title = str_fmt("%s is open in another kernel", own);
    AUTO_FREE char *detail = str_fmt("%s. %s", k->run, differs);
    AUTO_FREE char *copy = str_fmt("on a copy, %s", copy_name);
    const char *lost = k->unsaved ? "its unsaved text comes back, its variables do not"
                                  : "its variables go with it";
    struct pick_row rows[CHOICES];
    int means[CHOICES];
    size_t n = 0;
    if (!k->refused) {
        means[n] = JOIN;
        rows[n++] =
            (struct pick_row){"", "", "join it as it is", k->holds ? k->holds : "", "", detail};
    }
    if (path_exists(at->path)) {
        means[n] = COPY;
        rows[n++] = (struct pick_row){"", "", "a new kernel beside it", copy, "", detail};
    }
    means[n] = ANEW;
    rows[n++] = (struct pick_row){"", "", "end it, and start a new one", lost, "", detail};
    int row = workbench_pick(w, title, rows, n);
    if (row < 0)
        return 0;
    if (means[row] == JOIN)
        return join(w, cli, at, k, differs, e) == 0 ? workbench_run(w, e) : -1;
    if (means[row] == COPY)
        return open_copy(w, cli, o, at, name, e);
    bool unsaved;
    return ending_stop(k, false, &unsaved, e) == 0 ? begin_anew(w, cli, o, at, e) : -1;
}

// Shows the text first, so that something is visible before a kernel answers.
static int open_place(
    workbench *w, struct cli *cli, const struct open_options *o, const struct place *at, err *e)
{
    struct starting again = {cli, o, at};
    AUTO_JSON *wants = wants_of(cli, o, e);
    struct kernels living;
    living_kernel(at, o->cwd != NULL, wants, &living);
    const struct kernel *k = living.n ? &living.list[0] : NULL;
    AUTO_FREE char *differs = k ? joining_difference(k, wants) : NULL;
    int result;
    workbench_starter(w, start_again, &again);
    workbench_remember(w, at->cwd, o->parameters);
    if (k && differs)
        result = choose(w, cli, o, at, k, differs, e);
    else if (k)
        result = join(w, cli, at, k, NULL, e) == 0 ? workbench_run(w, e) : -1;
    else
        result = begin_anew(w, cli, o, at, e);
    kernels_done(&living);
    return result;
}

// An .ipynb that does not name its language: asks the person, and writes the answer into the file.
static int write_language(struct place *at, const char *language, err *e)
{
    notebook *nb = notebook_load(at->path, e);
    int result = -1;
    if (nb) {
        notebook_set_language(nb, language);
        buf_clear(&at->text);
        notebook_print(nb, &at->text);
        at->undecided = false;
        result = notebook_save(nb, at->path, e);
    }
    notebook_free(nb);
    return result;
}

// Returns 0 when its language is known, 1 if the person leaves.
static int ask_language(workbench *w, struct place *at, err *e)
{
    static const char *const languages[] = {"python", "lua", "r", "julia", "bash"};
    static const char detail[] = "the answer is written into the file's metadata";
    struct pick_row rows[ARRAY_LEN(languages)];
    if (!at->undecided)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        rows[i] = (struct pick_row){"", "", languages[i], "", "", detail};
    AUTO_FREE char *own = path_basename(at->path);
    AUTO_FREE char *title = str_fmt("In which language are the cells of %s?", own);
    int row = workbench_pick(w, title, rows, ARRAY_LEN(rows));
    return row < 0 ? 1 : write_language(at, languages[row], e);
}

// The same kernel, as lines. Returns the exit code.
static int open_lines(struct cli *cli, const struct open_options *o, const char *file)
{
    err e = {0};
    struct place at = {0};
    struct kernels living = {0};
    linear *l = NULL;
    int code = -1;
    AUTO_JSON *wants = wants_of(cli, o, &e);
    if (place_find(&at, cli, o->cwd, file, &e) == 0 && (l = linear_open(cli, at.path, &e))) {
        living_kernel(&at, o->cwd != NULL, wants, &living);
        const struct kernel *k = living.n ? &living.list[0] : NULL;
        AUTO_FREE char *differs = k ? joining_difference(k, wants) : NULL;
        AUTO_FREE char *words = k ? joining_words(k, differs) : NULL;
        int opened = k && k->refused ? err_set(&e, ERR_UNAVAILABLE, "%s", differs)
                     : k             ? linear_join(l, k->socket, words, &e)
                                     : launch(NULL, l, cli, o, &at, NULL, &e);
        code = opened < 0 ? -1 : linear_run(l, &e);
    }
    linear_close(l);
    kernels_done(&living);
    place_done(&at);
    return e.code ? cli_error(cli, &e) : code;
}

static int open_notebook(struct cli *cli, const struct open_options *o, const char *file)
{
    err e = {0};
    struct place at;
    workbench *w = NULL;
    AUTO_FREE char *target = target_name(o);
    if (place_find(&at, cli, o->cwd, file, &e) == 0 &&
        (w = workbench_open(
             cli, &(struct bench_about){.target = target, .no_outputs = o->no_outputs}, &e)) &&
        ask_language(w, &at, &e) == 0)
        open_place(w, cli, o, &at, &e);
    workbench_close(w);
    place_done(&at);
    return e.code ? cli_error(cli, &e) : 0;
}

// Where users may make no namespaces, pods of the tour are plain processes, if the person agrees:
// then *processes is set. Returns 1 if they leave instead.
static int settle_pods(workbench *w, struct cli *cli, const char **processes)
{
    err why = {0};
    if (*processes || host_takes_images(cli, &why) == 0)
        return 0;
    struct pick_row rows[] = {
        {"", "", "pods as plain processes", "they have this machine's files, as you have", "",
            why.text},
        {"", "", "not now", "", "", why.text},
    };
    *processes = "processes";
    return workbench_pick(w, "No namespaces here: how shall the sandbox run pods?", rows,
               ARRAY_LEN(rows)) != 0;
}

static int take_tour(workbench *w, struct cli *cli, const struct tour_options *wanted, err *e)
{
    struct tour t;
    struct place at = {0};
    struct open_options o = {.sandbox = true, .processes = wanted->processes};
    int result = tour_find(cli, wanted->cwd, wanted->anew, &t, e);
    if (result == 0 && settle_pods(w, cli, &o.processes) == 0) {
        tour_name_us(cli);
        o.cwd = t.folder;
        o.cell = t.cell;
        result = place_find(&at, cli, o.cwd, t.notebook, e);
        if (result == 0)
            result = open_place(w, cli, &o, &at, e);
    }
    place_done(&at);
    tour_done(&t);
    return result;
}

static int open_offer(
    workbench *w, struct cli *cli, const struct open_options *o, const struct offer *offer, err *e)
{
    if (offer->kernel) {
        if (cli->read_only)
            workbench_only_looks(w);
        bool watches = offer->kernel->headless || cli->read_only;
        if (workbench_join(w, offer->kernel->socket, watches, e) < 0)
            return -1;
        return workbench_run(w, e);
    }
    if (offer->kind == OFFER_TOUR)
        return take_tour(w, cli, &(struct tour_options){.processes = o->processes}, e);
    if (offer->kind == OFFER_RECIPE && !path_exists(offer->notebook) &&
        recipe_copy(offer->path, offer->notebook, e) < 0)
        return -1;
    struct place at;
    const char *file = offer->kind == OFFER_RECIPE ? offer->notebook : offer->path;
    int result = place_find(&at, cli, o->cwd, file, e);
    if (result == 0)
        result = ask_language(w, &at, e);
    if (result == 0)
        result = open_place(w, cli, o, &at, e);
    place_done(&at);
    return result < 0 ? -1 : 0;
}

int open_tour(struct cli *cli, const struct tour_options *o)
{
    err e = {0};
    workbench *w = workbench_open(cli, &(struct bench_about){.target = "sandbox"}, &e);
    if (w)
        take_tour(w, cli, o, &e);
    workbench_close(w);
    return e.code ? cli_error(cli, &e) : 0;
}

// Without a name: lets the person choose what to open.
static int open_any(struct cli *cli, const struct open_options *o)
{
    err e = {0};
    struct kernels kernels;
    struct offers all = {0};
    if (kernels_find(cli, &kernels, &e) < 0)
        return cli_error(cli, &e);
    offers_kernels(&all, &kernels, cli->cwd);
    offers_notebooks(&all, cli->cwd);
    offers_recipes(&all, cli);
    offers_tour(&all, cli);
    offers_blank(&all, cli->cwd);
    AUTO_FREE char *target = target_name(o);
    AUTO_FREE struct pick_row *rows = offers_rows(&all);
    workbench *w = workbench_open(
        cli, &(struct bench_about){.target = target, .no_outputs = o->no_outputs}, &e);
    int row = w ? workbench_pick(w, "Open a notebook", rows, all.n) : -1;
    if (row >= 0)
        open_offer(w, cli, o, &all.list[row], &e);
    workbench_close(w);
    offers_done(&all);
    kernels_done(&kernels);
    return e.code ? cli_error(cli, &e) : 0;
}

static int settle(struct open_options *o, const char *file, err *e)
{
    notebook *nb = notebook_load(file, e);
    int result = nb ? parameters_settle(nb, o->files, o->yaml, &o->parameters, e) : -1;
    notebook_free(nb);
    return result;
}

static int open_run(struct cli *cli, int argc, char **argv)
{
    struct open_options o = {0};
    const struct option options[] = {
        NOTEBOOK_OPTIONS(o),
        {"sandbox", 0, NULL,
            "with a private cluster that ends with the kernel; processes: its pods are plain "
            "processes, where users may make no namespaces",
            .word = "processes", .given = &o.sandbox, .text = &o.processes},
        {"read-only", 0, NULL,
            "nothing is changed on a cluster; a kernel that is alive is only looked at",
            .given = &cli->read_only},
        {"no-outputs", 0, NULL,
            "without what earlier runs have left below the cells (or FIRESTEEL_OUTPUTS=off)",
            .given = &o.no_outputs},
        {"no-ask", 0, NULL,
            "ask nothing before something is ended, run again or deleted (or FIRESTEEL_ASK=off)",
            .given = &cli->no_ask},
        {"linear", 0, NULL,
            "as lines, for screen readers and pipes: nothing is drawn (or FIRESTEEL_LINEAR=1)",
            .given = &cli->linear},
        {"no-mouse", 0, NULL, "leave the mouse to the terminal (or FIRESTEEL_MOUSE=off)",
            .given = &cli->no_mouse},
        {"notify", 0, "HOW",
            "tell of an end or a question by: auto, bell, osc9, osc777, none (or FIRESTEEL_NOTIFY)",
            .text = &cli->notify},
        KEEP_OPTION(cli),
        {"memory", 0, "SIZE", "limit of the cells' memory: 512M, 2G", .text = &o.memory},
        {0},
    };
    char **rest = NULL;
    int code;
    const char *keep;
    int64_t ns;
    size_t bytes;
    err e = {0};
    o.command = parameters_hidden(argc - 1, argv + 1);
    if (options_parse(cli, &open_verb, options, argc, argv, &rest, &code) == 0) {
        if (rest && strv_len(rest) != 1)
            code = cli_usage(cli, &open_verb, "one notebook at a time");
        else if (o.sandbox && (o.context || o.kubeconfig))
            code = cli_usage(
                cli, &open_verb, "--sandbox has a cluster of its own: leave --context out");
        else if (o.sandbox && o.registry)
            code = cli_usage(
                cli, &open_verb, "--sandbox has a registry of its own: leave --registry out");
        else if ((o.files || o.yaml) && !rest)
            code = cli_usage(
                cli, &open_verb, "--parameters-file and -y are for a notebook that is named");
        else if (joining_keep(cli, &keep, &ns, &e) < 0 ||
                 (o.memory && cli_size(o.memory, &bytes, &e) < 0) ||
                 parameters_read(o.parameters, &e) < 0 ||
                 ((o.files || o.yaml) && settle(&o, rest[0], &e) < 0))
            code = cli_error(cli, &e);
        else
            code = !rest                ? open_any(cli, &o)
                   : linear_wanted(cli) ? open_lines(cli, &o, rest[0])
                                        : open_notebook(cli, &o, rest[0]);
    }
    if (rest)
        strv_free(rest);
    if (o.parameters)
        strv_free(o.parameters);
    if (o.files)
        strv_free(o.files);
    strv_free(o.yaml);
    strv_free(o.protect);
    strv_free(o.command);
    return code;
}

const struct verb open_verb = {
    .name = "[NOTEBOOK]",
    .summary = "open a notebook in the workbench",
    .usage = "[-p NAME=VALUE]… [--sandbox | --context NAME] [-n NAMESPACE]\n\n"
             "Opens the notebook; its kernel goes on when the terminal goes. ? shows the keys.\n"
             "Without a name: a list of living kernels, notebooks of this folder, recipes, and a "
             "blank one.",
    .run = open_run,
};
