// SPDX-License-Identifier: MIT
#include "script/kernel/process/guard.h"

#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LEAVINGS_MAX = 4 };

// What kernel and guard share: the kernel writes, the guard reads when the kernel has ended.
static struct shared {
    char note[GUARD_NOTE_MAX];
    char leavings[LEAVINGS_MAX][1024];
    int n_leavings;
} * shared;
static volatile sig_atomic_t guarded = -1; // the kernel's pid, for the signal handler

static void pass_on(int signum)
{
    int before = errno;
    if (guarded > 0)
        kill(guarded, signum);
    errno = before;
}

static void install_handlers(void)
{
    struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

// The parent of a process from /proc/PID/stat, -1 when it is gone. The name in parentheses may hold
// anything, so what counts starts after the last ')'.
static pid_t parent_of(const char *pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    int parent;
    return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

static void kill_children(void)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return;
    pid_t self = getpid();
    for (struct dirent *d; (d = readdir(proc));)
        if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && parent_of(d->d_name) == self)
            kill((pid_t)atoi(d->d_name), SIGKILL);
    closedir(proc);
}

// A killed child's own children come to us as it dies, so this goes on until there is none.
static void end_descendants(void)
{
    for (;;) {
        kill_children();
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

// Reaps orphans while the kernel lives; returns the kernel's status.
static int wait_for_kernel(pid_t kernel)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid == kernel)
            return status;
        if (pid < 0 && errno == ECHILD)
            return W_EXITCODE(1, 0);
    }
}

int guard_start(const char **note, err *e)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return err_errno(e, errno, "cannot share memory with the guard");
    *note = shared->note;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (;;) {
        pid_t self = getpid(), kernel = fork();
        if (kernel < 0)
            return err_errno(e, errno, "cannot fork the kernel");
        if (kernel == 0) {
            // A guard that is killed takes the kernel with it, in an orderly way.
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != self)
                _exit(1);
            return 0;
        }
        guarded = kernel;
        install_handlers();
        prctl(PR_SET_NAME, "firesteel-guard");
        int status = wait_for_kernel(kernel);
        guarded = -1;
        end_descendants();
        while (shared->n_leavings > 0)
            path_remove(shared->leavings[--shared->n_leavings], NULL);
        if (!WIFEXITED(status))
            _exit(128 + WTERMSIG(status));
        if (WEXITSTATUS(status) != GUARD_RESTART)
            _exit(WEXITSTATUS(status));
    }
}

void guard_leave_note(const char *text)
{
    snprintf(shared->note, sizeof shared->note, "%s", text);
}

void guard_remove_at_end(const char *path)
{
    if (!shared || shared->n_leavings == LEAVINGS_MAX || strlen(path) >= sizeof *shared->leavings)
        return;
    strcpy(shared->leavings[shared->n_leavings], path);
    shared->n_leavings++; // after the path: the guard may look at any moment after a kill
}
