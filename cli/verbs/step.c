// SPDX-License-Identifier: MIT
// firesteel step: runs one step of a pipeline as a process of its own: a notebook of one cell,
// which does what flow:run() would do.
#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char notebook[] = "-- %% tags=[\"parameters\"]\n"
                               "step = {}\ninputs = {}\noutputs = {}\nid = \"\"\n"
                               "-- %% Step effects=\"cluster,destructive\"\n"
                               "pipeline_step(step, inputs, outputs, id)\n";

struct step_options {
    const char *step, *id, *context, *namespace_;
    char **allow, **inputs, **outputs;
};

// NAME=VALUE of a list into an object.
static int add_pairs(cJSON *to, const char *name, char *const *list, err *e)
{
    cJSON *object = cJSON_AddObjectToObject(to, name);
    for (; list && *list; list++) {
        const char *equals = strchr(*list, '=');
        if (!equals || equals == *list)
            return err_set(e, ERR_USAGE, "%s: NAME=VALUE is missing in \"%s\"", name, *list);
        AUTO_FREE char *key = mem_strndup(*list, (size_t)(equals - *list));
        json_set_str(object, key, equals + 1);
    }
    return 0;
}

// Notebook and parameters, in a folder of their own.
static int write_files(const struct step_options *o, const char *folder, err *e)
{
    AUTO_JSON *all = cJSON_CreateObject();
    AUTO_FREE char *file = path_join(folder, "step.lua"), *values = path_join(folder, "step.json");
    cJSON *step = json_parse(o->step, strlen(o->step), e);
    if (!step)
        return err_wrap(e, "--step");
    json_set(all, "step", step);
    json_set_str(all, "id", o->id ? o->id : "");
    if (add_pairs(all, "inputs", o->inputs, e) < 0 || add_pairs(all, "outputs", o->outputs, e) < 0)
        return -1;
    AUTO_BUF text = {0};
    json_print(&text, all);
    return path_write(file, notebook, strlen(notebook), 0600, e) < 0
               ? -1
               : path_write(values, text.data, text.len, 0600, e);
}

static int run_in(struct cli *cli, const struct step_options *o, const char *folder)
{
    err e = {0};
    if (write_files(o, folder, &e) < 0)
        return cli_error(cli, &e);
    AUTO_FREE char *file = path_join(folder, "step.lua"), *values = path_join(folder, "step.json");
    char **words = strv_add(strv_add(NULL, "run"), file);
    words = strv_add(strv_add(strv_add(words, "-f"), values), "--no-git");
    for (char *const *a = o->allow; a && *a; a++)
        words = strv_add(strv_add(words, "--allow"), *a);
    if (o->context)
        words = strv_add(strv_add(words, "--context"), o->context);
    if (o->namespace_)
        words = strv_add(strv_add(words, "-n"), o->namespace_);
    int code = run_verb.run(cli, (int)strv_len(words), words);
    strv_free(words);
    return code;
}

static int step(struct cli *cli, struct step_options *o)
{
    err e = {0};
    const char *tmp = cli_getenv(cli, "TMPDIR");
    if (!o->step)
        return cli_usage(cli, &step_verb, "which step? --step says it");
    struct owner_temp folder;
    AUTO_FREE char *runtime = cli_runtime_dir(cli, &e);
    if (!runtime ||
        owner_temp_make(&folder, runtime, tmp ? tmp : "/tmp", "firesteel-step-", &e) < 0)
        return cli_error(cli, &e);
    int code = run_in(cli, o, folder.path);
    owner_temp_remove(&folder);
    return code;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct step_options o = {0};
    const struct option options[] = {
        {"step", 0, "JSON", "what the step does, as flow:kfp() writes it", .text = &o.step},
        {"input", 0, "NAME=VALUE", "a value that its ${…} use; repeatable", .list = &o.inputs},
        {"output", 0, "NAME=FILE", "an output, and the file that gets it; repeatable",
            .list = &o.outputs},
        {"id", 0, "TEXT", "tells this run of the pipeline from others: a label of what it makes",
            .text = &o.id},
        {"allow", 0, "CLASSES", "effects that are granted: cluster,destructive", .list = &o.allow},
        {"context", 0, "NAME", "context of the kubeconfig", .text = &o.context},
        {"namespace", 'n', "NAME", "namespace", .text = &o.namespace_},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &step_verb, options, argc, argv, &rest, &code) == 0)
        code = rest ? cli_usage(cli, &step_verb, "what is \"%s\"?", rest[0]) : step(cli, &o);
    strv_free(rest);
    strv_free(o.allow);
    strv_free(o.inputs);
    strv_free(o.outputs);
    return code;
}

const struct verb step_verb = {
    .name = "step",
    .summary = "do one step of a pipeline, in a pod of Kubeflow",
    .usage = "--step JSON [--input NAME=VALUE]… [--output NAME=FILE]… [--allow CLASSES]\n\n"
             "The command of the containers that flow:kfp() writes: it applies what the step "
             "applies,\n"
             "waits until that is done, and writes the step's outputs to files.",
    .run = run,
};
