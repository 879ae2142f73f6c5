// SPDX-License-Identifier: MIT
#include "cli/workbench/rundeeds.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/report.h"
#include "cli/run/prune.h"
#include "cli/terminal/foreground.h"
#include "script/report/html/html_charts.h"

// Opens another workbench, which has the screen until the person leaves it.
static int attach(struct cli *cli, const char *run, buf *said, err *e)
{
    AUTO_FREE char *program = cli_program(cli, "firesteel", e);
    const char *argv[9] = {program, "attach", run};
    size_t n = 3;
    if (cli->read_only)
        argv[n++] = "--read-only";
    if (cli->no_mouse)
        argv[n++] = "--no-mouse";
    if (cli->no_ask)
        argv[n++] = "--no-ask";
    if (cli->notify) {
        argv[n++] = "--notify";
        argv[n++] = cli->notify;
    }
    if (!program || foreground_ours(cli, argv, e) < 0)
        return -1;
    return 0;
}

static int export(const char *folder, const char *run, buf *said, err *e)
{
    AUTO_FREE char *name = str_fmt("%s.html", run);
    AUTO_FREE char *path = path_join(folder, name);
    if (path_exists(path))
        return err_set(e, ERR_CONFLICT, "%s is there already", name);
    if (reports_write_run((char *[]){path, NULL}, folder, run, e) < 0)
        return -1;
    buf_fmt(said, "%s is written", name);
    return 0;
}

int rundeeds_do(
    struct cli *cli, enum run_deed deed, const char *folder, const char *run, buf *said, err *e)
{
    switch (deed) {
    case RUN_ATTACH:
        return attach(cli, run, said, e);
    case RUN_EXPORT:
        return export(folder, run, said, e);
    case RUN_REMOVE:
        break;
    }
    if (cli->read_only)
        return err_set(e, ERR_REFUSED, "this is only looked at (--read-only)");
    if (prune_run(cli, folder, run, e) < 0)
        return -1;
    buf_fmt(said, "%s is removed", run);
    return 0;
}

int rundeeds_picture(struct cli *cli, const char *path, const cJSON *plot, err *e)
{
    AUTO_BUF svg = {0};
    if (cli->read_only)
        return err_set(e, ERR_REFUSED, "this is only looked at (--read-only)");
    if (path_exists(path))
        return err_set(e, ERR_CONFLICT, "it is there already");
    if (!html_plot_image(plot, &svg))
        return err_set(e, ERR_UNAVAILABLE, "it has no value that can be drawn");
    return path_write(path, svg.data, svg.len, 0600, e);
}
