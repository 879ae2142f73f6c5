// SPDX-License-Identifier: MIT
// firesteel-kernel: parses options, then starts the guard, then the kernel. People start it through
// `firesteel`.
#include "script/kernel/session/kernel.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/entry.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/host.h"
#include "cli/kernel/bundling.h"
#include "cli/kernel/checking.h"
#include "cli/kernel/cleaning.h"
#include "cli/kernel/examine.h"
#include "cli/kernel/link.h"
#include "cli/kernel/podverbs.h"
#include "cli/kernel/remoting.h"
#include "cli/report.h"
#include "cli/say.h"
#include "k8s/image/oci.h"
#include "script/api/bindings.h"
#include "script/journal/file/reader.h"
#include "script/journal/fold/fold.h"
#include "script/journal/runs/runs.h"
#include "script/kernel/cells/compile.h"
#include "script/kernel/process/guard.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFUSAL                                                                                    \
    "this cell does not say that it uses the cluster: write effects=\"cluster\" on its marker "    \
    "line (a notebook in Python of which no cell says anything gets it by --allow cluster)\n"

struct arguments {
    struct kernel_options options;
    struct cleaning clean;
    struct remoting remoting;
    struct podverb podverb;
    const char *cwd, *bundle;
    char **protect, **allow_protected;
    char **parameters, **redo, **keep, **again, **check, **report, **command;
    fold *past; // of a run to go on with, or to clean
    int examine, level;
    bool sandbox, json, help, version, refuse_credentials;
};

// X(option, kind of its value, where it goes in struct arguments, what it does)
#define OPTIONS(X)                                                                                 \
    X(notebook, TEXT, options.notebook, "FILE       the notebook")                                 \
    X(name, TEXT, options.name, "NAME           what its run is named after, when FILE is a copy") \
    X(recover, TEXT, options.recover, "JOURNAL     take the document from a journal instead")      \
    X(cwd, TEXT, cwd, "DIR             the working folder (else where it is started)")             \
    X(run, TEXT, options.run, "RUN             the run's name (else made of name and time)")       \
    X(resume, TEXT, options.resume, "RUN          go on with a run of the working folder")         \
    X(redo, LIST, redo, "CELL           with --resume: may be done again; any number")             \
    X(keep, LIST, keep, "ID             with --resume: this cell does not run again; any number")  \
    X(again, LIST, again, "ID            with --resume: this cell is done anew; any number")       \
    X(accept_drift, FLAG, options.accept_drift,                                                    \
        "       with --resume: objects that were changed since are taken as they are")             \
    X(socket, TEXT, options.socket, "PATH         listen there for clients")                       \
    X(client_fd, NUMBER, options.client_fd, "FD        a connected client")                        \
    X(allow, TEXT, options.allow, "EFFECTS       cluster,destructive: granted to a headless run")  \
    X(allow_errors, FLAG, options.allow_errors, "       goes on after a cell that fails")          \
    X(read_only, FLAG, options.read_only, "          nothing is changed elsewhere")                \
    X(protect, LIST, protect, "PATTERN     contexts where each effect is asked for; any number")   \
    X(allow_protected, LIST, allow_protected,                                                      \
        "CONTEXT where a headless run may have effects all the same; any number")                  \
    X(timeout, DURATION, options.timeout_ns, "DURATION    of the whole run")                       \
    X(lifetime, DURATION, options.lifetime_ns,                                                     \
        "DURATION   how long it stays when nobody uses it (0: no longer than its last client)")    \
    X(memory, SIZE, options.memory, "SIZE         cap of Lua's memory, as 512M or 4G (2G)")        \
    X(context, TEXT, options.cluster.context, "NAME        of the kubeconfig")                     \
    X(namespace, TEXT, options.cluster.namespace_, "NAME      of the cluster")                     \
    X(kubeconfig, TEXT, options.cluster.kubeconfig, "PATH     else $KUBECONFIG")                   \
    X(registry, TEXT, options.cluster.registry, "HOST[/PREFIX] for images that name none")         \
    X(images, TEXT, options.paths.images, "DIR          the local image store")                    \
    X(data, TEXT, options.paths.data, "DIR            where data sets are looked for, too")        \
    X(param, LIST, parameters, "NAME=VALUE    a parameter of the notebook; any number")            \
    X(params_fd, STRINGS, parameters, "FD        more of them, each with a NUL at its end")        \
    X(command_fd, STRINGS, command, "FD       the command line to be recorded, in the same way")   \
    X(from, TEXT, options.from, "RUN            the run that it repeats, to be recorded")          \
    X(kernel, TEXT, options.kernel,                                                                \
        "NAME         the Jupyter kernel that runs the notebook's cells")                          \
    X(seed, TEXT, options.seed, "N              of math.random; a resumed run keeps its own")      \
    X(no_git, FLAG, options.no_git, "             does not record the notebook's commit")          \
    X(report, LIST, report,                                                                        \
        "FILE         written by the guard when the run has ended; any number")                    \
    X(no_preflight, FLAG, options.no_preflight,                                                    \
        "       headless: does not look first what stands in the way: the cluster, secrets")       \
    X(headless, FLAG, options.headless, "           execute the notebook, then end")               \
    X(detach, FLAG, options.detach, "             headless, and outlive the client")               \
    X(bound, FLAG, options.bound,                                                                  \
        "              ends with the client that started it, whatever it holds; edits are lost")   \
    X(sandbox, FLAG, sandbox, "            with a private sandbox")                                \
    X(processes, FLAG, options.processes,                                                          \
        "          with --sandbox: its pods are plain processes")                                  \
    X(clean, TEXT, clean.run, "RUN           list and remove what a run has left, instead")        \
    X(dry_run, FLAG, clean.dry_run, "            with --clean: only list")                         \
    X(yes, FLAG, clean.yes, "                with --clean: do not ask")                            \
    X(check, LIST, check,                                                                          \
        "FILE         only say what keeps this notebook from being run; any number")               \
    X(json, FLAG, json, "               with --check: each as an object of JSON")                  \
    X(bundle, TEXT, bundle, "DIR          only pack the installed tree that it belongs to")        \
    X(level, NUMBER, level, "N             with --bundle: of compression, 1 to 22 (19)")           \
    X(examine, NUMBER, examine,                                                                    \
        "MS        only say what cluster and registry have; for so long at most")                  \
    X(exec, TEXT, remoting.pod,                                                                    \
        "POD             only run a command in this pod, on this terminal")                        \
    X(word, LIST, remoting.command, "WORD            with --exec: of the command; any number")     \
    X(container, TEXT, remoting.container, "NAME       with --exec and --copy-from: of the pod")   \
    X(stdin, FLAG, remoting.input, "               with --exec: it gets this input")               \
    X(tty, FLAG, remoting.tty, "                 with --exec: it gets a terminal")                 \
    X(copy_from, TEXT, podverb.copy_from,                                                          \
        "PLACE      only copy this: a path here, or [NAMESPACE/]POD:PATH")                         \
    X(copy_to, TEXT, podverb.copy_to, "PLACE        with --copy-from: to there")                   \
    X(forward, TEXT, podverb.forward,                                                              \
        "POD          only lead ports of this machine into this pod")                              \
    X(port, LIST, podverb.ports, "HERE:THERE      with --forward; any number")                     \
    X(address, TEXT, podverb.address, "ADDRESS      with --forward: to listen on")                 \
    X(refuse_credentials, FLAG, refuse_credentials,                                                \
        " the credential plug-in of cells that may not use the cluster")                           \
    X(help, FLAG, help, "               this")                                                     \
    X(version, FLAG, version, "")

enum kind { KIND_FLAG, KIND_TEXT, KIND_NUMBER, KIND_DURATION, KIND_SIZE, KIND_LIST, KIND_STRINGS };

static const struct {
    const char *name;
    enum kind kind;
    size_t offset; // in struct arguments
    const char *help;
} option_table[] = {
#define X(name, kind, field, help) {#name, KIND_##kind, offsetof(struct arguments, field), help},
    OPTIONS(X)
#undef X
};
enum { FIRST_OPTION = 256 }; // getopt returns this for the first option of the table

// The identifier "client_fd" is the option "client-fd".
static char *spelled(const char *name)
{
    char *option = mem_strdup(name);
    for (char *c = option; *c; c++)
        if (*c == '_')
            *c = '-';
    return option;
}

static int print_help(void)
{
    say(stdout, "Usage: firesteel-kernel --notebook FILE [OPTION]…\n"
                "Runs one notebook. People start it with `firesteel`.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(option_table); i++) {
        AUTO_FREE char *name = spelled(option_table[i].name);
        say(stdout, "  --%s %s\n", name, option_table[i].help);
    }
    return 0;
}

static struct option *long_options(void)
{
    struct option *list = mem_array(ARRAY_LEN(option_table) + 1, sizeof *list);
    for (size_t i = 0; i < ARRAY_LEN(option_table); i++)
        list[i] = (struct option){spelled(option_table[i].name), option_table[i].kind != KIND_FLAG,
            NULL, FIRST_OPTION + (int)i};
    return list;
}

static int fail(const err *e)
{
    say(stderr, "firesteel: %s\n", e->text);
    return err_exit_code(e->code);
}

static int parse_number(const char *text, int *number, err *e)
{
    int64_t value;
    if (!str_to_int(text, &value) || value < 0 || value > 1 << 20)
        return err_set(e, ERR_USAGE, "%s is no number that fits", text);
    *number = (int)value;
    return 0;
}

// Reads all strings from a descriptor, which no child may inherit.
static int read_strings(const char *text, char ***list, err *e)
{
    int fd = -1;
    AUTO_BUF all = {0};
    if (parse_number(text, &fd, e) < 0)
        return -1;
    for (ssize_t n = 1; n > 0;) {
        char bytes[4096];
        n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno != EINTR)
            return err_errno(e, errno, "descriptor %d", fd);
        buf_add(&all, bytes, n > 0 ? (size_t)n : 0);
        n = n < 0 ? 1 : n;
    }
    close(fd);
    for (size_t i = 0; i < all.len; i += strlen(all.data + i) + 1)
        *list = strv_add(*list, buf_cstr(&all) + i);
    explicit_bzero(all.data, all.len);
    return 0;
}

static int take_option(struct arguments *a, size_t i, const char *value, err *e)
{
    void *target = (char *)a + option_table[i].offset;
    switch (option_table[i].kind) {
    case KIND_FLAG:
        *(bool *)target = true;
        return 0;
    case KIND_TEXT:
        *(const char **)target = value;
        return 0;
    case KIND_NUMBER:
        return parse_number(value, target, e);
    case KIND_DURATION:
        return duration_parse(value, target, e);
    case KIND_SIZE:
        return cli_size(value, target, e);
    case KIND_LIST:
        *(char ***)target = strv_add(*(char ***)target, value);
        return 0;
    case KIND_STRINGS:
        return read_strings(value, target, e);
    }
    return -1;
}

static int parse_arguments(int argc, char **argv, struct arguments *a, err *e)
{
    struct option *options = long_options();
    int result = 0, option;
    while (result == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option < FIRST_OPTION)
            // getopt has printed the reason
            result = err_set(e, ERR_USAGE, "wrong usage; --help tells more");
        else if ((result = take_option(a, (size_t)(option - FIRST_OPTION), optarg, e)) < 0)
            err_wrap(e, "--%s", options[option - FIRST_OPTION].name);
    }
    for (struct option *o = options; o->name; o++)
        free((char *)o->name);
    free(options);
    if (result == 0 && optind < argc)
        return err_set(e, ERR_USAGE, "unexpected argument \"%s\"; --help tells more", argv[optind]);
    return result;
}

// Finds our programs and the files that come with them. A missing one stays NULL; whoever needs it
// reports that.
static void find_paths(struct cli *cli, struct call_paths *p)
{
    static const char *const plugins[] = {
        "../trainer/dist/firesteel-mpi.so", LIBEXECDIR "/firesteel-mpi.so", NULL};
    static const char *const dnns[] = {
        "../trainer/dnn/firesteel-dnn.so", LIBEXECDIR "/firesteel-dnn.so", NULL};
    static const char *const commands[] = {"./firesteel", BINDIR "/firesteel", NULL};
    static const char *const mains[] = {
        "../../script/worker/job/spark.py", DATADIR "/spark.py", NULL};
    static const char *const pythons[] = {"../script/python", DATADIR "/python", NULL};
    static const char *const shares[] = {"../../recipes", DATADIR, NULL};
    p->worker = cli_program(cli, "firesteel-worker", NULL);
    p->jupyter = cli_program(cli, "firesteel-jupyter", NULL);
    p->plugin = cli_find(cli, plugins);
    p->dnn = cli_find(cli, dnns);
    p->firesteel = cli_find(cli, commands);
    p->kernel = cli_program(cli, "firesteel-kernel", NULL);
    p->spark_main = cli_find(cli, mains);
    p->python = cli_find(cli, pythons);
    p->share = cli_find(cli, shares);
    if (!p->images)
        p->images = cli_images_dir(cli, NULL);
    if (!p->data)
        p->data = cli_getenv(cli, "FIRESTEEL_DATA");
}

// Options that are missing on the command line are taken from the run's start, or its last resume.
static void take_past(struct arguments *a)
{
    struct kernel_options *o = &a->options;
    const cJSON *cluster = fold_cluster(a->past);
    o->past = fold_last_start(a->past);
    o->past_cluster = cluster;
    bool named = o->cluster.context || o->cluster.kubeconfig;
    if (!o->kernel)
        o->kernel = json_str(o->past, "kernel");
    if (json_bool_or(fold_first(a->past), "sandbox", false)) {
        a->sandbox |= !named;
        o->processes |= !named && json_bool_or(cluster, "processes", false);
        return;
    }
    if (!o->cluster.kubeconfig)
        o->cluster.kubeconfig = json_str(o->past, "kubeconfig");
    if (!o->cluster.registry)
        o->cluster.registry = json_str(o->past, "registry");
    if (!o->cluster.namespace_ && !named)
        o->cluster.namespace_ = json_str(cluster, "namespace");
    if (!named)
        o->cluster.context = json_str(cluster, "context");
}

static int read_past(struct arguments *a, err *e)
{
    const char *name = a->clean.run ? a->clean.run : a->options.resume;
    AUTO_FREE char *run = name ? runs_pick(a->options.cwd, NULL, name, e) : NULL;
    if (!name || a->sandbox)
        return 0;
    AUTO_FREE char *path = run ? journal_file(a->options.cwd, run) : NULL;
    a->past = path ? fold_file(path, NULL, e) : NULL;
    if (!a->past)
        return -1;
    take_past(a);
    return 0;
}

static int check_registry(const char *registry, err *e)
{
    oci_registry parts = {0};
    if (registry && oci_registry_parse(registry, &parts, e) < 0)
        return err_wrap(e, "--registry");
    oci_registry_done(&parts);
    return 0;
}

// A context or a kubeconfig that was named is not first missed when a cell is about to use it.
static int check_cluster(const struct kernel_options *o, err *e)
{
    ERR_GUARD(e);
    struct client_options options = link_options(o);
    kubeconfig *found = kubeconfig_load(&options, e);
    kubeconfig_free(found);
    if (!found)
        e->code = ERR_USAGE; // nothing was run
    return found ? 0 : -1;
}

static int find_kernel(void *options, const struct kernel_wanted *w, err *e)
{
    const struct kernel_options *o = options;
    struct call_paths paths = o->paths;
    AUTO_FREE char *folder = path_dirname(o->notebook);
    paths.notebook_dir = folder;
    return jupyter_find(&paths, o->cwd, o->env, w->name, w->wish, w->language, e);
}

// The common part of running and cleaning; changes to the working folder.
static int prepare(struct cli *cli, struct arguments *a, err *e)
{
    struct kernel_options *o = &a->options;
    bool named = o->headless && !a->sandbox && (o->cluster.context || o->cluster.kubeconfig);
    AUTO_FREE char *here = path_absolute(".", e);
    o->cwd = here ? path_absolute(a->cwd ? a->cwd : ".", e) : NULL;
    if (!o->cwd)
        return -1;
    if (o->cluster.kubeconfig)
        o->cluster.kubeconfig = cli_kubeconfig_list(o->cluster.kubeconfig, here);
    if (chdir(o->cwd) < 0)
        return err_errno(e, errno, "the working folder %s", o->cwd);
    o->env = cli->env;
    o->bindings = all_bindings;
    o->actions = k8s_actions;
    o->where = k8s_where;
    o->guarded = k8s_guarded;
    o->find_kernel = find_kernel;
    o->protect = (const char *const *)a->protect;
    o->allow_protected = (const char *const *)a->allow_protected;
    o->self = cli_program(cli, "firesteel-kernel", e);
    if (read_past(a, e) < 0)
        return -1;
    if (!a->examine && check_registry(o->cluster.registry, e) < 0) // otherwise it becomes a finding
        return -1;
    o->kubeconfig = o->cluster.kubeconfig;
    if (!o->cluster.kubeconfig)
        o->cluster.kubeconfig = cli_kubeconfig(cli, here);
    find_paths(cli, &o->paths);
    if (named && check_cluster(o, e) < 0)
        return -1;
    return o->self ? 0 : -1;
}

static int takes_images(void *cli, err *e)
{
    return host_takes_images(cli, e);
}

// A kernel that is started again keeps its sandbox. Cuts that from the note, which is new.
static char *take_note(struct arguments *a, const char *note)
{
    const char *sandbox = strstr(note, KERNEL_NOTE_SANDBOX);
    a->sandbox |= sandbox != NULL;
    a->options.processes |= sandbox && str_eq(sandbox, KERNEL_NOTE_PROCESSES);
    return mem_strndup(note, sandbox ? (size_t)(sandbox - note) : strlen(note));
}

// left: the note of a kernel before a restart; "" for the first kernel.
static int run(struct cli *cli, struct arguments *a, const char *left)
{
    struct kernel_options *o = &a->options;
    err e = {0};
    AUTO_FREE char *note = take_note(a, left);
    if (!o->notebook)
        return fail(&(err){ERR_USAGE, "--notebook is missing"});
    // Names on the command line are relative to the folder in which we were started.
    AUTO_FREE char *file = path_absolute(o->notebook, &e);
    AUTO_FREE char *socket = o->socket ? path_join(cli->cwd, o->socket) : NULL;
    if ((!file && !*note) || prepare(cli, a, &e) < 0)
        return fail(&e);
    if (!o->name)
        o->name = cli_notebook_name(o->notebook);
    if (file)
        o->notebook = file;
    o->socket = socket;
    o->room = o->headless ? 0 : cli_kept_memory(cli);
    o->runtime = cli_runtime_dir(cli, &e);
    if (!o->runtime)
        return fail(&e);
    o->recover = *note ? note : o->recover;
    if (*note)
        o->run = o->resume = NULL; // after a restart it is a new run
    o->parameters = *note ? NULL : (const char *const *)a->parameters;
    o->redo = (const char *const *)a->redo;
    o->keep = (const char *const *)a->keep;
    o->again = (const char *const *)a->again;
    o->command = (const char *const *)a->command;
    o->sandbox = a->sandbox;
    o->sandbox_program = cli_program(cli, "firesteel-sandbox", &e);
    if (a->sandbox && !o->sandbox_program)
        return fail(&e);
    e = (err){0};
    o->takes_images = takes_images;
    o->images_arg = cli;
    int exit_code = kernel_run(o, &e);
    return exit_code < 0 ? fail(&e) : exit_code;
}

static int clean(struct cli *cli, struct arguments *a)
{
    err e = {0};
    return prepare(cli, a, &e) < 0 ? fail(&e) : cleaning_run(cli, &a->options, &a->clean);
}

static int examine(struct cli *cli, struct arguments *a)
{
    err e = {0};
    return prepare(cli, a, &e) < 0 ? fail(&e) : examine_run(&a->options, a->examine);
}

static int remote(struct cli *cli, struct arguments *a)
{
    err e = {0};
    if (prepare(cli, a, &e) < 0)
        return fail(&e);
    a->podverb.container = a->remoting.container;
    return a->remoting.pod      ? remoting_run(&a->options, &a->remoting)
           : a->podverb.forward ? podverb_forward(&a->options, &a->podverb)
                                : podverb_copy(cli, &a->options, &a->podverb);
}

// A verb that goes into a pod, outside of any run.
static bool is_remote(const struct arguments *a)
{
    return a->remoting.pod || a->podverb.forward || a->podverb.copy_from;
}

struct reporting {
    const struct arguments *arguments;
    struct cli *cli;
    char *mark; // RUN.report in the folder of run-time files, which `firesteel wait` looks at
    int owner;
};

static int begin_reporting(struct reporting *r, err *e)
{
    const struct kernel_options *o = &r->arguments->options;
    const char *run = o->run ? o->run : o->resume;
    AUTO_FREE char *runtime = cli_runtime_dir(r->cli, e);
    if (!run)
        return err_set(e, ERR_USAGE, "--report needs --run or --resume");
    r->mark = runtime ? report_mark(runtime, run) : NULL;
    r->owner = r->mark ? owner_take(r->mark, e) : -1;
    return r->owner < 0 ? -1 : 0;
}

// In a child of the guard: reports that can be written before the end (reports_save).
static void save_reports(void *arg)
{
    const struct reporting *r = arg;
    const struct arguments *a = r->arguments;
    AUTO_FREE char *folder = path_absolute(a->cwd ? a->cwd : ".", NULL);
    if (folder)
        reports_save_run(a->report, folder, a->options.run ? a->options.run : a->options.resume);
}

// In the guard: also of a kernel that was killed.
static int write_reports(void *arg, int exit_code)
{
    struct reporting *r = arg;
    const struct arguments *a = r->arguments;
    const char *run = a->options.run ? a->options.run : a->options.resume;
    err e = {0};
    AUTO_FREE char *folder = path_absolute(a->cwd ? a->cwd : ".", &e);
    if (folder && reports_write_run(a->report, folder, run, &e) < 0 && exit_code == 0)
        exit_code = fail(&e);
    owner_remove(r->mark, &r->owner);
    free(STEAL(r->mark));
    return exit_code;
}

static int check_notebooks(struct cli *cli, struct arguments *a)
{
    find_paths(cli, &a->options.paths);
    a->options.env = cli->env;
    a->options.cwd = cli->cwd;
    a->options.find_kernel = find_kernel;
    AUTO_FREE char *list = a->options.cluster.kubeconfig || a->options.cluster.context
                               ? cli_kubeconfig_list(a->options.cluster.kubeconfig, cli->cwd)
                               : NULL;
    AUTO_FREE char *usual = a->options.cluster.context ? cli_kubeconfig(cli, cli->cwd) : NULL;
    a->options.cluster.kubeconfig = a->options.cluster.kubeconfig ? list : usual;
    return checking_run(a->check, &a->options, a->json);
}

int main(int argc, char **argv)
{
    err e = {0};
    // Static: the memory that it points to lives as long as the process, and is no leak.
    static struct arguments a = {.options = {.client_fd = -1, .memory = (size_t)2 << 30}};
    static struct cli cli;
    cli = (struct cli){.env = (const char *const *)environ, .cwd = getcwd(NULL, 0)};
    const char *note = "";
    if (parse_arguments(argc, argv, &a, &e) < 0)
        return fail(&e);
    if (a.help)
        return print_help();
    if (a.version) {
        say(stdout, "firesteel-kernel %s\n", FIRESTEEL_VERSION);
        return 0;
    }
    if (a.refuse_credentials) {
        say(stderr, "%s", REFUSAL);
        return 1;
    }
    if (a.check)
        return check_notebooks(&cli, &a);
    if (a.bundle)
        return bundling_run(&cli, a.bundle, a.level);
    a.clean.run || a.examine || is_remote(&a) ? entry_join() : entry_serve(a.options.client_fd);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); // a file over the limit makes its write fail, as a full disk does
    if (a.clean.run)
        return clean(&cli, &a);
    if (a.examine)
        return examine(&cli, &a);
    if (is_remote(&a))
        return remote(&cli, &a);
    static struct reporting reporting = {.arguments = &a, .cli = &cli};
    if (a.report && begin_reporting(&reporting, &e) < 0)
        return fail(&e);
    // A client that the run belongs to has heard all of it, and does that without reading.
    bool heard = a.options.headless && !a.options.detach;
    struct guard_end end = {.left = heard ? NULL : runs_ended,
        .meanwhile = a.report ? save_reports : NULL,
        .fn = a.report ? write_reports : NULL,
        .arg = &reporting};
    if (guard_start(&note, &end, &e) < 0)
        return fail(&e);
    return run(&cli, &a, note);
}
