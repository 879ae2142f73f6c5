// SPDX-License-Identifier: MIT
#include "cli/editor.h"

#include "base/mem.h"
#include "base/spawn.h"
#include "base/str.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct spawn_fd terminal[] = {{0, 0}, {1, 1}, {2, 2}};

int editor_run(struct cli *cli, const char *path, err *e)
{
    const char *editor = cli_getenv(cli, "VISUAL");
    editor = editor ? editor : cli_getenv(cli, "EDITOR");
    editor = editor ? editor : "vi";
    AUTO_FREE char *command = str_fmt("%s \"$1\"", editor);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit_key;
    const char *argv[] = {"/bin/sh", "-c", command, "sh", path, NULL};
    struct spawn_spec spec = {.argv = argv,
        .env = cli->env,
        .fds = terminal,
        .fd_n = ARRAY_LEN(terminal),
        .place = SPAWN_HERE};
    pid_t pid;
    int status = -1;
    sigaction(SIGINT, &ignore, &interrupt); // Ctrl-C is for the editor
    sigaction(SIGQUIT, &ignore, &quit_key);
    int started = spawn(&spec, &pid, e);
    while (started == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit_key, NULL);
    if (started < 0)
        return -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(e, ERR_FAILED, "%s did not end well; the cell is as it was", editor);
}
