// SPDX-License-Identifier: MIT
#include "script/protocol/launch.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/os/spawn.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLIENT_FD = 3, // the kernel's end of the socket pair
    PARAMS_FD,     // its parameters
    COMMAND_FD,    // the command line of its starter
};

static void strv_free_at(char ***v)
{
    strv_free(*v);
}

static bool has_any(const char *const *strings)
{
    return strings && *strings;
}

// Makes a file without a name from the strings, each with its NUL; -1 if there are none, and on
// error.
static int strings_file(const char *const *strings, err *e)
{
    AUTO_BUF text = {0};
    if (!has_any(strings))
        return -1;
    for (const char *const *s = strings; *s; s++)
        buf_add(&text, *s, strlen(*s) + 1);
    int fd = fd_memory("strings");
    if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len || lseek(fd, 0, SEEK_SET) < 0)
        err_errno(e, errno, "cannot pass the parameters on");
    explicit_bzero(text.data, text.len);
    return fd;
}

static char **add_each(char **argv, const char *option, const char *const *values)
{
    for (; values && *values; values++)
        argv = strv_add(strv_add(argv, option), *values);
    return argv;
}

static char **command_line(const struct launch *o)
{
    const struct {
        const char *name, *value;
    } valued[] = {
        {"--notebook", o->notebook},
        {"--name", o->name},
        {"--cwd", o->cwd},
        {"--run", o->run},
        {"--resume", o->resume},
        {"--recover", o->recover},
        {"--from", o->from},
        {"--socket", o->socket},
        {"--journal", o->journal},
        {"--allow", o->allow},
        {"--timeout", o->timeout},
        {"--lifetime", o->lifetime},
        {"--memory", o->memory},
        {"--context", o->context},
        {"--namespace", o->namespace_},
        {"--kubeconfig", o->kubeconfig},
        {"--registry", o->registry},
        {"--images", o->images},
        {"--data", o->data},
        {"--kernel", o->kernel},
        {"--seed", o->seed},
    };
    const struct {
        const char *name;
        bool given;
    } flags[] = {{"--headless", o->headless}, {"--detach", o->detach}, {"--bound", o->bound},
        {"--sandbox", o->sandbox}, {"--processes", o->processes},
        {"--accept-drift", o->accept_drift}, {"--no-preflight", o->no_preflight},
        {"--no-git", o->no_git}, {"--allow-errors", o->allow_errors},
        {"--read-only", o->read_only}};

    char **argv = strv_add(NULL, o->program);
    argv = strv_add(argv, "--client-fd=3");
    for (size_t i = 0; i < ARRAY_LEN(valued); i++) {
        if (!valued[i].value)
            continue;
        argv = strv_add(argv, valued[i].name);
        argv = strv_add(argv, valued[i].value);
    }
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (flags[i].given)
            argv = strv_add(argv, flags[i].name);
    if (has_any(o->parameters))
        argv = strv_add(argv, "--params-fd=4");
    if (has_any(o->command))
        argv = strv_add(argv, "--command-fd=5");
    argv = add_each(argv, "--report", o->reports);
    argv = add_each(argv, "--protect", o->protect);
    argv = add_each(argv, "--allow-protected", o->allow_protected);
    argv = add_each(argv, "--keep", o->keep);
    argv = add_each(argv, "--again", o->again);
    return add_each(argv, "--redo", o->redo);
}

// The kernel's descriptors; -1 for lists of strings that are empty.
struct passed {
    int client, params, command;
};

static void close_passed(struct passed *p)
{
    fd_close_at(&p->client);
    fd_close_at(&p->params);
    fd_close_at(&p->command);
}

static int start(const struct launch *o, char **argv, const struct passed *p, pid_t *guard, err *e)
{
    int output = o->output ? o->output : STDOUT_FILENO, error = o->output ? output : STDERR_FILENO;
    struct spawn_fd fds[5] = {{p->client, CLIENT_FD}};
    size_t n = 1;
    if (p->params >= 0)
        fds[n++] = (struct spawn_fd){p->params, PARAMS_FD};
    if (p->command >= 0)
        fds[n++] = (struct spawn_fd){p->command, COMMAND_FD};
    // A detached kernel must close our standard output: otherwise $(… --detach) would never end.
    if (!o->detach || o->output) {
        fds[n++] = (struct spawn_fd){output, STDOUT_FILENO};
        fds[n++] = (struct spawn_fd){error, STDERR_FILENO};
    }
    struct spawn_spec spec = {
        .argv = (const char *const *)argv, .fds = fds, .fd_n = n, .place = SPAWN_SESSION};
    return spawn(&spec, guard, e);
}

int launch_kernel(const struct launch *options, pid_t *guard, int *client_fd, err *e)
{
    int pair[2];
    if (!path_exists(options->program))
        return err_set(
            e, ERR_NOT_FOUND, "%s is not there; it belongs beside firesteel", options->program);
    err why = {0};
    CLEANUP(close_passed)
    struct passed passed = {-1, strings_file(options->parameters, &why), -1};
    if (!why.code)
        passed.command = strings_file(options->command, &why);
    if (why.code)
        return err_set(e, why.code, "%s", why.text);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, errno, "cannot make a socket pair");
    passed.client = pair[1];
    CLEANUP(strv_free_at) char **argv = command_line(options);
    if (start(options, argv, &passed, guard, e) < 0) {
        close(pair[0]);
        return -1;
    }
    *client_fd = pair[0];
    return 0;
}
