// SPDX-License-Identifier: MIT
// firesteel run: starts a kernel for one notebook, and runs it from the first cell to the last.
//
//   firesteel run ──socket pair── guard ── kernel        INT, TERM, HUP → interrupt, again →
//   shutdown,
//       fold ← events ─────────────────────┘             again → kill; the guard clears up and its
//       └─ printer │ json │ junit, and the report        exit code is ours
#include "base/clock.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/host.h"
#include "cli/notebookoptions.h"
#include "cli/options.h"
#include "cli/parameters.h"
#include "cli/report.h"
#include "cli/run/run_private.h"
#include "script/journal/file/reader.h"
#include "script/journal/file/writer.h"
#include "script/journal/runs/runs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int check_redo(const notebook *nb, const char *name, err *e)
{
    for (size_t i = 0; i < notebook_count(nb); i++) {
        const cell *c = notebook_cell(nb, i);
        AUTO_FREE char *title = notebook_cell_title(nb, i);
        if (str_eq(c->id, name) || str_eq(title, name))
            return 0;
    }
    return err_set(e, ERR_USAGE, "--redo %s: the notebook has no cell of that title or id", name);
}

int run_check_document(
    const notebook *nb, const char *path, const struct run_options *o, char ***given, err *e)
{
    int result = parameters_settle(nb, o->files, o->yaml, given, e);
    for (char *const *p = o->redo; result == 0 && p && *p; p++)
        result = check_redo(nb, *p, e);
    return result;
}

// Refuses a run with a private sandbox if its pods cannot run images: it would stop in the middle.
static int check_sandbox(struct cli *cli, const struct run_options *o, const notebook *nb, err *e)
{
    for (size_t i = 0;
         o->sandbox && !o->processes && !o->no_preflight && !o->resume && i < notebook_count(nb);
         i++) {
        const cell *c = notebook_cell(nb, i);
        if (c->kind != CELL_CODE || !strstr(c->source, "image.build"))
            continue;
        AUTO_FREE char *title = notebook_cell_title(nb, i);
        return host_takes_images(cli, e) == 0
                   ? 0
                   : err_wrap(e,
                         "cell %zu (%s) builds an image for the sandbox; --sandbox=processes "
                         "runs its pods as plain processes instead (no cell was run; "
                         "--no-preflight runs them anyway)",
                         i + 1, title);
    }
    return 0;
}

// Reports mistakes in the file or its parameters before anything is started; the kernel reports
// mistakes in its cells before it runs the first.
static int check(struct run *r, const char *path, struct run_options *o, err *e)
{
    r->checked = notebook_load(path, e);
    if (r->checked && o->kernel && notebook_use_kernel(r->checked, o->kernel, e) < 0)
        return -1;
    return r->checked ? run_check_document(r->checked, path, o, &o->parameters, e) : -1;
}

static int check_options(struct cli *cli, const struct run_options *o, struct run *r)
{
    static const char *const outputs[] = {"plain", "json", "junit"};
    static const char *const classes[] = {"cluster", "destructive"};
    err e = {0};
    int64_t ns;
    size_t i = 0;
    while (o->output && i < ARRAY_LEN(outputs) && !str_eq(o->output, outputs[i]))
        i++;
    if (i == ARRAY_LEN(outputs))
        return cli_usage(cli, &run_verb, "--output %s: it is plain, json or junit", o->output);
    r->form = (enum form)i;
    if (reports_check(o->reports, &e) < 0)
        return cli_error(cli, &e);
    if (o->detach && r->form == FORM_JUNIT)
        return cli_usage(cli, &run_verb,
            "--detach has nothing to print as JUnit yet; --report FILE.xml writes it in the end");
    if (o->timeout && duration_parse(o->timeout, &ns, &e) < 0)
        return cli_usage(cli, &run_verb, "--timeout: %s", e.text);
    if (o->timeout && ns <= 0)
        return cli_usage(cli, &run_verb,
            "--timeout %s: must be more than nothing; leave it out for no limit", o->timeout);
    if (o->sandbox && (o->context || o->kubeconfig))
        return cli_usage(cli, &run_verb, "--sandbox has a cluster of its own: leave --context out");
    if (o->sandbox && o->registry)
        return cli_usage(
            cli, &run_verb, "--sandbox has a registry of its own: leave --registry out");
    if (o->sandbox && o->detach)
        return cli_usage(
            cli, &run_verb, "--detach needs a cluster that stays: `firesteel sandbox up`");
    if (o->seed && !str_to_int(o->seed, &ns))
        return cli_usage(cli, &run_verb, "--seed %s: it is an integer", o->seed);
    if (o->seed && o->resume)
        return cli_usage(cli, &run_verb, "--seed: a resumed run keeps its own");
    if (o->only_stale && (o->resume || o->detach || o->seed))
        return cli_usage(cli, &run_verb, "--stale: without %s",
            o->resume   ? "--resume; --from names the run"
            : o->detach ? "--detach, since it may take several rounds"
                        : "--seed: the run keeps its own");
    if (o->read_only && o->allow)
        return cli_usage(cli, &run_verb, "--read-only and --allow exclude each other");
    if (o->allow_protected && !o->allow)
        return cli_usage(cli, &run_verb, "--allow-protected needs --allow");
    if (o->list && !o->only_stale)
        return cli_usage(cli, &run_verb, "--list is for --stale");
    if (o->from && !o->only_stale && (o->resume || o->detach))
        return cli_usage(cli, &run_verb, "--from: without %s",
            o->resume ? "--resume" : "--detach, since the comparison is printed at the end");
    if (!o->resume && !o->only_stale && (o->redo || o->accept_drift))
        return cli_usage(
            cli, &run_verb, "%s is for --resume or --stale", o->redo ? "--redo" : "--accept-drift");
    for (char **list = o->allow; list && *list; list++) {
        char **words = strv_split(*list, ',');
        bool known = true;
        for (char **w = words; *w; w++)
            known =
                known && (str_eq(*w, classes[0]) || str_eq(*w, classes[1]) || str_eq(*w, "local"));
        strv_free(words);
        if (!known)
            return cli_usage(
                cli, &run_verb, "--allow %s: it is cluster, destructive, or both", *list);
    }
    return 0;
}

static char *joined(char *const *list)
{
    buf out = {0};
    for (char *const *p = list; p && *p; p++)
        buf_fmt(&out, "%s%s", out.len ? "," : "", *p);
    return out.data ? buf_take(&out) : NULL;
}

static void strv_free_at(char ***v)
{
    strv_free(*v);
}

// Makes the reports' paths absolute: the guard of a detached run works in another folder.
static char **absolute(char *const *paths, err *e)
{
    char **list = NULL;
    for (; paths && *paths; paths++) {
        AUTO_FREE char *path = path_absolute(*paths, e);
        list = strv_add(list, path ? path : *paths);
    }
    return list;
}

int run_start(struct cli *cli, struct run_options *o, const char *file, struct run *r)
{
    err e = {0};
    const struct again *again = r->again;
    int wrong = parameters_read(o->parameters, &e);
    if (wrong == 0)
        wrong = again ? run_check_document(fold_notebook(again->then), file, o, &o->parameters, &e)
                      : check(r, file, o, &e);
    if (wrong == 0 && again)
        wrong = again_parameters(again, &o->parameters, &e);
    if (wrong) {
        e.code = ERR_USAGE; // nothing was run
        return cli_error(cli, &e);
    }
    if (check_sandbox(cli, o, again ? fold_notebook(again->then) : r->checked, &e))
        return cli_error(cli, &e);
    bool moved;
    AUTO_FREE char *cwd = cli_work_folder(cli, o->cwd, file, &moved, &e);
    AUTO_FREE char *program = cwd ? cli_program(cli, "firesteel-kernel", &e) : NULL;
    AUTO_FREE char *sockets = program ? cli_runtime_dir(cli, &e) : NULL;
    AUTO_FREE char *path = sockets ? path_absolute(file, &e) : NULL;
    AUTO_FREE char *resume = path && o->resume ? runs_pick(cwd, NULL, o->resume, &e) : NULL;
    if (!cwd || (path && o->resume && !resume))
        e.code = ERR_USAGE; // as above
    AUTO_FREE char *past = resume ? journal_file(cwd, resume) : NULL;
    if (past && journal_is_written(past))
        err_set(&e, ERR_USAGE,
            "--resume %s: the run is still going on; `firesteel wait %s` waits for its end", resume,
            resume);
    if (e.code)
        return cli_error(cli, &e);
    if (moved)
        say(stderr, "firesteel: the notebook's folder cannot be written; working in %s\n", cwd);
    CLEANUP(strv_free_at) char **reports = absolute(o->reports, &e);
    AUTO_FREE char *name = cli_notebook_name(file), *images = cli_images_dir(cli, &e);
    if (!images)
        return cli_error(cli, &e);
    AUTO_FREE char *socket = resume ? cli_socket(sockets, resume) : NULL;
    AUTO_FREE char *run = resume ? mem_strdup(resume) : cli_new_run(sockets, cwd, name, &socket);
    if (o->detach)
        r->said = fd_memory("kernel");
    AUTO_FREE char *allow = joined(o->allow), *data = cli_data_dir(cli);
    return run_conduct(r,
        &(struct launch){
            .program = program,
            .notebook = path,
            .name = name,
            .cwd = cwd,
            .run = resume ? NULL : run,
            .resume = resume,
            .recover = again ? again->journal : NULL,
            .from = again ? again->run : NULL,
            .socket = socket,
            .allow = allow,
            .timeout = o->timeout,
            .memory = o->memory,
            .context = o->context,
            .namespace_ = o->namespace_,
            .kubeconfig = o->kubeconfig,
            .registry = o->registry,
            .images = images,
            .data = data,
            .parameters = (const char *const *)o->parameters,
            .command = (const char *const *)o->command,
            .kernel = o->kernel ? o->kernel
                      : again   ? json_str(fold_last_start(again->then), "kernel")
                                : NULL,
            .seed = o->seed ? o->seed
                    : again ? again->seed
                            : NULL,
            .no_git = o->no_git,
            .reports = o->detach ? (const char *const *)reports : NULL,
            .redo = (const char *const *)o->redo,
            .keep = o->stale ? (const char *const *)o->stale->keep : NULL,
            .again = o->stale ? (const char *const *)o->stale->again : NULL,
            .accept_drift = o->accept_drift,
            .protect = (const char *const *)o->protect,
            .allow_protected = (const char *const *)o->allow_protected,
            .read_only = o->read_only,
            .allow_errors = o->allow_errors,
            .no_preflight = o->no_preflight,
            .output = r->said > 0 ? r->said : 0,
            .headless = true,
            .detach = o->detach,
            .sandbox = o->sandbox,
            .processes = o->processes,
        },
        &e);
}

static int help_notebook(struct cli *cli, const char *path, bool json)
{
    err e = {0};
    notebook *nb = notebook_load(path, &e);
    int result = nb ? parameters_help(nb, path, json, &e) : -1;
    notebook_free(nb);
    if (result < 0)
        e.code = ERR_USAGE;
    return result < 0 ? cli_error(cli, &e) : 0;
}

// The notebook and working folder of a repeated run: the original ones. If that folder is gone, as
// after a move or a copy from another machine, the folder in which the run was found.
static char *place_again(const struct again *a, const char *folder, struct run_options *o)
{
    if (path_is_dir(a->cwd)) {
        o->cwd = o->cwd ? o->cwd : a->cwd;
        return mem_strdup(a->path);
    }
    o->cwd = o->cwd ? o->cwd : folder;
    AUTO_FREE char *name = path_basename(a->path);
    return path_join(o->cwd, name);
}

// --from: options that are not given are as they were then; effects must be granted again.
static int repeat(struct cli *cli, struct run_options *o, struct run *r)
{
    err e = {0};
    CLEANUP(again_done) struct again again = {0};
    int code = check_options(cli, o, r);
    if (code)
        return code;
    AUTO_FREE char *folder = cli_runs_folder(cli, o->cwd, o->from);
    if (again_open(folder, o->from, &again, &e) < 0)
        return cli_error(cli, &e);
    r->again = &again;
    AUTO_FREE char *path = place_again(&again, folder, o);
    o->sandbox |= again.sandbox && !o->context && !o->kubeconfig;
    code = run_start(cli, o, path, r);
    r->again = NULL;
    return code;
}

// papermill's second argument: "in.ipynb out.ipynb" is "in.ipynb --report out.ipynb".
static void take_report(struct run_options *o, char **rest)
{
    if (!rest || strv_len(rest) != 2 || !str_ends(rest[1], ".ipynb"))
        return;
    o->reports = strv_add(o->reports, rest[1]);
    free(STEAL(rest[1]));
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct run_options o = {0};
    const struct option options[] = {
        NOTEBOOK_OPTIONS(o),
        {"help-notebook", 0, NULL, "list the notebook's parameters: type, default, comment",
            .given = &o.help_notebook},
        {"allow", 0, "CLASSES", "effects that are granted: cluster,destructive", .list = &o.allow},
        {"read-only", 0, NULL, "refuse every effect of class cluster or destructive",
            .given = &o.read_only},
        {"allow-errors", 0, NULL,
            "an error of a cell is shown, and the run goes on, as with the tag raises-exception",
            .given = &o.allow_errors},
        {"allow-protected", 0, "CONTEXT",
            "with --allow: effects are granted in this protected context, too; may be repeated",
            .list = &o.allow_protected},
        {"sandbox", 0, NULL,
            "run against a private cluster that ends with the run; processes: its pods are plain "
            "processes, where users may make no namespaces",
            .word = "processes", .given = &o.sandbox, .text = &o.processes},
        {"output", 'o', "plain|json|junit", "what is printed; json: the journal's events",
            .text = &o.output},
        {"report", 0, "FILE",
            "write the run as FILE.ipynb, .md, .html or .xml (JUnit), also when it fails; "
            "repeatable",
            .list = &o.reports},
        {"timeout", 0, "DURATION", "of the whole run: 90s, 15m, 2h", .text = &o.timeout},
        {"memory", 0, "SIZE", "limit of the cells' memory: 512M, 2G", .text = &o.memory},
        {"resume", 0, "RUN", "go on with a run: effects it did are verified, not repeated",
            .text = &o.resume},
        {"from", 0, "RUN",
            "do a run again, from its own record: source, parameters, seed; and compare",
            .text = &o.from},
        {"stale", 0, NULL, "only what no longer holds of the newest run in which all cells passed",
            .given = &o.only_stale},
        {"list", 0, NULL, "with --stale: only say what would run, and why", .given = &o.list},
        {"redo", 0, "CELL",
            "with --resume or --stale: do again what in CELL (its title or id) cannot be verified",
            .list = &o.redo},
        {"accept-drift", 0, NULL,
            "with --resume or --stale: take objects as they are that were changed",
            .given = &o.accept_drift},
        {"no-preflight", 0, NULL, "do not look first what stands in the way: the cluster, secrets",
            .given = &o.no_preflight},
        {"kernel", 'k', "NAME",
            "the Jupyter kernel that runs the notebook's cells, instead of the one that it names",
            .text = &o.kernel},
        {"seed", 0, "N", "of math.random, to repeat a run's numbers; else a new one",
            .text = &o.seed},
        {"no-git", 0, NULL, "do not record the notebook's commit", .given = &o.no_git},
        {"detach", 0, NULL, "print the run's name and leave it running", .given = &o.detach},
        {0},
    };
    char **rest = NULL;
    int code;
    struct run r = {.cli = cli, .said = -1};
    static char printed[1 << 16];
    if (!cli->out_tty) // writes output that came together in one go
        setvbuf(stdout, printed, _IOFBF, sizeof printed);
    o.command = parameters_hidden(argc, argv);
    if (options_parse(cli, &run_verb, options, argc, argv, &rest, &code) == 0) {
        take_report(&o, rest);
        size_t n = rest ? strv_len(rest) : 0;
        r.detach = o.detach;
        r.reports = o.reports;
        if (o.only_stale && n == 1) {
            if ((code = check_options(cli, &o, &r)) == 0)
                code = run_stale(cli, &o, rest[0], &r);
        } else if (o.from && n)
            code = cli_usage(
                cli, &run_verb, "--from has the notebook of its run: leave %s out", rest[0]);
        else if (o.from)
            code = repeat(cli, &o, &r);
        else if (n != 1)
            code = cli_usage(cli, &run_verb, n ? "one notebook at a time" : "which notebook?");
        else if (o.help_notebook)
            code = help_notebook(cli, rest[0], str_eq(o.output, "json"));
        else if ((code = check_options(cli, &o, &r)) == 0)
            code = run_start(cli, &o, rest[0], &r);
    }
    mem_leave(STEAL(r.fold));
    run_close(&r);
    if (rest)
        strv_free(rest);
    strv_free(o.command);
    if (o.allow)
        strv_free(o.allow);
    if (o.parameters)
        strv_free(o.parameters);
    if (o.files)
        strv_free(o.files);
    strv_free(o.yaml);
    strv_free(o.protect);
    strv_free(o.allow_protected);
    if (o.redo)
        strv_free(o.redo);
    if (o.reports)
        strv_free(o.reports);
    return code;
}

const struct verb run_verb = {
    .name = "run",
    .summary = "run a notebook from the first cell to the last, without asking",
    .usage =
        "NOTEBOOK [-p NAME=VALUE]… [-f FILE] [--allow cluster,destructive]\n"
        "                     [--sandbox | --context NAME [--registry HOST]]\n\n"
        "Exit code: 0 all cells passed, 1 a cell failed, 2 wrong usage, 3 refused (see --allow,\n"
        "--redo, --accept-drift), 4 out of time, 5 a result of --from has moved, 130 interrupted.\n"
        "--resume takes parameters and cluster from the run where nothing else is given.",
    .run = run,
};
