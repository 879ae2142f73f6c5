// SPDX-License-Identifier: MIT
#include "cli/terminal/editor.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/terminal/foreground.h"

#include <unistd.h>

int editor_run(struct cli *cli, const char *path, err *e)
{
    const char *editor = cli_getenv(cli, "VISUAL");
    editor = editor ? editor : cli_getenv(cli, "EDITOR");
    editor = editor ? editor : "vi";
    AUTO_FREE char *command = str_fmt("%s \"$1\"", editor);
    const char *argv[] = {"/bin/sh", "-c", command, "sh", path, NULL};
    int code = foreground_run(cli, argv, STDERR_FILENO, e);
    if (code <= 0)
        return code;
    return err_set(e, ERR_FAILED, "%s did not end well; the cell is as it was", editor);
}
