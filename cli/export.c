// SPDX-License-Identifier: MIT
// firesteel export: turns a run into a document for others.
#include "script/report/export.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/say.h"
#include "script/journal/reader.h"

#include <string.h>

static int export(struct cli *cli, const char *folder, const char *name, enum export_format format,
    const char *file)
{
    err e = {0};
    AUTO_FREE char *run = journal_find(folder, name, &e);
    if (!run)
        return cli_error(cli, &e);
    AUTO_FREE char *path = journal_file(folder, run);
    AUTO_FREE char *spools = mem_strndup(path, strlen(path) - strlen(".jsonl"));
    fold *f = fold_shown(path, NULL, &e);
    if (!f)
        return cli_error(cli, &e);
    AUTO_BUF text = {0};
    int result = export_run(f, spools, format, 0, &text, &e);
    if (result == 0 && file)
        result = path_update(file, text.data, text.len, 0644, &e);
    else if (result == 0)
        say_file(text.data, text.len);
    fold_free(f);
    return result < 0 ? cli_error(cli, &e) : 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *cwd = NULL, *to = NULL, *file = NULL;
    const struct option options[] = {
        {"to", 0, EXPORT_FORMATS, "the format; else what FILE's name says", .text = &to},
        {"output", 'o', "FILE", "write to FILE instead of standard output", .text = &file},
        {"cwd", 0, "DIR", "working folder of the run, instead of this one", .text = &cwd},
        {0},
    };
    char **rest = NULL;
    int code;
    enum export_format format = EXPORT_MD;
    if (options_parse(cli, &export_verb, options, argc, argv, &rest, &code) == 0) {
        const char *said = to ? to : file;
        if (str_eq(file, "-"))
            file = NULL;
        if (rest && strv_len(rest) > 1)
            code = cli_usage(cli, &export_verb, "one run at a time");
        else if (!said)
            code = cli_usage(cli, &export_verb, "to which format? --to ipynb, md, html or junit");
        else if (!export_format(said, &format))
            code = cli_usage(cli, &export_verb, "%s is none of ipynb, md, html, junit", said);
        else
            code = export(cli, cwd ? cwd : ".", rest ? rest[0] : NULL, format, file);
    }
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb export_verb = {
    .name = "export",
    .summary = "write a run as a Jupyter notebook, Markdown, HTML or JUnit XML",
    .usage = "[RUN] --to " EXPORT_FORMATS " [-o FILE]\n\n"
             "RUN is a name from `firesteel runs`, or its beginning; without it, the newest.",
    .run = run,
};
