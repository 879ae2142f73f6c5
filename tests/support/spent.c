// SPDX-License-Identifier: MIT
// spent PROGRAM ARGUMENT…: runs a test and says at the end of its output how long processors worked
// for it and for all that it started. `./check` gives it to meson as its wrapper.
//
// Orphans below it become its children (a subreaper), so daemons count, too, and nothing of a test
// outlives it: what is left 10 s after the test's end is named and killed. When meson ends the test
// (SIGTERM, or its own death), everything has GRACE to end, also a program that ignores the signal.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE  0.2 // seconds; meson kills us 0.5 s after SIGTERM
#define LINGER 10  // seconds

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void name_of(int pid, char name[64])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(name, 64, f))
        strcpy(name, "?");
    name[strcspn(name, "\n")] = 0;
    if (f)
        fclose(f);
}

// Kills our children. Theirs become ours when they are gone, so it takes several calls until all
// are. Names them in a comment.
static void kill_children(int is_said)
{
    char path[64], name[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    for (int pid; f && fscanf(f, "%d", &pid) == 1;) {
        name_of(pid, name);
        if (is_said)
            printf("# left running, and killed: %d (%s)\n", pid, name);
        kill(pid, SIGKILL);
    }
    if (f)
        fclose(f);
}

// Until no process is left. The status of the test itself.
static int wait_for_all(int test, const sigset_t *signals)
{
    int status = 0, is_said = 0;
    double kill_at = 0;
    for (;;) {
        int one, pid;
        while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
            if (pid == test) {
                status = one;
                if (!kill_at)
                    kill_at = now() + LINGER;
            }
        }
        if (pid < 0 && errno == ECHILD)
            return status;
        if (kill_at && now() > kill_at)
            kill_children(!is_said++);
        switch (sigtimedwait(signals, NULL, &(struct timespec){.tv_nsec = 50000000})) {
        case SIGTERM:
        case SIGINT:
        case SIGHUP:
            kill(test, SIGTERM);
            kill_at = now() + GRACE;
        }
    }
}

static void end_as(int status)
{
    if (!WIFSIGNALED(status))
        exit(WEXITSTATUS(status));
    prctl(PR_SET_DUMPABLE, 0);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    _exit(128 + WTERMSIG(status));
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: spent PROGRAM ARGUMENT…\n");
        return 2;
    }
    sigset_t signals, before;
    sigemptyset(&signals);
    for (const int *s = (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP, 0}; *s; s++)
        sigaddset(&signals, *s);
    sigprocmask(SIG_BLOCK, &signals, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int test = fork();
    if (test < 0) {
        perror("spent: fork");
        return 1;
    }
    if (!test) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[1], argv + 1);
        fprintf(stderr, "spent: %s: %s\n", argv[1], strerror(errno));
        _exit(127);
    }
    int status = wait_for_all(test, &signals);
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    printf("# processor: %.2f s\n",
        (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
            (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6);
    fflush(stdout);
    sigprocmask(SIG_SETMASK, &before, NULL);
    end_as(status);
}
