// SPDX-License-Identifier: MIT
// firesteel diff: how two runs differ; and notebooks as text, for git diff.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/say.h"
#include "script/journal/compare/compare.h"
#include "script/journal/runs/runs.h"
#include "script/notebook/notebook.h"

#include <stdio.h>
#include <string.h>

struct opened {
    fold *fold;
    char *spools;
};

static void opened_done(struct opened *o)
{
    fold_free(o->fold);
    free(o->spools);
}

static int open_run(const char *folder, const char *name, struct opened *o, err *e)
{
    o->fold = runs_open(folder, name, &o->spools, NULL, e);
    return o->fold ? 0 : -1;
}

static int diff(struct cli *cli, const char *folder, const char *a, const char *b, bool json)
{
    err e = {0};
    CLEANUP(opened_done) struct opened x = {0};
    CLEANUP(opened_done) struct opened y = {0};
    if (open_run(folder, a ? a : "-2", &x, &e) < 0 || open_run(folder, b, &y, &e) < 0) {
        if (!a)
            err_wrap(&e, "without names, the last two runs");
        cli_error(cli, &e);
        return 2;
    }
    AUTO_JSON *found =
        compare_runs(&(struct compared){x.fold, x.spools}, &(struct compared){y.fold, y.spools});
    AUTO_BUF text = {0}, shown = {0};
    if (json) {
        say_json(found, 2);
    } else {
        compare_print(found, &text);
        printable(&shown, text.data, text.len);
        say(stdout, "%s", buf_cstr(&shown));
    }
    return json_bool_or(found, "same", false) ? 0 : 1;
}

// A notebook as its cells' titles and sources, in the percent format: what git compares instead of
// the file. What is no notebook (yet) is compared as it is, so that git diff goes on.
static int textconv(struct cli *cli, const char *path)
{
    enum { LIMIT = 256 << 20 };
    err e = {0};
    AUTO_BUF bytes = {0}, text = {0};
    if (path_read(path, &bytes, LIMIT, &e) < 0) {
        cli_error(cli, &e);
        return 2;
    }
    // git gives temporary files another name, but keeps its end
    notebook *nb = notebook_parse_as(path, buf_cstr(&bytes), bytes.len, &e);
    if (nb)
        notebook_print(nb, &text);
    const buf *shown = nb ? &text : &bytes;
    say_file(buf_cstr(shown), shown->len);
    notebook_free(nb);
    return 0;
}

static const char *named(char *const *rest, size_t n, size_t i, const char *otherwise)
{
    return i < n ? rest[i] : otherwise;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *cwd = NULL, *output = NULL, *format = NULL, *notebook_file = NULL;
    const struct option options[] = {
        {"output", 'o', "json", "as JSON", .text = &output},
        {"format", 0, "json", "the same", .text = &format},
        {"cwd", 0, "DIR", "working folder of the runs, instead of this one", .text = &cwd},
        {"textconv", 0, "FILE", "print this notebook as text, for git (see doc/command-line.md)",
            .text = &notebook_file},
        {0},
    };
    char **rest = NULL;
    AUTO_FREE char *folder = NULL;
    int code;
    if (options_parse(cli, &diff_verb, options, argc, argv, &rest, &code) == 0) {
        size_t n = rest ? strv_len(rest) : 0;
        if (notebook_file && n)
            code = cli_usage(cli, &diff_verb, "--textconv takes one file, and no runs");
        else if (notebook_file)
            code = textconv(cli, notebook_file);
        else if (n > 2)
            code = cli_usage(cli, &diff_verb, "two runs at a time");
        else if ((output && !str_eq(output, "json")) || (format && !str_eq(format, "json")))
            code = cli_usage(cli, &diff_verb, "the output is json, or not said");
        else
            code = diff(cli, folder = cli_runs_folder(cli, cwd, n ? rest[0] : NULL),
                named(rest, n, 0, NULL), named(rest, n, 1, "-1"), output || format);
    }
    strv_free(rest);
    return code;
}

const struct verb diff_verb = {
    .name = "diff",
    .summary = "how two runs differ: parameters, sources, inputs, metrics, outputs",
    .usage =
        "[A [B]] [-o json]\n--textconv FILE\n\nA and B are names from `firesteel runs`, their "
        "beginnings or ends; a "
        "notebook: its "
        "newest\n"
        "run; newest; -2: the one before; RUN/NAME: a trial of a run. Without B the newest is "
        "meant, without both the last\n"
        "two. Exit code: 0 nothing that was computed differs, 1 something does, 2 wrong usage.\n"
        "--textconv makes `git diff` compare the cells of .ipynb files: git config "
        "diff.firesteel.textconv\n"
        "\"firesteel diff --textconv\", and in .gitattributes *.ipynb diff=firesteel.",
    .run = run,
    .takes_runs = true,
};
