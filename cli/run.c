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
#include "base/path.h"
#include "base/str.h"
#include "cli/again.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/parameters.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/stale.h"
#include "script/journal/reader.h"
#include "script/journal/staleplan.h"
#include "script/journal/writer.h"
#include "script/protocol/client.h"
#include "script/protocol/launch.h"
#include "script/report/junit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum form { FORM_PLAIN, FORM_JSON, FORM_JUNIT };
enum {
    ROUNDS = 4,          // of --stale: what turns out to be stale is done in the next one
    PATIENCE_MS = 10000, // the wait after an interrupt, before a stronger signal
    MOVED = 5,           // exit code: with --from, results are others
    PRINTED_ROWS = 100,  // of a live table are kept: later ones are aligned with them
};

struct run {
    struct cli *cli;
    enum form form;
    bool detach;
    char **reports;
    loop *loop;
    client *client;
    fold *fold;
    printer *printer;
    loop_timer *patience;
    loop_signal *signals[3];
    int interrupts;
    pid_t guard, kernel;
    char *spool_dir;
    bool welcome, ended;
    struct again *again; // the run that it repeats; NULL: none
    int said; // what a detached kernel prints, to be told if it does not begin; -1: nothing
    err lost; // why the connection ended, if it should not have
};

static void interrupt(struct run *r)
{
    static const message_type means[] = {MESSAGE_interrupt, MESSAGE_shutdown};
    int step = r->interrupts++;
    if (step < 2 && r->client)
        client_send(r->client, message_new(means[step]));
    else if (r->kernel > 0)
        kill(r->kernel, SIGKILL); // its guard ends the rest
    loop_timer_start(r->patience, PATIENCE_MS, 0);
}

static void on_signal(void *arg, int signum)
{
    struct run *r = arg;
    if (r->form == FORM_PLAIN) {
        printer_clear(r->printer);
        static const char *const said[] = {
            "interrupting; once more stops the kernel", "stopping", "killing it"};
        say(stderr, "firesteel: %s\n", said[r->interrupts < 2 ? r->interrupts : 2]);
    }
    interrupt(r);
}

static void on_patience(void *arg)
{
    interrupt(arg);
}

static void on_welcome(struct run *r, const cJSON *message)
{
    r->welcome = true;
    r->kernel = (pid_t)json_int_or(message, "pid", 0);
    const char *file = json_str_or(message, "journal", "");
    size_t n = strlen(file);
    r->spool_dir = mem_strndup(file, n > 6 ? n - 6 : n); // without ".jsonl"
    printer_spools(r->printer, r->spool_dir);
    if (!r->detach)
        return;
    const char *run = json_str_or(message, "run", "");
    AUTO_JSON *json = cJSON_CreateObject();
    json_set_str(json, "run", run);
    if (r->form == FORM_JSON)
        say_json(json, 0);
    else
        say(stdout, "%s\n", run);
    loop_stop(r->loop);
}

static void on_event(void *arg, message_type type, const cJSON *message)
{
    struct run *r = arg;
    if (type == MESSAGE_welcome) {
        on_welcome(r, message);
        return;
    }
    if (!json_get(message, "seq") || r->detach)
        return; // a reply to us, not part of the run
    fold_event(r->fold, message, NULL);
    if (r->form == FORM_JSON)
        say_json(message, 0);
    else if (r->form == FORM_PLAIN)
        printer_event(r->printer, message);
    if (type == MESSAGE_end)
        r->ended = true;
    bool tells = type == MESSAGE_state || type == MESSAGE_kernel;
    int64_t limit = tells ? json_int_or(message, "limit", 0) : 0;
    if (limit > 0 && r->interrupts == 1) // a clean-up runs, and will end by itself
        loop_timer_start(r->patience, (uint64_t)limit + PATIENCE_MS, 0);
}

static void on_paused(void *arg)
{
    struct run *r = arg;
    fflush(stdout);
    if (ferror(stdout) && r->interrupts == 0)
        interrupt(r); // nobody reads our output any more
}

static void on_closed(void *arg, const err *reason)
{
    struct run *r = arg;
    on_paused(r);
    r->lost = *reason;
    loop_stop(r->loop);
}

static const struct client_ops client_callbacks = {
    .event = on_event, .paused = on_paused, .closed = on_closed};

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

struct run_options {
    const char *output, *cwd, *timeout, *resume, *context, *namespace_, *kubeconfig, *registry,
        *memory, *seed, *from;
    const struct stale *stale; // --stale: what is done; NULL: all
    char **command;            // as it was typed, secrets hidden
    char **allow, **parameters, **files, **redo, **reports, **yaml, **protect, **allow_protected;
    bool read_only, only_stale, list, help_notebook, sandbox, detach, accept_drift, no_preflight,
        no_git;
};

static int check_document(
    const notebook *nb, const char *path, const struct run_options *o, char ***given, err *e)
{
    int result = notebook_runs(nb, e);
    if (result < 0)
        err_wrap(e, "%s", path);
    else
        result = parameters_settle(nb, o->files, o->yaml, given, e);
    for (char *const *p = o->redo; result == 0 && p && *p; p++)
        result = check_redo(nb, *p, e);
    return result;
}

// What is wrong with the file or its parameters is said before anything is started; what is wrong
// with its cells the kernel says, before it runs the first.
static int check(const char *path, const struct run_options *o, char ***given, err *e)
{
    notebook *nb = notebook_load(path, e);
    if (!nb)
        return -1;
    int result = check_document(nb, path, o, given, e);
    notebook_free(nb);
    return result;
}

static bool listen_to_signals(struct run *r, err *e)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction hang_up;
    sigaction(SIGHUP, NULL, &hang_up);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if ((signals[i] != SIGHUP || hang_up.sa_handler != SIG_IGN) && // as nohup wants
            !(r->signals[i] = loop_signal_new(r->loop, signals[i], on_signal, r, e)))
            return false;
    return true;
}

static void close_all(struct run *r)
{
    client_free(r->client);
    for (size_t i = 0; i < ARRAY_LEN(r->signals); i++)
        loop_signal_free(r->signals[i]);
    loop_timer_free(r->patience);
    if (r->loop)
        loop_free(r->loop);
    printer_free(r->printer);
    fold_free(r->fold);
    free(r->spool_dir);
    if (r->said >= 0)
        close(r->said);
}

// Waits for the guard: when it has ended, no process of the kernel is left.
static int wait_for(pid_t guard)
{
    int status;
    while (waitpid(guard, &status, 0) < 0)
        if (errno != EINTR)
            return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int write_reports(struct run *r)
{
    err e = {0};
    return reports_write(r->reports, r->fold, r->spool_dir, &e) < 0 ? cli_error(r->cli, &e) : 0;
}

// A detached kernel does not have our standard error.
static void tell_said(const struct run *r)
{
    char text[4096];
    ssize_t n = r->said >= 0 ? pread(r->said, text, sizeof text, 0) : 0;
    say(stderr, "%.*s", n > 0 ? (int)n : 0, text);
}

static int finish(struct run *r, int code)
{
    if (r->form == FORM_PLAIN && r->ended) {
        print_summary(r->cli, r->fold);
    } else if (r->form == FORM_JUNIT) {
        AUTO_BUF xml = {0};
        junit_print(r->fold, r->spool_dir, &xml);
        say(stdout, "%s", buf_cstr(&xml));
    } else if (r->ended && code && fold_message(r->fold)) {
        say(stderr, "firesteel: %s\n", fold_message(r->fold));
    }
    bool never_began = !r->welcome && code > 0 && code < 128; // the kernel itself has said why
    if (never_began)
        tell_said(r);
    if (!r->ended && !never_began) {
        err e = {0};
        err_set(&e, ERR_FAILED, "the kernel ended before the run did%s%s", r->lost.code ? ": " : "",
            r->lost.text);
        if (fold_run(r->fold))
            err_set(&e, ERR_FAILED, "%s\n`firesteel show %s` shows what was journaled", e.text,
                fold_run(r->fold));
        cli_error(r->cli, &e);
        code = code ? code : 1;
        if (r->interrupts)
            code = 130;
        fold_abandon(r->fold);
    }
    int reported = write_reports(r);
    bool moved =
        r->again && r->ended &&
        again_compare(r->again, r->fold, r->spool_dir, r->form == FORM_PLAIN ? stdout : stderr);
    return code ? code : reported ? reported : moved ? MOVED : 0;
}

// The fold to start with: the earlier part of a resumed run is known, but is not shown again.
static fold *fold_before(const struct run *r, const struct launch *launch, err *e)
{
    if (!launch->resume || r->form == FORM_JSON) // the JSON form prints the whole journal
        return fold_new();
    AUTO_FREE char *path = journal_file(launch->cwd, launch->resume);
    return fold_file(path, NULL, e);
}

static int conduct(struct run *r, const struct launch *launch, err *e)
{
    int fd;
    signal(SIGPIPE, SIG_IGN); // a reader that goes away interrupts the run; it must not kill us
    r->fold = fold_before(r, launch, e);
    if (!r->fold)
        return cli_error(r->cli, e);
    if (r->form == FORM_PLAIN && !r->reports && !r->again)
        fold_keep_rows(r->fold, PRINTED_ROWS);
    r->printer = printer_new(r->cli, r->fold);
    r->loop = loop_new(e);
    if (!r->loop || !listen_to_signals(r, e) || launch_kernel(launch, &r->guard, &fd, e) < 0)
        return cli_error(r->cli, e);
    r->patience = loop_timer_new(r->loop, on_patience, r);
    r->client = client_from_fd(r->loop, fd, &client_callbacks, r, e);
    if (!r->client) {
        kill(r->guard, SIGTERM);
        return cli_error(r->cli, e);
    }
    client_hello(r->client, (int64_t)fold_seq(r->fold), !r->detach, false);
    loop_run(r->loop);
    if (r->detach && r->welcome)
        return 0;
    int code = wait_for(r->guard);
    return finish(r, code);
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
        return cli_usage(cli, &run_verb, "%s is for --resume: which run?",
            o->redo ? "--redo" : "--accept-drift");
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

// The guard of a detached run is not where we are.
static char **absolute(char *const *paths, err *e)
{
    char **list = NULL;
    for (; paths && *paths; paths++) {
        AUTO_FREE char *path = path_absolute(*paths, e);
        list = strv_add(list, path ? path : *paths);
    }
    return list;
}

static int start(struct cli *cli, struct run_options *o, const char *file, struct run *r)
{
    err e = {0};
    const struct again *again = r->again;
    int wrong = parameters_read(o->parameters, &e);
    if (wrong == 0)
        wrong = again ? check_document(fold_notebook(again->then), file, o, &o->parameters, &e)
                      : check(file, o, &o->parameters, &e);
    if (wrong == 0 && again)
        wrong = again_parameters(again, &o->parameters, &e);
    if (wrong) {
        e.code = ERR_USAGE; // nothing was run
        return cli_error(cli, &e);
    }
    bool moved;
    AUTO_FREE char *cwd = cli_work_folder(cli, o->cwd, file, &moved, &e);
    AUTO_FREE char *program = cwd ? cli_program(cli, "firesteel-kernel", &e) : NULL;
    AUTO_FREE char *sockets = program ? cli_runtime_dir(cli, &e) : NULL;
    AUTO_FREE char *path = sockets ? path_absolute(file, &e) : NULL;
    AUTO_FREE char *resume = path && o->resume ? journal_find(cwd, o->resume, &e) : NULL;
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
    AUTO_FREE char *run = resume ? mem_strdup(resume) : journal_run_name(name, clock_wall());
    AUTO_FREE char *socket = str_fmt("%s/%s.sock", sockets, run);
    if (o->detach)
        r->said = memfd_create("kernel", MFD_CLOEXEC);
    AUTO_FREE char *allow = joined(o->allow), *data = cli_data_dir(cli);
    return conduct(r,
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
            .no_preflight = o->no_preflight,
            .output = r->said > 0 ? r->said : 0,
            .headless = true,
            .detach = o->detach,
            .sandbox = o->sandbox,
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

// --from: what is not said is as it was then; effects are granted anew.
static int repeat(struct cli *cli, struct run_options *o, struct run *r)
{
    err e = {0};
    CLEANUP(again_done) struct again again = {0};
    int code = check_options(cli, o, r);
    if (code)
        return code;
    if (again_open(o->cwd ? o->cwd : ".", o->from, &again, &e) < 0)
        return cli_error(cli, &e);
    r->again = &again;
    o->cwd = o->cwd ? o->cwd : again.cwd;
    o->sandbox |= again.sandbox && !o->context && !o->kubeconfig;
    code = start(cli, o, again.path, r);
    r->again = NULL;
    return code;
}

// What is said of one round. When cells are printed, so is this; else it is no part of the output.
static void tell_plan(const struct stale *s, const struct run *r, const char *output, bool list)
{
    if (list && str_eq(output, "json"))
        stale_print_json(s);
    else
        stale_print(s, r->form == FORM_PLAIN ? stdout : stderr);
    if (stale_holds(s) && !(list && str_eq(output, "json")))
        say(r->form == FORM_PLAIN ? stdout : stderr, "nothing is stale\n");
    fflush(stdout);
}

static int plan_stale(
    struct cli *cli, struct run_options *o, const char *file, const char *word, struct stale *s)
{
    err e = {0};
    bool moved;
    AUTO_FREE char *cwd = cli_work_folder(cli, o->cwd, file, &moved, &e);
    notebook *nb = cwd ? notebook_load(file, &e) : NULL;
    int result = nb ? check_document(nb, file, o, &o->parameters, &e) : -1;
    notebook_free(nb);
    o->files = o->yaml = NULL; // they are among the parameters now
    if (result == 0)
        result = stale_open(cwd, file, word, o->parameters, s, &e);
    if (result == 0)
        return 0;
    e.code = ERR_USAGE;
    return cli_error(cli, &e);
}

// One round; *over: nothing is left to be done.
static int run_round(struct cli *cli, struct run_options *o, const char *file, char **word,
    bool first, struct run *r, bool *over)
{
    const struct run begin = {.cli = r->cli, .form = r->form, .reports = r->reports, .said = -1};
    CLEANUP(stale_done) struct stale s = {0};
    int code = plan_stale(cli, o, file, *word, &s);
    *over = code || o->list || stale_holds(&s) || (!first && !stale_plan_count(s.plan, "anew"));
    if (code == 0 && (first || !*over))
        tell_plan(&s, r, o->output, o->list);
    if (*over)
        return code;
    if (!first && r->form != FORM_PLAIN) { // it has printed a whole run
        *over = true;
        return 0;
    }
    close_all(r);
    *r = begin;
    free(*word);
    *word = mem_strdup(s.run);
    o->stale = &s;
    o->resume = *word;
    code = start(cli, o, file, r);
    o->stale = NULL;
    o->resume = NULL;
    return code;
}

// All rounds were used, and all cells of them passed.
static int tell_rest(struct cli *cli, struct run_options *o, const char *file, const char *word)
{
    CLEANUP(stale_done) struct stale s = {0};
    int code = plan_stale(cli, o, file, word, &s);
    size_t left = code == 0 ? stale_plan_count(s.plan, "anew") : 0;
    if (left == 0)
        return code;
    say(stderr,
        "firesteel: after %d rounds %zu cells are still stale: what they need has another value "
        "each time (`--stale --list` names them)\n",
        ROUNDS, left);
    return 1;
}

// Runs what is stale, and then what that has made stale: a cell that was run only for what it
// leaves may have found something else than before.
static int run_stale(struct cli *cli, struct run_options *o, const char *file, struct run *r)
{
    err e = {0};
    char **files = o->files, **yaml = o->yaml;
    AUTO_FREE char *word = mem_strdup(o->from);
    bool over = false;
    int code = parameters_read(o->parameters, &e);
    if (code)
        return cli_error(cli, &e);
    o->from = NULL;
    for (int round = 0; code == 0 && !over && round < ROUNDS; round++)
        code = run_round(cli, o, file, &word, round == 0, r, &over);
    if (code == 0 && !over)
        code = tell_rest(cli, o, file, word);
    o->files = files;
    o->yaml = yaml;
    return code;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct run_options o = {0};
    const struct option options[] = {
        {"param", 'p', "NAME=VALUE",
            "a parameter of the notebook (NAME@FILE: a file has it); may be repeated",
            .list = &o.parameters},
        {"parameters-file", 'f', "FILE",
            "YAML or JSON with a value for each NAME; -p wins over it; may be repeated",
            .list = &o.files},
        {"parameters-yaml", 'y', "YAML",
            "such a mapping itself: '{epochs: 3, sizes: [1, 2]}'; wins over files, -p over it",
            .list = &o.yaml},
        {"help-notebook", 0, NULL, "list the notebook's parameters: type, default, comment",
            .given = &o.help_notebook},
        {"allow", 0, "CLASSES", "effects that are granted: cluster,destructive", .list = &o.allow},
        {"read-only", 0, NULL, "refuse every effect of class cluster or destructive",
            .given = &o.read_only},
        {"protect", 0, "PATTERN", "contexts to protect as the kubeconfig may; may be repeated",
            .list = &o.protect},
        {"allow-protected", 0, "CONTEXT",
            "with --allow: effects are granted in this protected context, too; may be repeated",
            .list = &o.allow_protected},
        {"sandbox", 0, NULL, "run against a private cluster that ends with the run",
            .given = &o.sandbox},
        {"context", 0, "NAME", "context of the kubeconfig", .text = &o.context},
        {"namespace", 'n', "NAME", "namespace", .text = &o.namespace_},
        {"kubeconfig", 0, "FILE", "another kubeconfig", .text = &o.kubeconfig},
        {"registry", 0, "HOST[/PREFIX]", "where images go that name no registry",
            .text = &o.registry},
        {"output", 'o', "plain|json|junit", "what is printed; json: the journal's events",
            .text = &o.output},
        {"report", 0, "FILE",
            "write the run as FILE.ipynb, .md, .html or .xml (JUnit), also when it fails; "
            "repeatable",
            .list = &o.reports},
        {"cwd", 0, "DIR", "working folder, instead of the notebook's own", .text = &o.cwd},
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
        {"no-preflight", 0, NULL, "do not look first what stands in the way on the cluster",
            .given = &o.no_preflight},
        {"seed", 0, "N", "of math.random, to repeat a run's numbers; else a new one",
            .text = &o.seed},
        {"no-git", 0, NULL, "do not record the notebook's commit", .given = &o.no_git},
        {"detach", 0, NULL, "print the run's name and leave it running", .given = &o.detach},
        {0},
    };
    char **rest = NULL;
    int code;
    struct run r = {.cli = cli, .said = -1};
    o.command = parameters_hidden(argc, argv);
    if (options_parse(cli, &run_verb, options, argc, argv, &rest, &code) == 0) {
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
            code = start(cli, &o, rest[0], &r);
    }
    close_all(&r);
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
