// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/podinit.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/os/proctree.h"
#include "base/os/spawn.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
enum { CAN_LIMIT_DATA = 0 }; // the sanitizer's shadow memory exceeds any limit, here and in pods
#else
enum { CAN_LIMIT_DATA = 1 };
#endif

struct options {
    int64_t parent, data;
    const char *cpus;
    char **overlay; // LOWER UPPER WORK MERGED
    bool guard;
    char **command;
};

static int parse(char **argv, struct options *o, err *e)
{
    for (; *argv; argv++) {
        if (str_eq(*argv, "--")) {
            o->command = argv + 1;
            return *o->command ? 0 : err_set(e, ERR_USAGE, "no command");
        }
        if (str_eq(*argv, "--guard")) {
            o->guard = true;
            continue;
        }
        const char *name = *argv, *value = argv[1];
        if (!value)
            break;
        if (str_eq(name, "--parent") && str_to_int(value, &o->parent))
            argv++;
        else if (str_eq(name, "--data") && str_to_int(value, &o->data))
            argv++;
        else if (str_eq(name, "--cpus"))
            o->cpus = *++argv;
        else if (str_eq(name, "--overlay") && strv_len(argv) > 5)
            o->overlay = argv + 1, argv += 4;
        else
            break;
    }
    return err_set(e, ERR_USAGE, "bad option %s", *argv ? *argv : "(the command is missing)");
}

static int limit(const struct options *o, err *e)
{
    struct rlimit data = {(rlim_t)o->data, (rlim_t)o->data}, no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (CAN_LIMIT_DATA && o->data > 0 && setrlimit(RLIMIT_DATA, &data) < 0)
        return err_errno(e, errno, "cannot limit memory to %lld bytes", (long long)o->data);
    if (!o->cpus)
        return 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const char *at = o->cpus; *at; at += strcspn(at, ","), at += *at == ',')
        CPU_SET((size_t)strtoul(at, NULL, 10), &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        return err_errno(e, errno, "cannot run on CPUs %s", o->cpus);
    return 0;
}

static int write_proc(const char *path, const char *text, err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, errno, "%s", path);
    int failed = fd_write_all(fd, text, strlen(text), e);
    close(fd);
    return failed;
}

// Enters a user namespace in which we are root and have our own mounts: so an ordinary user can
// mount overlayfs (Linux 5.11). bwrap then runs inside it as "root".
static int mount_overlay(char *const *o, err *e)
{
    AUTO_FREE char *uids = str_fmt("0 %u 1", (unsigned)geteuid());
    AUTO_FREE char *gids = str_fmt("0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return err_errno(e, errno, "no user namespace");
    if (write_proc("/proc/self/uid_map", uids, e) ||
        write_proc("/proc/self/setgroups", "deny", e) || write_proc("/proc/self/gid_map", gids, e))
        return err_wrap(e, "cannot map the user");
    // Paths are passed as descriptors: a comma or a colon in a path would end the option.
    int fds[3];
    for (int i = 0; i < 3; i++)
        if ((fds[i] = open(o[i], O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
            return err_errno(e, errno, "%s", o[i]);
    AUTO_FREE char *layers = str_fmt("lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,"
                                     "workdir=/proc/self/fd/%d,userxattr",
        fds[0], fds[1], fds[2]);
    if (mount("overlay", o[3], "overlay", 0, layers) < 0)
        return err_errno(e, errno, "cannot mount an overlay on %s", o[0]);
    return 0;
}

// Sends SIGKILL to all our children until there are none left; orphans become our children
// (subreaper).
static void kill_descendants(void)
{
    do {
        DIR *proc = opendir("/proc");
        struct dirent *entry;
        while (proc && (entry = readdir(proc))) {
            int64_t pid;
            if (!str_to_int(entry->d_name, &pid))
                continue;
            AUTO_BUF stat = {0};
            const char *fields = process_fields((pid_t)pid, &stat);
            int parent = 0;
            if (fields && sscanf(fields, "%*c %d", &parent) == 1 && parent == getpid())
                kill((pid_t)pid, SIGKILL);
        }
        if (proc)
            closedir(proc);
    } while (waitpid(-1, NULL, 0) > 0);
}

// Runs the command below a guard that leaves no process behind. TERM is passed on to the command.
// HUP ends everything; it also comes when the sandbox dies.
_Noreturn static void guard(char **command)
{
    static const struct spawn_fd standard[] = {{0, 0}, {1, 1}, {2, 2}};
    struct spawn_spec spec = {.argv = (const char *const *)command,
        .fds = standard,
        .fd_n = ARRAY_LEN(standard),
        .place = SPAWN_HERE,
        .death_signal = SIGKILL};
    sigset_t signals;
    pid_t child;
    err e = {0};
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGHUP);
    if (spawn(&spec, &child, &e) < 0)
        _exit(e.code == ERR_NOT_FOUND ? 127 : 126);
    int status = 0;
    for (bool running = true; running;) {
        int signum = sigwaitinfo(&signals, NULL);
        if (signum == SIGTERM)
            kill(child, SIGTERM);
        running = signum != SIGHUP;
        for (pid_t done = 1; signum == SIGCHLD && done > 0;)
            if ((done = waitpid(-1, &status, WNOHANG)) == child)
                running = false, done = 0;
    }
    kill_descendants();
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

// From now on this process dies with the sandbox. -1: the sandbox is already gone.
static int tie_to(int64_t parent, err *e)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (parent && getppid() != parent)
        return err_set(e, ERR_CANCELLED, "the sandbox is gone");
    return 0;
}

int podinit_run(char **argv, err *e)
{
    struct options o = {0};
    if (parse(argv, &o, e))
        return -1;
    if (limit(&o, e) || (o.overlay && mount_overlay(o.overlay, e)))
        return -1;
    if (tie_to(o.parent, e)) // after the namespace: gaining capabilities resets it
        return -1;
    if (o.guard)
        guard(o.command);
    execvp(o.command[0], o.command);
    return err_errno(e, errno, "%s", o.command[0]);
}
