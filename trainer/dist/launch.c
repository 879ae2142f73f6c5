// SPDX-License-Identifier: MIT
#include "trainer/dist/launch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/dist/group.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <unistd.h>

// "executor-0:2,executor-1:2": names of our own, since two executors may have one address.
static char *host_list(const struct launch_spec *spec)
{
    buf hosts = {0};
    for (int i = 0; i < spec->executors; i++)
        buf_fmt(&hosts, "%sexecutor-%d:%d", i ? "," : "", i, spec->slots);
    return buf_take(&hosts);
}

static char **arguments(const struct launch_spec *spec)
{
    AUTO_FREE char *np = str_fmt("%d", spec->np);
    char **argv = strv_add(NULL, spec->mpiexec);
    if (spec->executors) {
        AUTO_FREE char *hosts = host_list(spec);
        // Pods have their environment from their manifest: the driver's stays here.
        const char *const more[] = {
            "-launcher", "manual", "-localhost", spec->localhost, "-genvnone", "-hosts", hosts};
        for (size_t i = 0; i < ARRAY_LEN(more); i++)
            argv = strv_add(argv, more[i]);
        for (size_t i = 0; spec->env[i]; i++) {
            const char *equals = strchr(spec->env[i], '=');
            AUTO_FREE char *name = mem_strndup(spec->env[i], (size_t)(equals - spec->env[i]));
            argv = strv_add(strv_add(strv_add(argv, "-genv"), name), equals + 1);
        }
    }
    const char *const last[] = {"-n", np, spec->worker, "--rank"};
    for (size_t i = 0; i < ARRAY_LEN(last); i++)
        argv = strv_add(argv, last[i]);
    return argv;
}

// In the child; only what is safe after fork, reporting errno through `report`.
static _Noreturn void become_mpiexec(
    char **argv, char *const *env, int out, int err_fd, int report, pid_t parent)
{
    // A group of its own, so that Ctrl-C reaches the driver alone, and an end with the driver's.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int null = open("/dev/null", O_RDONLY);
    if (getppid() == parent && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err_fd, 2) >= 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        execve(argv[0], argv, env);
    }
    int number = errno;
    ssize_t ignored = write(report, &number, sizeof number);
    (void)ignored;
    _exit(127);
}

static bool names_same(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

static char **merged_env(const char *const *more)
{
    char **env = strv_dup(more);
    for (char **old = environ; *old; old++) {
        size_t i = 0;
        while (more[i] && !names_same(more[i], *old))
            i++;
        if (!more[i])
            env = strv_add(env, *old);
    }
    return env;
}

static int spawn(launch *l, char **argv, char *const *env, err *e)
{
    int out[2] = {-1, -1}, error[2] = {-1, -1}, report[2] = {-1, -1};
    if (pipe2(out, O_CLOEXEC) || pipe2(error, O_CLOEXEC) || pipe2(report, O_CLOEXEC))
        return err_errno(e, errno, "cannot start %s", argv[0]);
    pid_t parent = getpid();
    l->pid = fork();
    if (l->pid == 0)
        become_mpiexec(argv, env, out[1], error[1], report[1], parent);
    int number = errno;
    close(out[1]);
    close(error[1]);
    close(report[1]);
    l->out = out[0];
    l->err = error[0];
    ssize_t told = l->pid > 0 ? read(report[0], &number, sizeof number) : (ssize_t)sizeof number;
    close(report[0]);
    if (told == sizeof number)
        return err_errno(e, number, "cannot start %s", argv[0]);
    l->group = l->pid;
    setpgid(l->pid, l->pid);
    l->pidfd = pidfd_open(l->pid, 0);
    fcntl(l->out, F_SETFL, O_NONBLOCK);
    fcntl(l->err, F_SETFL, O_NONBLOCK);
    return 0;
}

int launch_start(launch *l, const struct launch_spec *spec, err *e)
{
    *l = (launch){.out = -1, .err = -1, .pidfd = -1};
    char **argv = arguments(spec);
    char **env = merged_env(spec->env);
    int result = spawn(l, argv, env, e);
    strv_free(argv);
    strv_free(env);
    if (result)
        launch_close(l);
    return result;
}

bool launch_ended(launch *l)
{
    return group_reap(&l->pid, &l->code);
}

void launch_stop(launch *l)
{
    if (l->group > 0)
        group_stop(l->group, &l->pid, &l->code);
    l->group = 0;
}

void launch_close(launch *l)
{
    launch_stop(l);
    int *fds[] = {&l->out, &l->err, &l->pidfd};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

int launch_parse_proxies(buf *text, buf *lines, size_t n, err *e)
{
    static const char word[] = "HYDRA_LAUNCH: ";
    const char *end = text->len ? strstr(text->data, "HYDRA_LAUNCH_END\n") : NULL;
    if (!end)
        return text->len > (1 << 20)
                   ? err_set(e, ERR_INVALID, "mpiexec -launcher manual does not list its proxies")
                   : 0;
    size_t found = 0;
    for (const char *line = text->data; line < end; line = strchr(line, '\n') + 1) {
        if (!str_starts(line, word))
            continue;
        size_t length = strcspn(line, "\n");
        if (found == n)
            return err_set(e, ERR_INVALID, "mpiexec wants more than %zu proxies", n);
        AUTO_FREE char *command = str_trim(line + strlen(word), length - strlen(word));
        char **words = strv_split(command, ' ');
        for (size_t i = 1; words[0] && words[i]; i++) // without the program
            if (*words[i])
                buf_add(&lines[found], words[i], strlen(words[i]) + 1);
        strv_free(words);
        found++;
    }
    buf_consume(text, (size_t)(end - text->data) + strlen("HYDRA_LAUNCH_END\n"));
    // mpiexec needs no more hosts than the ranks fill.
    return found ? (int)found : err_set(e, ERR_INVALID, "mpiexec -launcher manual lists no proxy");
}
