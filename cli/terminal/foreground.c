// SPDX-License-Identifier: MIT
#include "cli/terminal/foreground.h"

#include "base/mem.h"
#include "base/os/spawn.h"
#include "base/str.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

// The last line of the complaints; new. The screen is drawn over all of them.
static char *last_line(FILE *complaints)
{
    static const char prefix[] = "firesteel: ";
    char line[1024], last[sizeof line] = "";
    rewind(complaints);
    while (fgets(line, sizeof line, complaints))
        memcpy(last, line, sizeof last);
    const char *words = str_starts(last, prefix) ? last + strlen(prefix) : last;
    return str_trim(words, strlen(words));
}

// On a terminal a remote shell's output comes on stdout, so stderr has only our own messages. A
// non-zero code without such a message is that of the shell's last command.
int foreground_ours(struct cli *cli, const char *const *argv, err *e)
{
    FILE *complaints = tmpfile();
    if (!complaints)
        return err_errno(e, errno, "cannot make a file");
    int code = foreground_run(cli, argv, fileno(complaints), e);
    AUTO_FREE char *why = last_line(complaints);
    fclose(complaints);
    if (code < 0)
        return -1;
    return code && *why ? err_set(e, ERR_FAILED, "%s", why) : 0;
}
