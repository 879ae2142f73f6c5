// SPDX-License-Identifier: MIT
// firesteel export: turns a run into a document for others.
#include "script/report/export.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/say.h"
#include "script/journal/runs/runs.h"
#include "script/report/mlflow.h"

#include <stdio.h>
#include <string.h>

struct choice {
    const char *cwd, *to, *file, *experiment;
    enum export_format format;
    own_work **work; // NULL there: it is over
};

// A run of a folder, read for an export.
struct source {
    fold *fold;
    char *spools;
};

static void source_done(struct source *s)
{
    fold_free(s->fold);
    free(s->spools);
}

static int read_source(const char *folder, const char *name, struct source *s, err *e)
{
    s->fold = runs_open(folder, name, &s->spools, NULL, e);
    return s->fold ? 0 : -1;
}

// The work is over; what follows goes to standard output.
static void end_work(const struct choice *c)
{
    own_work_end(STEAL(*c->work));
}

static int export_file(const struct source *s, const struct choice *c, err *e)
{
    AUTO_BUF text = {0};
    if (export_run(s->fold, s->spools, c->format, 0, &text, e) < 0)
        return -1;
    if (c->file)
        return path_update(c->file, text.data, text.len, 0644, e);
    end_work(c);
    say_file(text.data, text.len);
    return 0;
}

static int export_mlflow(const struct source *s, const struct choice *c, err *e)
{
    char **notes = NULL;
    AUTO_FREE char *place = NULL;
    int result = mlflow_write(
        s->fold, s->spools, c->file ? c->file : "mlruns", c->experiment, &place, &notes, e);
    end_work(c);
    for (char **n = notes; n && *n; n++)
        say(stderr, "firesteel: %s\n", *n);
    strv_free(notes);
    if (result == 0)
        say(stdout, "%s\n", place);
    return result;
}

static int export(struct cli *cli, const char *name, const struct choice *c)
{
    err e = {0};
    CLEANUP(source_done) struct source s = {0};
    AUTO_FREE char *folder = cli_runs_folder(cli, c->cwd, name);
    AUTO_FREE char *what = str_fmt("export %s", name ? name : "the newest run");
    struct work *work =
        own_work_watch(*c->work = own_work_begin(cli, what, WORK_ITEMS, NULL))->work;
    work_phase(work, "reading", WORK_ITEMS, 0);
    int result = read_source(folder, name, &s, &e);
    work_phase(work, "writing", WORK_ITEMS, 0);
    if (result == 0)
        result = str_eq(c->to, "mlflow") ? export_mlflow(&s, c, &e) : export_file(&s, c, &e);
    end_work(c);
    return result < 0 ? cli_error(cli, &e) : 0;
}

// -1: the option is wrong, and *code is the verb's exit code.
static int settle(struct cli *cli, char *const *rest, struct choice *c, int *code)
{
    const char *said = c->to ? c->to : c->file;
    bool mlflow = str_eq(c->to, "mlflow");
    if (str_eq(c->file, "-"))
        c->file = NULL;
    *code = 0;
    if (rest && strv_len(rest) > 1)
        *code = cli_usage(cli, &export_verb, "one run at a time");
    else if (!said)
        *code = cli_usage(cli, &export_verb, "to which format? --to " EXPORT_FORMATS "|mlflow");
    else if (str_eq(c->to, "openlineage"))
        *code = cli_usage(cli, &export_verb,
            "a script writes events of OpenLineage: `firesteel export RUN --to json | python3 "
            "PREFIX/share/firesteel/openlineage.py`");
    else if (!mlflow && !export_format(said, &c->format))
        *code = cli_usage(cli, &export_verb, "%s is none of " EXPORT_FORMATS "|mlflow", said);
    else if (c->experiment && !mlflow)
        *code = cli_usage(cli, &export_verb, "--experiment is for --to mlflow");
    return *code ? -1 : 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    own_work *work = NULL;
    struct choice c = {.work = &work};
    const struct option options[] = {
        {"to", 0, EXPORT_FORMATS "|mlflow", "the format; else what FILE's name says",
            .text = &c.to},
        {"output", 'o', "FILE",
            "write to FILE instead of standard output; to mlflow: the store, else mlruns",
            .text = &c.file},
        {"experiment", 0, "NAME", "of mlflow, instead of the notebook's name",
            .text = &c.experiment},
        {"cwd", 0, "DIR", "working folder of the run, instead of this one", .text = &c.cwd},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &export_verb, options, argc, argv, &rest, &code) == 0 &&
        settle(cli, rest, &c, &code) == 0)
        code = export(cli, rest ? rest[0] : NULL, &c);
    strv_free(rest);
    return code;
}

const struct verb export_verb = {
    .name = "export",
    .summary = "write a run as a Jupyter notebook, Markdown, HTML, JUnit XML, JSON, or for MLflow",
    .usage = "[RUN] --to " EXPORT_FORMATS "|mlflow [-o FILE]\n\n"
             "RUN is a name from `firesteel runs`, its beginning or end, newest, -2 or a notebook; "
             "without\n"
             "it, the newest. To mlflow\n"
             "writes into a file store: parameters, metrics by step, tags, artifacts, a report.\n"
             "JSON holds what the run used and made, its parameters, metrics and state.",
    .run = run,
    .takes_runs = true,
};
