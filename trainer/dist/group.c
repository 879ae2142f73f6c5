// SPDX-License-Identifier: MIT
#include "trainer/dist/group.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { PATIENCE_MS = 3000, STEP_MS = 2 };

int group_exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool group_reap(pid_t *pid, int *code)
{
    int status;
    if (*pid > 0 && waitpid(*pid, &status, WNOHANG) == *pid) {
        *pid = 0;
        *code = group_exit_code(status);
    }
    return *pid <= 0;
}

static bool gone_in_time(pid_t group, pid_t *pid, int *code)
{
    for (int waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
        // Orphans come to the nearest subreaper, which is us: a zombie is not gone.
        while (group_reap(pid, code) && waitpid(-group, NULL, WNOHANG) > 0) {
        }
        if (*pid <= 0 && kill(-group, 0) && errno == ESRCH)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000 * 1000}, NULL);
    }
    return false;
}

void group_stop(pid_t group, pid_t *pid, int *code)
{
    kill(-group, SIGTERM);
    if (gone_in_time(group, pid, code))
        return;
    kill(-group, SIGKILL);
    gone_in_time(group, pid, code);
}
