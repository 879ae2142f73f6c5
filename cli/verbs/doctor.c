// SPDX-License-Identifier: MIT
// firesteel doctor: what this machine and the cluster have for firesteel, and what to do about what
// is missing. All programs are asked at the same time, and none gets more than WAIT_MS.
#include "cli/verbs/doctor.h"

#include "base/clock.h"
#include "base/loop/child.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/host.h"
#include "cli/options.h"
#include "cli/places.h"
#include "cli/say.h"
#include "script/jupyter/spec.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { WAIT_MS = 4500, SERVERS_MS = 4000, ASKED_MOST = 8 };

static const char *const health_names[] = {
#define X(name, text) text,
    HEALTHS(X)
#undef X
};

void doctor_found(struct doctor *d, const char *name, enum health health, const char *remedy,
    const char *fmt, ...)
{
    AUTO_BUF text = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    cJSON *finding = cJSON_CreateObject();
    json_set_str(finding, "name", name);
    json_set_str(finding, "state", health_names[health]);
    json_set_str(finding, "text", buf_cstr(&text));
    json_set_str(finding, "remedy", remedy);
    cJSON_AddItemToArray(d->findings, finding);
}

struct round;
// A program that is asked, and its output.
struct asked {
    struct round *round;
    const char *name;
    child *child;
    buf out;
    bool ended;
    int code;
    void (*judge)(struct doctor *d, struct asked *a);
};
struct round {
    struct doctor *doctor;
    loop *loop;
    struct asked list[ASKED_MOST];
    size_t n, running;
};

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct asked *a = arg;
    if (a->out.len < 1 << 20)
        buf_add(&a->out, bytes, n);
}

static void on_exited(void *arg, int code, int signal)
{
    struct asked *a = arg;
    a->ended = true;
    a->code = code;
    if (--a->round->running == 0)
        loop_stop(a->round->loop);
}

static void on_late(void *arg)
{
    struct round *r = arg;
    loop_stop(r->loop);
}

static void ask(struct round *r, const char *name, const char *const *argv,
    void (*judge)(struct doctor *d, struct asked *a))
{
    static const struct child_ops ops = {.output = on_output, .exited = on_exited};
    struct asked *a = &r->list[r->n++];
    err e = {0};
    *a = (struct asked){.round = r, .name = name, .judge = judge, .code = -1};
    struct child_spec spec = {.argv = argv, .merge_output = true};
    a->child = child_spawn(r->loop, &spec, &ops, a, &e);
    if (a->child) {
        r->running++;
    } else {
        a->ended = true;
        a->code = e.code == ERR_NOT_FOUND ? 127 : 126;
        buf_str(&a->out, e.text);
    }
}

// The first line of a program's output.
static const char *first_line(struct asked *a)
{
    char *text = (char *)buf_cstr(&a->out);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static void judge_worker(struct doctor *d, struct asked *a)
{
    if (a->code == 0)
        doctor_found(d, "worker", HEALTH_OK, NULL, "%s", first_line(a));
    else
        doctor_found(d, "worker", HEALTH_FAIL,
            "install firesteel again: its programs belong together", "%s",
            a->ended ? first_line(a) : "firesteel-worker does not answer");
}

static void judge_namespaces(struct doctor *d, struct asked *a)
{
    if (a->code == 0) {
        doctor_found(d, "bubblewrap", HEALTH_OK, NULL, "it works: pods of a sandbox are confined");
        doctor_found(d, "namespaces", HEALTH_OK, NULL, "users may make them");
    } else if (a->code == 127) {
        doctor_found(d, "bubblewrap", HEALTH_WARN,
            "apt install bubblewrap (dnf, apk: the same name)",
            "it is not installed: pods of a sandbox have no images");
    } else {
        doctor_found(d, "bubblewrap", HEALTH_OK, NULL, "installed");
        doctor_found(d, "namespaces", HEALTH_WARN,
            "sysctl user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1, as root",
            "users may make none: pods of a sandbox have no images");
    }
}

// The kernel's findings, one a line, also if it did not finish in time.
static void judge_cluster(struct doctor *d, struct asked *a)
{
    size_t n = 0;
    for (const char *line = buf_cstr(&a->out); *line;) {
        size_t length = strcspn(line, "\n");
        cJSON *finding = json_parse(line, length, NULL);
        if (json_str(finding, "name") && json_str(finding, "state") && json_str(finding, "text"))
            n += cJSON_AddItemToArray(d->findings, finding);
        else
            cJSON_Delete(finding);
        line += length + (line[length] == '\n');
    }
    if (!a->ended)
        doctor_found(d, n ? "rights" : "cluster", HEALTH_FAIL,
            "is the address right, is a VPN or a proxy needed?", "no answer within %d seconds",
            WAIT_MS / 1000);
    else if (n == 0)
        doctor_found(d, "cluster", HEALTH_FAIL, NULL, "%s", first_line(a));
}

// What does not work without a plug-in of the worker, and where the plug-in comes from: a package,
// or an archive of the bundle.
static void look_at_plugin(struct doctor *d, const char *name, const char *const *places,
    const char *package, const char *archive, const char *without)
{
    AUTO_FREE char *loader = place_beside_loader(".");
    AUTO_FREE char *plugin = cli_find(d->cli, places);
    // It stays loaded until we end: libmpich does not free what it allocates at its start.
    void *library = plugin ? dlopen(plugin, RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (library)
        doctor_found(d, name, HEALTH_OK, NULL, "%s loads", plugin);
    else
        doctor_found(d, name, HEALTH_WARN, loader ? archive : package, "%s: %s", without,
            plugin ? dlerror() : "the plug-in is missing");
}

static void look_at_plugins(struct doctor *d)
{
    static const char *const mpi[] = {
        "../trainer/dist/firesteel-mpi.so", LIBEXECDIR "/firesteel-mpi.so", NULL};
    static const char *const dnn[] = {
        "../trainer/dnn/firesteel-dnn.so", LIBEXECDIR "/firesteel-dnn.so", NULL};
    look_at_plugin(d, "mpi", mpi, "apt install libmpich12 (dnf: mpich)",
        "unpack the archive -mpi.tar.zst where this bundle was unpacked",
        "ranks on this machine share memory and need no more; jobs over several machines do not "
        "run");
    look_at_plugin(d, "onednn", dnn, "apt install libdnnl2 (Debian 13: libdnnl3.6, dnf: onednn)",
        "unpack the bundle again: it has been packed with oneDNN, or was made without",
        "convolutions run by own kernels here, which are slower");
}

struct served {
    char *names; // of kernelspecs that start us; NULL: none
    char *broken;
};

static void note_served(void *arg, const struct spec *s)
{
    struct served *all = arg;
    AUTO_FREE char *program = path_basename(s->argv[0]);
    if (!str_eq(program, "firesteel"))
        return;
    char *names = all->names ? str_fmt("%s, %s", all->names, s->name) : mem_strdup(s->name);
    free(all->names);
    all->names = names;
    if (!path_exists(s->argv[0]) && !all->broken)
        all->broken = mem_strdup(s->argv[0]);
}

// Are we a kernel of JupyterLab here? Nothing is said where nobody has asked for it.
static void look_at_kernelspecs(struct doctor *d)
{
    struct served all = {0};
    spec_each(&(struct spec_places){.env = d->cli->env, .cwd = d->cli->cwd}, note_served, &all);
    if (all.broken)
        doctor_found(d, "kernelspec", HEALTH_WARN,
            "`firesteel kernelspec list` tells which; install it again",
            "a kernel of JupyterLab starts %s, which is not there", all.broken);
    else if (all.names)
        doctor_found(
            d, "kernelspec", HEALTH_OK, NULL, "JupyterLab runs notebooks in Lua: %s", all.names);
    free(all.names);
    free(all.broken);
}

// The kernel that would run a notebook in Python here.
static void look_at_jupyter(struct doctor *d)
{
    err e = {0};
    struct spec python = {0};
    struct spec_places places = {.env = d->cli->env, .cwd = d->cli->cwd};
    AUTO_FREE char *program = cli_program(d->cli, "firesteel-jupyter", &e);
    AUTO_FREE char *loader = place_beside_loader(".");
    if (!program)
        doctor_found(d, "jupyter", HEALTH_WARN,
            loader ? "unpack the archive -jupyter.tar.zst where this bundle was unpacked"
                   : "build firesteel with libzmq (Debian: libzmq3-dev)",
            "firesteel-jupyter is not here: cells in Python and other languages do not run");
    else if (spec_find(&places, NULL, false, "python", &python, &e) < 0)
        doctor_found(d, "jupyter", HEALTH_WARN,
            "pip install ipykernel, in a virtual environment (.venv is found by itself)",
            "%s: cells in Python do not run",
            e.code == ERR_NOT_FOUND ? "there is no Jupyter kernel for Python" : e.text);
    else
        doctor_found(d, "jupyter", HEALTH_OK, NULL, "%s: %s, %s%s", python.name, python.title,
            python.prefix ? python.prefix : python.path,
            strstr(python.title, "ipykernel") ? "; while ipykernel runs, it has a TCP port on "
                                                "127.0.0.1 (firesteel itself opens none)"
                                              : "");
    spec_done(&python);
}

struct chosen {
    const char *context, *namespace_, *kubeconfig, *registry, *output, *format;
};

static char **examine_words(struct cli *cli, const struct chosen *c, err *e)
{
    AUTO_FREE char *kernel = cli_program(cli, "firesteel-kernel", e);
    AUTO_FREE char *ms = str_fmt("%d", SERVERS_MS);
    const char *const pairs[][2] = {{"--examine", ms}, {"--context", c->context},
        {"--namespace", c->namespace_}, {"--kubeconfig", c->kubeconfig},
        {"--registry", c->registry}};
    char **words = kernel ? strv_add(NULL, kernel) : NULL;
    for (size_t i = 0; words && i < ARRAY_LEN(pairs); i++)
        if (pairs[i][1])
            words = strv_add(strv_add(words, pairs[i][0]), pairs[i][1]);
    return words;
}

// Tries bubblewrap with this program; NULL: with `true`.
static void ask_bubblewrap(struct round *r, const char *program)
{
    char **words = host_try_namespaces(r->doctor->cli, program ? program : "true");
    ask(r, "bubblewrap", (const char *const *)words, judge_namespaces);
    strv_free(words);
}

static void ask_all(struct round *r, const struct chosen *c)
{
    struct doctor *d = r->doctor;
    err e = {0};
    AUTO_FREE char *worker = cli_program(d->cli, "firesteel-worker", &e);
    char **words = examine_words(d->cli, c, &e);
    if (e.code)
        doctor_found(d, "programs", HEALTH_FAIL, "install firesteel again", "%s", e.text);
    if (words)
        ask(r, "cluster", (const char *const *)words, judge_cluster);
    if (worker)
        ask(r, "worker", (const char *const[]){worker, "--version", NULL}, judge_worker);
    ask_bubblewrap(r, worker);
    strv_free(words);
}

// Programs and servers work on their answers while we check this machine.
static int examine(struct doctor *d, const struct chosen *c, err *e)
{
    struct round r = {.doctor = d, .loop = loop_new(e)};
    if (!r.loop)
        return -1;
    loop_timer *late = loop_timer_new(r.loop, on_late, &r);
    loop_timer_start(late, WAIT_MS, 0);
    ask_all(&r, c);
    doctor_look(d);
    look_at_plugins(d);
    look_at_jupyter(d);
    look_at_kernelspecs(d);
    if (r.running)
        loop_run(r.loop);
    for (size_t i = r.n; i-- > 0;) {
        r.list[i].judge(d, &r.list[i]);
        child_free(r.list[i].child);
        buf_done(&r.list[i].out);
    }
    loop_timer_free(late);
    loop_free(r.loop);
    return 0;
}

static void print_plain(const struct doctor *d)
{
    static const enum tone tones[] = {TONE_GOOD, TONE_WARN, TONE_BAD};
    const cJSON *f;
    cJSON_ArrayForEach(f, d->findings)
    {
        size_t i = 0;
        while (i + 1 < ARRAY_LEN(health_names) && !str_eq(json_str(f, "state"), health_names[i]))
            i++;
        say_tone(d->cli, tones[i]);
        say(stdout, "%-4s", health_names[i]);
        say_tone(d->cli, TONE_PLAIN);
        say(stdout, "  %-11s  %s\n", json_str(f, "name"), json_str(f, "text"));
        if (json_str(f, "remedy"))
            say(stdout, "                   %s %s\n", d->cli->utf8 ? "→" : "->",
                json_str(f, "remedy"));
    }
}

static int doctor(struct cli *cli, const struct chosen *c)
{
    AUTO_JSON *findings = cJSON_CreateArray();
    struct doctor d = {.cli = cli, .findings = findings};
    err e = {0};
    if (examine(&d, c, &e) < 0)
        return cli_error(cli, &e);
    if (str_eq(c->output, "json") || str_eq(c->format, "json"))
        say_json(findings, 2);
    else
        print_plain(&d);
    const cJSON *f;
    int code = 0;
    cJSON_ArrayForEach(f, findings) code = str_eq(json_str(f, "state"), "fail") ? 1 : code;
    return code;
}

static bool is_form(const char *form)
{
    return !form || str_eq(form, "json") || str_eq(form, "plain");
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct chosen c = {0};
    const struct option options[] = {
        {"context", 0, "NAME", "context of the kubeconfig", .text = &c.context},
        {"namespace", 'n', "NAME", "namespace", .text = &c.namespace_},
        {"kubeconfig", 0, "FILE", "another kubeconfig", .text = &c.kubeconfig},
        {"registry", 0, "HOST[/PREFIX]", "the registry to look at", .text = &c.registry},
        {"output", 'o', "plain|json", "as a table, or as JSON", .text = &c.output},
        {"format", 0, "plain|json", "the same", .text = &c.format},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &doctor_verb, options, argc, argv, &rest, &code) == 0) {
        if (rest)
            code = cli_usage(cli, &doctor_verb, "it takes no arguments");
        else if (!is_form(c.output) || !is_form(c.format))
            code = cli_usage(cli, &doctor_verb, "the output is plain or json");
        else
            code = doctor(cli, &c);
    }
    strv_free(rest);
    return code;
}

const struct verb doctor_verb = {
    .name = "doctor",
    .summary = "say what is missing on this machine and on the cluster, and what to do about it",
    .usage =
        "[--context NAME] [-n NAMESPACE] [--registry HOST] [-o json]\n\n"
        "Terminal, locale, folders, worker, MPI, bubblewrap and user namespaces, the cluster\n"
        "(version, rights) and the registry, each ok, warn or fail, with what to do. Takes five\n"
        "seconds at most. Exit code: 0, or 1 when something fails; what only warns keeps some\n"
        "of firesteel from working.",
    .run = run,
};
