// SPDX-License-Identifier: MIT
// firesteel NOTEBOOK: the workbench on the notebook's kernel, which is started if there is none.
#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/kernels.h"
#include "cli/options.h"
#include "cli/workbench.h"
#include "script/journal/writer.h"
#include "script/notebook/notebook.h"

#include <string.h>

struct open_options {
    const char *cwd, *context, *namespace_, *kubeconfig, *memory;
    char **parameters;
    bool sandbox;
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

// The kernel that has this notebook open already: its run is named after it, in the same folder.
static char *living_kernel(struct cli *cli, const char *name, const char *cwd)
{
    struct kernels all;
    char *found = NULL;
    AUTO_FREE char *like = journal_run_name(name, clock_wall());
    AUTO_FREE char *prefix = str_fmt("%s-", name);
    if (kernels_find(cli, &all, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < all.n && !found; i++)
        if (!all.list[i].headless && str_eq(all.list[i].cwd, cwd) &&
            str_starts(all.list[i].run, prefix) && strlen(all.list[i].run) == strlen(like))
            found = mem_strdup(all.list[i].socket);
    kernels_done(&all);
    return found;
}

struct place {
    const char *path, *name, *cwd;
};

static int launch(
    workbench *w, struct cli *cli, const struct open_options *o, const struct place *at, err *e)
{
    AUTO_FREE char *program = cli_program(cli, "firesteel-kernel", e);
    AUTO_FREE char *sockets = program ? cli_socket_dir(cli, e) : NULL;
    if (!sockets)
        return -1;
    AUTO_FREE char *run = journal_run_name(at->name, clock_wall());
    AUTO_FREE char *images = cli_images_dir(cli);
    AUTO_FREE char *socket = str_fmt("%s/%s.sock", sockets, run);
    const char *data = cli_getenv(cli, "FIRESTEEL_DATA");
    return workbench_launch(w,
        &(struct launch){.program = program,
            .notebook = at->path,
            .name = at->name,
            .cwd = at->cwd,
            .run = run,
            .socket = socket,
            .memory = o->memory,
            .context = o->context,
            .namespace_ = o->namespace_,
            .kubeconfig = o->kubeconfig,
            .images = images,
            .data = data                           ? data
                    : path_is_dir(DATADIR "/data") ? DATADIR "/data"
                                                   : NULL,
            .parameters = (const char *const *)o->parameters,
            .sandbox = o->sandbox},
        e);
}

static int connect_kernel(
    workbench *w, struct cli *cli, const struct open_options *o, const struct place *at, err *e)
{
    AUTO_FREE char *socket = living_kernel(cli, at->name, at->cwd);
    return socket ? workbench_join(w, socket, false, e) : launch(w, cli, o, at, e);
}

// The file first, so that there is something to see before any kernel answers.
static int open_notebook(struct cli *cli, const struct open_options *o, const char *file)
{
    err e = {0};
    AUTO_BUF printed = {0};
    bool moved;
    notebook *nb = notebook_open(file, &e);
    AUTO_FREE char *path = nb ? path_absolute(file, &e) : NULL;
    AUTO_FREE char *cwd = path ? cli_work_folder(cli, o->cwd, file, &moved, &e) : NULL;
    AUTO_FREE char *name = cli_notebook_name(file), *target = target_name(o);
    if (nb)
        notebook_print(nb, &printed);
    notebook_free(nb);
    workbench *w =
        cwd ? workbench_open(cli, &(struct bench_about){.path = path, .target = target}, &e) : NULL;
    if (!w)
        return cli_error(cli, &e);
    workbench_show(w, buf_cstr(&printed), printed.len);
    bool ok = connect_kernel(w, cli, o, &(struct place){path, name, cwd}, &e) == 0 &&
              workbench_run(w, &e) == 0;
    workbench_close(w);
    return ok ? 0 : cli_error(cli, &e);
}

static int open_run(struct cli *cli, int argc, char **argv)
{
    struct open_options o = {0};
    const struct option options[] = {
        {"param", 'p', "NAME=VALUE", "a parameter of the notebook; may be repeated",
            .list = &o.parameters},
        {"sandbox", 0, NULL, "with a private cluster that ends with the kernel",
            .given = &o.sandbox},
        {"context", 0, "NAME", "context of the kubeconfig", .text = &o.context},
        {"namespace", 'n', "NAME", "namespace", .text = &o.namespace_},
        {"kubeconfig", 0, "FILE", "another kubeconfig", .text = &o.kubeconfig},
        {"cwd", 0, "DIR", "working folder, instead of the notebook's own", .text = &o.cwd},
        {"memory", 0, "SIZE", "limit of the cells' memory: 512M, 2G", .text = &o.memory},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &open_verb, options, argc, argv, &rest, &code) == 0) {
        if (!rest || strv_len(rest) != 1)
            code = cli_usage(cli, &open_verb, rest ? "one notebook at a time" : "which notebook?");
        else if (o.sandbox && (o.context || o.kubeconfig))
            code = cli_usage(
                cli, &open_verb, "--sandbox has a cluster of its own: leave --context out");
        else
            code = open_notebook(cli, &o, rest[0]);
    }
    if (rest)
        strv_free(rest);
    if (o.parameters)
        strv_free(o.parameters);
    return code;
}

const struct verb open_verb = {
    .name = "NOTEBOOK",
    .summary = "open a notebook in the workbench",
    .usage = "[-p NAME=VALUE]… [--sandbox | --context NAME] [-n NAMESPACE]\n\n"
             "Opens the notebook; its kernel goes on when the terminal goes. ? shows the keys.",
    .run = open_run,
};
