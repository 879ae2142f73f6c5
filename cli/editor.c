// SPDX-License-Identifier: MIT
#include "cli/editor.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const char *command, const char *path)
{
    static const int ours[] = {SIGINT, SIGQUIT, SIGPIPE}; // as a shell's child has them
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        signal(ours[i], SIG_DFL);
    execl("/bin/sh", "sh", "-c", command, "sh", path, (char *)NULL);
    _exit(127);
}

int editor_run(struct cli *cli, const char *path, err *e)
{
    const char *editor = cli_getenv(cli, "VISUAL");
    editor = editor ? editor : cli_getenv(cli, "EDITOR");
    editor = editor ? editor : "vi";
    AUTO_FREE char *command = str_fmt("%s \"$1\"", editor);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit_key;
    int status = -1;
    sigaction(SIGINT, &ignore, &interrupt); // Ctrl-C is the editor's
    sigaction(SIGQUIT, &ignore, &quit_key);
    pid_t pid = fork();
    if (pid == 0)
        become(command, path);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit_key, NULL);
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(e, ERR_FAILED, "%s did not end well; the cell is as it was", editor);
}
