// SPDX-License-Identifier: MIT
#include "cli/report.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/reader.h"
#include "script/report/export.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int check(const char *path, err *e)
{
    ERR_GUARD(e);
    enum export_format format;
    if (!export_format(path, &format))
        return err_set(e, ERR_USAGE, "--report %s: the name ends in " EXPORT_ENDS, path);
    if (path_is_dir(path))
        return err_set(e, ERR_USAGE, "--report %s: that is a folder", path);
    if (path_may_update(path, e) == 0)
        return 0;
    err_wrap(e, "the report %s", path);
    e->code = ERR_USAGE; // nothing was run
    return -1;
}

int reports_check(char *const *paths, err *e)
{
    for (; paths && *paths; paths++)
        if (check(*paths, e) < 0)
            return -1;
    return 0;
}

static int write_one(
    const char *path, enum export_format format, const fold *f, const char *spool_dir, err *e)
{
    AUTO_BUF text = {0};
    return export_run(f, spool_dir, format, 0, &text, e) < 0
               ? -1
               : path_update(path, text.data, text.len, 0644, e);
}

int reports_write(char *const *paths, const fold *f, const char *spool_dir, err *e)
{
    int result = 0;
    for (; paths && *paths; paths++) {
        enum export_format format;
        err why = {0};
        if (export_format(*paths, &format) && write_one(*paths, format, f, spool_dir, &why) == 0)
            continue;
        result = err_set(e, why.code, "the report %s: %s", *paths, why.text);
    }
    return result;
}

void reports_save(char *const *paths, const fold *f, const char *spool_dir)
{
    for (; paths && *paths; paths++) {
        enum export_format format;
        struct stat at;
        bool plain = stat(*paths, &at) < 0 ? errno == ENOENT : S_ISREG(at.st_mode);
        if (plain && export_format(*paths, &format) && format == EXPORT_IPYNB)
            write_one(*paths, format, f, spool_dir, NULL);
    }
}

void reports_save_run(char *const *paths, const char *folder, const char *run)
{
    AUTO_FREE char *path = journal_file(folder, run);
    AUTO_FREE char *spools = mem_strndup(path, strlen(path) - strlen(".jsonl"));
    fold *f = fold_shown(path, NULL, NULL);
    if (f)
        reports_save(paths, f, spools);
    fold_free(f);
}

int reports_write_run(char *const *paths, const char *folder, const char *run, err *e)
{
    AUTO_FREE char *path = journal_file(folder, run);
    AUTO_FREE char *spools = mem_strndup(path, strlen(path) - strlen(".jsonl"));
    fold *f = fold_shown(path, NULL, e);
    if (!f)
        return -1;
    int result = reports_write(paths, f, spools, e);
    fold_free(f);
    return result;
}

char *report_mark(const char *runtime, const char *run)
{
    return str_fmt("%s/%s.report", runtime, run);
}
