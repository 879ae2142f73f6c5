// SPDX-License-Identifier: MIT
#include "cli/foreground.h"

#include "base/mem.h"
#include "base/spawn.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

int foreground_run(struct cli *cli, const char *const *argv, int complaints, err *e)
{
    const struct spawn_fd terminal[] = {{0, 0}, {1, 1}, {complaints, 2}};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit_key;
    struct spawn_spec spec = {.argv = argv,
        .env = cli->env,
        .fds = terminal,
        .fd_n = ARRAY_LEN(terminal),
        .place = SPAWN_HERE};
    pid_t pid;
    int status = -1;
    sigaction(SIGINT, &ignore, &interrupt); // Ctrl-C is for the program
    sigaction(SIGQUIT, &ignore, &quit_key);
    int started = spawn(&spec, &pid, e);
    while (started == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit_key, NULL);
    if (started < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
