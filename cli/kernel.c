// SPDX-License-Identifier: MIT
// firesteel-kernel: options to values, the guard first, then the kernel. People start it through
// `firesteel`.
#include "script/kernel/kernel.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "script/kernel/guard.h"

#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct binding *const bindings[] = {
    image_bindings, k8s_bindings, shell_bindings, trainer_bindings, NULL};

#define REFUSAL                                                                                    \
    "this cell does not say that it uses the cluster: write effects=\"cluster\" on its marker "    \
    "line\n"

// X(option, takes an argument, what it does)
#define OPTIONS(X)                                                                                 \
    X(notebook, 1, "FILE       the notebook")                                                      \
    X(name, 1, "NAME           what its run is named after, when FILE is a copy")                  \
    X(recover, 1, "JOURNAL     take the document from a journal instead")                          \
    X(cwd, 1, "DIR             the working folder (else where it is started)")                     \
    X(run, 1, "RUN             the run's name (else made of name and time)")                       \
    X(resume, 1, "RUN          go on with a run of the working folder")                            \
    X(socket, 1, "PATH         listen there for clients")                                          \
    X(client_fd, 1, "FD        a connected client")                                                \
    X(allow, 1, "EFFECTS       cluster,destructive: granted to a headless run")                    \
    X(timeout, 1, "DURATION    of the whole run")                                                  \
    X(memory, 1, "SIZE         cap of Lua's memory, as 512M or 4G (2G)")                           \
    X(context, 1, "NAME        of the kubeconfig")                                                 \
    X(namespace, 1, "NAME      of the cluster")                                                    \
    X(kubeconfig, 1, "PATH     else $KUBECONFIG")                                                  \
    X(images, 1, "DIR          the local image store")                                             \
    X(data, 1, "DIR            where data sets are looked for, too")                               \
    X(param, 1, "NAME=VALUE    a parameter of the notebook; any number")                           \
    X(headless, 0, "           execute the notebook, then end")                                    \
    X(detach, 0, "             headless, and outlive the client")                                  \
    X(sandbox, 0, "            with a private sandbox")                                            \
    X(refuse_credentials, 0, " the credential plug-in of cells that may not use the cluster")      \
    X(help, 0, "               this")                                                              \
    X(version, 0, "")

enum kernel_option {
    OPT_first = 256,
#define X(name, argument, text) OPT_##name,
    OPTIONS(X)
#undef X
};

static const struct {
    const char *name;
    int argument;
    const char *text;
} option_table[] = {
#define X(name, argument, text) {#name, argument, text},
    OPTIONS(X)
#undef X
};

// "client_fd" as an identifier is "client-fd" as an option.
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
    printf("Usage: firesteel-kernel --notebook FILE [OPTION]…\n"
           "Runs one notebook. People start it with `firesteel`.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(option_table); i++) {
        AUTO_FREE char *name = spelled(option_table[i].name);
        printf("  --%s %s\n", name, option_table[i].text);
    }
    return 0;
}

static struct option *long_options(void)
{
    struct option *list = mem_array(ARRAY_LEN(option_table) + 1, sizeof *list);
    for (size_t i = 0; i < ARRAY_LEN(option_table); i++)
        list[i] = (struct option){
            spelled(option_table[i].name), option_table[i].argument, NULL, OPT_first + 1 + (int)i};
    return list;
}

static int fail(err *e, const char *doing)
{
    if (doing)
        err_wrap(e, "%s", doing);
    fprintf(stderr, "firesteel-kernel: %s\n", e->text);
    return err_exit_code(e->code);
}

// "512M", "4G": bytes.
static int parse_size(const char *text, size_t *size, err *e)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    unsigned shift = *end == 'G' ? 30 : *end == 'M' ? 20 : 0;
    if (!shift || end[1] || n == 0 || n > SIZE_MAX >> shift || end == text)
        return err_set(e, ERR_USAGE, "--memory %s: a size is written like 512M or 4G", text);
    *size = (size_t)n << shift;
    return 0;
}

struct arguments {
    struct kernel_options options;
    const char *cwd;
    char **parameters;
    bool sandbox, help, version, refuse;
};

static int parse_number(const char *name, const char *text, int *number, err *e)
{
    int64_t value;
    if (!str_to_int(text, &value) || value < 0 || value > 1 << 20)
        return err_set(e, ERR_USAGE, "--%s %s: a number is expected", name, text);
    *number = (int)value;
    return 0;
}

static int take_option(struct arguments *a, int option, const char *value, err *e)
{
    struct kernel_options *o = &a->options;
    switch (option) {
    case OPT_notebook:
        o->notebook = value;
        return 0;
    case OPT_name:
        o->name = value;
        return 0;
    case OPT_recover:
        o->recover = value;
        return 0;
    case OPT_cwd:
        a->cwd = value;
        return 0;
    case OPT_run:
        o->run = value;
        return 0;
    case OPT_resume:
        o->resume = value;
        return 0;
    case OPT_socket:
        o->socket = value;
        return 0;
    case OPT_client_fd:
        return parse_number("client-fd", value, &o->client_fd, e);
    case OPT_allow:
        o->allow = value;
        return 0;
    case OPT_timeout:
        return duration_parse(value, &o->timeout_ns, e);
    case OPT_memory:
        return parse_size(value, &o->memory, e);
    case OPT_context:
        o->cluster.context = value;
        return 0;
    case OPT_namespace:
        o->cluster.namespace_ = value;
        return 0;
    case OPT_kubeconfig:
        o->cluster.kubeconfig = value;
        return 0;
    case OPT_images:
        o->paths.images = value;
        return 0;
    case OPT_data:
        o->paths.data = value;
        return 0;
    case OPT_param:
        a->parameters = strv_add(a->parameters, value);
        return 0;
    case OPT_headless:
        o->headless = true;
        return 0;
    case OPT_detach:
        o->detach = true;
        return 0;
    case OPT_sandbox:
        a->sandbox = true;
        return 0;
    case OPT_refuse_credentials:
        a->refuse = true;
        return 0;
    case OPT_help:
        a->help = true;
        return 0;
    case OPT_version:
        a->version = true;
        return 0;
    }
    return err_set(e, ERR_USAGE, "wrong usage; --help tells more"); // getopt has said what
}

static int parse_arguments(int argc, char **argv, struct arguments *a, err *e)
{
    struct option *options = long_options();
    int result = 0, option;
    while (result == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1)
        result = take_option(a, option, optarg, e);
    for (struct option *o = options; o->name; o++)
        free((char *)o->name);
    free(options);
    if (result == 0 && optind < argc)
        return err_set(e, ERR_USAGE, "what is \"%s\"? --help tells more", argv[optind]);
    return result;
}

// Where our programs and what ships with them are; what is not there stays NULL, and who needs it
// says so.
static void find_paths(struct cli *cli, struct call_paths *p)
{
    static const char *const plugins[] = {
        "../trainer/dist/firesteel-mpi.so", LIBEXECDIR "/firesteel-mpi.so", NULL};
    static const char *const mpiexecs[] = {"mpiexec.hydra", NULL}, *const proxies[] = {
                                                                       "hydra_pmi_proxy", NULL};
    static const char *const mains[] = {"../../script/worker/spark.py", DATADIR "/spark.py", NULL};
    static const char *const shares[] = {"../../recipes", DATADIR, NULL};
    p->worker = cli_program(cli, "firesteel-worker", NULL);
    p->plugin = cli_find(cli, plugins);
    p->mpiexec = cli_find(cli, mpiexecs);
    p->pmi_proxy = cli_find(cli, proxies);
    p->spark_main = cli_find(cli, mains);
    p->share = cli_find(cli, shares);
    if (!p->images)
        p->images = cli_images_dir(cli);
    if (!p->data)
        p->data = cli_getenv(cli, "FIRESTEEL_DATA");
}

static char *home_kubeconfig(struct cli *cli)
{
    const char *home = cli_getenv(cli, "HOME");
    char *path = home ? path_join(home, ".kube/config") : NULL;
    if (path && !path_exists(path))
        free(STEAL(path));
    return path;
}

static int run(struct cli *cli, struct arguments *a, const char *note)
{
    struct kernel_options *o = &a->options;
    err e = {0};
    if (!o->notebook)
        return fail(&(err){ERR_USAGE, "--notebook is missing"}, NULL);
    // Names on the command line are relative to where we are started; the working folder comes
    // after.
    AUTO_FREE char *notebook = path_absolute(o->notebook, &e);
    AUTO_FREE char *socket = o->socket ? path_join(cli->cwd, o->socket) : NULL;
    AUTO_FREE char *cwd = path_absolute(a->cwd ? a->cwd : ".", &e);
    if ((!notebook && !*note) || !cwd || chdir(cwd) < 0)
        return fail(&e, NULL);
    AUTO_FREE char *name = cli_notebook_name(o->notebook);
    o->notebook = notebook ? notebook : o->notebook;
    o->socket = socket;
    o->cwd = cwd;
    o->name = o->name ? o->name : name;
    o->recover = *note ? note : o->recover;
    o->parameters = *note ? NULL : (const char *const *)a->parameters;
    o->env = cli->env;
    o->bindings = bindings;
    o->self = cli_program(cli, "firesteel-kernel", &e);
    o->sandbox = a->sandbox ? cli_program(cli, "firesteel-sandbox", &e) : NULL;
    if (!o->self || (a->sandbox && !o->sandbox))
        return fail(&e, NULL);
    if (!o->cluster.kubeconfig)
        o->cluster.kubeconfig = cli_getenv(cli, "KUBECONFIG");
    if (!o->cluster.kubeconfig)
        o->cluster.kubeconfig = home_kubeconfig(cli);
    find_paths(cli, &o->paths);
    int exit_code = kernel_run(o, &e);
    return exit_code < 0 ? fail(&e, NULL) : exit_code;
}

int main(int argc, char **argv)
{
    err e = {0};
    struct arguments a = {.options = {.client_fd = -1, .memory = (size_t)2 << 30}};
    char *folder = getcwd(NULL, 0);
    struct cli cli = {.env = (const char *const *)environ, .cwd = folder};
    const char *note = "";
    if (parse_arguments(argc, argv, &a, &e) < 0)
        return fail(&e, NULL);
    if (a.help)
        return print_help();
    if (a.version)
        return printf("firesteel-kernel %s\n", FIRESTEEL_VERSION) < 0;
    if (a.refuse) {
        fputs(REFUSAL, stderr);
        return 1;
    }
    if (guard_start(&note, &e) < 0)
        return fail(&e, NULL);
    signal(SIGPIPE, SIG_IGN);
    mallopt(M_ARENA_MAX, 2); // two threads; the idle kernel stays small
    int exit_code = run(&cli, &a, note);
    strv_free(a.parameters);
    free(folder);
    return exit_code;
}
