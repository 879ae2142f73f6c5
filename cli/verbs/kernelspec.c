// SPDX-License-Identifier: MIT
// firesteel kernelspec: makes firesteel known to Jupyter as a kernel.
#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/jupyter/kerneloptions.h"
#include "cli/jupyter/serve.h"
#include "cli/places.h"
#include "cli/say.h"
#include "script/jupyter/spec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "firesteel"

struct asked {
    const char *name, *title, *prefix;
    bool user, sys_prefix, json;
    struct serve_options kernel;
};

static bool is_ours(const struct spec *s)
{
    AUTO_FREE char *program = path_basename(s->argv[0]);
    return str_eq(program, "firesteel") && str_eq(s->argv[1], "jupyter");
}

static struct spec_places places_of(const struct cli *cli)
{
    return (struct spec_places){.env = cli->env, .cwd = cli->cwd};
}

// Where they are.

static int check_name(const char *name, err *e)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    if (!*name || name[n] || *name == '.')
        return err_set(e, ERR_USAGE,
            "--name \"%s\": a kernel's name has letters, digits, ., _ and -",
            str_short(name, 100).text);
    return 0;
}

// The folder of Jupyter's data in which to install; new.
static char *target(struct cli *cli, const struct asked *a, err *e)
{
    ERR_GUARD(e);
    struct spec_places places = places_of(cli);
    if (a->prefix) {
        AUTO_FREE char *prefix = path_absolute(a->prefix, e);
        return prefix ? path_join(prefix, "share/jupyter") : NULL;
    }
    if (a->sys_prefix) {
        AUTO_FREE char *environment = spec_environment(&places);
        if (environment)
            return path_join(environment, "share/jupyter");
        err_set(e, ERR_NOT_FOUND,
            "--sys-prefix: no virtual environment is active here; `--prefix DIR` names one");
        return NULL;
    }
    char *folder = spec_user_folder(cli->env);
    if (!folder)
        err_set(e, ERR_NOT_FOUND, "$HOME is not set; `--prefix DIR` says where to install");
    return folder;
}

// install

static void add(cJSON *argv, const char *text)
{
    cJSON_AddItemToArray(argv, cJSON_CreateString(text));
}

static void add_option(cJSON *argv, const char *name, const char *value)
{
    if (!value)
        return;
    add(argv, name);
    add(argv, value);
}

static cJSON *argv_of(struct cli *cli, const struct asked *a, const char *program)
{
    const struct serve_options *o = &a->kernel;
    AUTO_FREE char *kubeconfig =
        o->kubeconfig ? cli_kubeconfig_list(o->kubeconfig, cli->cwd) : NULL;
    cJSON *argv = cJSON_CreateArray();
    add(argv, program);
    add(argv, "jupyter");
    add_option(argv, "-f", "{connection_file}");
    add_option(argv, "--allow", o->allow);
    add_option(argv, "--context", o->context);
    add_option(argv, "--namespace", o->namespace_);
    add_option(argv, "--kubeconfig", kubeconfig);
    add_option(argv, "--registry", o->registry);
    add_option(argv, "--memory", o->memory);
    for (char **p = o->protect; p && *p; p++)
        add_option(argv, "--protect", *p);
    if (o->sandbox)
        add(argv, o->processes ? "--sandbox=processes" : "--sandbox");
    if (o->read_only)
        add(argv, "--read-only");
    return argv;
}

// "Lua (firesteel)", "Lua (firesteel, sandbox)": what JupyterLab's launcher shows.
static char *title_of(const struct asked *a)
{
    const char *name = a->name;
    if (a->title)
        return mem_strdup(a->title);
    if (str_eq(name, NAME))
        return mem_strdup("Lua (firesteel)");
    return str_starts(name, NAME "-") ? str_fmt("Lua (firesteel, %s)", name + strlen(NAME "-"))
                                      : str_fmt("Lua (%s)", name);
}

// Does somebody else's kernel have this name there?
static int check_place(const char *folder, const struct asked *a, const char *file, err *e)
{
    AUTO_BUF text = {0};
    if (!path_exists(file))
        return 0;
    AUTO_JSON *j = path_read(file, &text, 1 << 20, NULL) == 0
                       ? json_parse(buf_cstr(&text), text.len, NULL)
                       : NULL;
    const char *first = json_path_str(j, "argv[0]");
    AUTO_FREE char *program = first ? path_basename(first) : NULL;
    if (str_eq(program, "firesteel"))
        return 0;
    return err_set(
        e, ERR_EXISTS, "%s is another program's kernel; --name gives ours another name", folder);
}

static int check_effects(const char *allow, err *e)
{
    if (!allow)
        return 0;
    char **words = strv_split(allow, ',');
    const char *wrong = NULL;
    for (char **w = words; *w && !wrong; w++)
        if (!str_eq(*w, "cluster") && !str_eq(*w, "destructive"))
            wrong = *w;
    if (wrong)
        err_set(e, ERR_USAGE, "--allow %s: it is cluster, destructive, or both", wrong);
    strv_free(words);
    return wrong ? -1 : 0;
}

static int check_asked(const struct asked *a, err *e)
{
    size_t bytes;
    if (a->user + a->sys_prefix + (a->prefix != NULL) > 1)
        return err_set(e, ERR_USAGE, "--user, --prefix and --sys-prefix exclude each other");
    if (a->kernel.read_only && a->kernel.allow)
        return err_set(e, ERR_USAGE, "--read-only and --allow exclude each other");
    if (a->kernel.memory && cli_size(a->kernel.memory, &bytes, e) < 0)
        return err_wrap(e, "--memory");
    return check_name(a->name, e) < 0 ? -1 : check_effects(a->kernel.allow, e);
}

static int write_spec(const char *file, cJSON *argv, const char *title, err *e)
{
    AUTO_JSON *j = cJSON_CreateObject();
    AUTO_BUF text = {0};
    json_set(j, "argv", argv);
    json_set_str(j, "display_name", title);
    json_set_str(j, "interrupt_mode", "message");
    json_set_str(j, "language", "lua");
    cJSON *metadata = json_object_at(j, "metadata");
    json_set_bool(metadata, "debugger", false);
    cJSON_AddItemToArray(
        json_array_at(metadata, "supported_encryption"), cJSON_CreateString("curve"));
    json_print_pretty(&text, j, 1);
    buf_char(&text, '\n');
    return path_update(file, text.data, text.len, 0644, e);
}

static int install(struct cli *cli, const struct asked *a, err *e)
{
    if (check_asked(a, e) < 0)
        return -1;
    AUTO_FREE char *bridge = cli_program(cli, "firesteel-jupyter", NULL);
    AUTO_FREE char *program = cli_program(cli, "firesteel", e);
    if (!program)
        return -1;
    if (!bridge)
        return err_set(e, ERR_NOT_FOUND,
            "firesteel-jupyter is not here, without which no kernel starts: firesteel was built "
            "without libzmq (`firesteel doctor` tells more)");
    AUTO_FREE char *data = target(cli, a, e);
    if (!data)
        return -1;
    AUTO_FREE char *kernels = path_join(data, "kernels");
    AUTO_FREE char *folder = path_join(kernels, a->name);
    AUTO_FREE char *file = path_join(folder, "kernel.json");
    AUTO_FREE char *title = title_of(a);
    if (check_place(folder, a, file, e) < 0 || path_make_dirs(folder, 0755, e) < 0 ||
        write_spec(file, argv_of(cli, a, program), title, e) < 0)
        return -1;
    say(stdout, "%s is installed in %s: JupyterLab and VS Code show it as “%s”\n", a->name, folder,
        title);
    return 0;
}

// list

struct listing {
    cJSON *all;
};

static void list_one(void *arg, const struct spec *s)
{
    struct listing *l = arg;
    cJSON *one = cJSON_CreateObject(), *options = json_array_at(one, "options");
    if (!is_ours(s)) {
        cJSON_Delete(one);
        return;
    }
    json_set_str(one, "name", s->name);
    json_set_str(one, "title", s->title);
    json_set_str(one, "path", s->path);
    json_set_str(one, "program", s->argv[0]);
    json_set_bool(one, "works", access(s->argv[0], X_OK) == 0);
    for (char **word = s->argv + 2; *word; word++)
        if (!str_eq(*word, "-f") && !str_eq(*word, "{connection_file}"))
            add(options, *word);
    cJSON_AddItemToArray(l->all, one);
}

static int list(struct cli *cli, const struct asked *a, err *e)
{
    AUTO_JSON *all = cJSON_CreateArray();
    struct spec_places places = places_of(cli);
    const cJSON *one, *word;
    spec_each(&places, list_one, &(struct listing){all});
    if (a->json) {
        say_json(all, 1);
        return 0;
    }
    cJSON_ArrayForEach(one, all)
    {
        AUTO_BUF line = {0};
        buf_fmt(&line, "%-20s %s", json_str(one, "name"), json_str(one, "path"));
        cJSON_ArrayForEach(word, json_get(one, "options"))
        {
            buf_fmt(&line, " %s", word->valuestring);
        }
        if (!json_bool_or(one, "works", true))
            buf_fmt(
                &line, "   broken: %s is not there; install it again", json_str(one, "program"));
        say(stdout, "%s\n", buf_cstr(&line));
    }
    if (!all->child)
        say(stdout, "none; `firesteel kernelspec install` makes one\n");
    return 0;
}

// remove

struct removal {
    const char *name;
    char *path; // of the first that has it; NULL: none
    bool ours;
};

static void match(void *arg, const struct spec *s)
{
    struct removal *r = arg;
    if (r->path || !str_eq(s->name, r->name))
        return;
    r->path = mem_strdup(s->path);
    r->ours = is_ours(s);
}

static int remove_spec(struct cli *cli, const struct asked *a, err *e)
{
    struct spec_places places = places_of(cli);
    struct removal r = {.name = a->name};
    spec_each(&places, match, &r);
    AUTO_FREE char *path = r.path;
    if (!path)
        return err_set(e, ERR_NOT_FOUND,
            "no kernel is called %s; `firesteel kernelspec list` shows ours", a->name);
    if (!r.ours)
        return err_set(e, ERR_REFUSED,
            "%s is another program's kernel; `jupyter kernelspec remove %s` removes it", path,
            a->name);
    if (path_remove(path, e) < 0)
        return -1;
    say(stdout, "%s is removed\n", path);
    return 0;
}

// The verb.

static int act(struct cli *cli, struct asked *a, char **words)
{
    static const struct {
        const char *name;
        int (*fn)(struct cli *cli, const struct asked *a, err *e);
    } acts[] = {{"install", install}, {"list", list}, {"remove", remove_spec}};
    size_t n = words ? strv_len(words) : 0;
    err e = {0};
    if (n == 0)
        return cli_usage(cli, &kernelspec_verb, "say install, list or remove");
    bool removes = str_eq(words[0], "remove");
    if (n > (removes ? 2u : 1u))
        return cli_usage(cli, &kernelspec_verb, "%s is too much", words[n - 1]);
    if (removes && n == 2)
        a->name = words[1];
    for (size_t i = 0; i < ARRAY_LEN(acts); i++)
        if (str_eq(acts[i].name, words[0]))
            return acts[i].fn(cli, a, &e) < 0 ? cli_error(cli, &e) : 0;
    return cli_usage(cli, &kernelspec_verb, "%s is none of install, list, remove", words[0]);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct asked a = {.name = NAME};
    const struct option options[] = {
        {"user", 0, NULL, "install for this user, which is what it does if nothing is said",
            .given = &a.user},
        {"prefix", 0, "DIR", "install in DIR/share/jupyter", .text = &a.prefix},
        {"sys-prefix", 0, NULL, "install in the active virtual environment",
            .given = &a.sys_prefix},
        {"name", 0, "NAME", "the kernel's name (firesteel)", .text = &a.name},
        {"display-name", 0, "TEXT", "what JupyterLab shows", .text = &a.title},
        {"json", 0, NULL, "list: as JSON", .given = &a.json},
        KERNEL_OPTIONS(a.kernel),
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &kernelspec_verb, options, argc, argv, &rest, &code) == 0)
        code = act(cli, &a, rest);
    strv_free(rest);
    strv_free(a.kernel.protect);
    return code;
}

const struct verb kernelspec_verb = {
    .name = "kernelspec",
    .summary = "make firesteel a kernel of JupyterLab, VS Code, nbconvert",
    .usage = "install [OPTION]… | list | remove [NAME]\n\ninstall writes a kernelspec; with it, "
             "Jupyter's programs run notebooks in Lua. What is said\nfrom --allow on holds for "
             "each kernel that is started by it.",
    .run = run,
};
