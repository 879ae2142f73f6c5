// SPDX-License-Identifier: MIT
#include "script/protocol/launch.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLIENT_FD = 3, // where the kernel finds its end of the pair
    PARAMS_FD,     // and its parameters
    FIRST_FREE,
};

static void strv_free_at(char ***v)
{
    strv_free(*v);
}

static bool has_parameters(const struct launch *o)
{
    return o->parameters && *o->parameters;
}

// A file without a name that holds them, each with its NUL; -1 on error.
static int parameters_file(const struct launch *o, err *e)
{
    AUTO_BUF text = {0};
    for (const char *const *p = o->parameters; p && *p; p++)
        buf_add(&text, *p, strlen(*p) + 1);
    int made = memfd_create("parameters", MFD_CLOEXEC);
    // Above those that the kernel's descriptors are put on.
    int fd = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, FIRST_FREE);
    if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len || lseek(fd, 0, SEEK_SET) < 0)
        err_errno(e, errno, "cannot pass the parameters on");
    explicit_bzero(text.data, text.len);
    if (made >= 0)
        close(made);
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
        {"--socket", o->socket},
        {"--journal", o->journal},
        {"--allow", o->allow},
        {"--timeout", o->timeout},
        {"--memory", o->memory},
        {"--context", o->context},
        {"--namespace", o->namespace_},
        {"--kubeconfig", o->kubeconfig},
        {"--images", o->images},
        {"--data", o->data},
    };
    const struct {
        const char *name;
        bool given;
    } flags[] = {{"--headless", o->headless}, {"--detach", o->detach}, {"--sandbox", o->sandbox},
        {"--accept-drift", o->accept_drift}};

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
    if (has_parameters(o))
        argv = strv_add(argv, "--params-fd=4");
    return add_each(argv, "--redo", o->redo);
}

// A kernel starts with default signals, whatever its starter ignores or blocks.
static void fresh_signals(posix_spawnattr_t *attributes)
{
    sigset_t set;
    sigfillset(&set);
    posix_spawnattr_setsigdefault(attributes, &set);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(attributes, &set);
    posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

int launch_kernel(const struct launch *options, pid_t *guard, int *client_fd, err *e)
{
    int pair[2];
    if (!path_exists(options->program))
        return err_set(
            e, ERR_NOT_FOUND, "%s is not there; it belongs beside firesteel", options->program);
    err why = {0};
    int params = has_parameters(options) ? parameters_file(options, &why) : -1;
    if (why.code) {
        close(params);
        *e = why;
        return -1;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        err_errno(e, errno, "cannot make a socket pair");
        close(params);
        return -1;
    }

    CLEANUP(strv_free_at) char **argv = command_line(options);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    posix_spawnattr_init(&attributes);
    fresh_signals(&attributes);
    posix_spawn_file_actions_init(&files);
    // dup2 onto itself would leave close-on-exec set: glibc's spawn clears it, POSIX now says so
    // too.
    posix_spawn_file_actions_adddup2(&files, pair[1], CLIENT_FD);
    if (params >= 0)
        posix_spawn_file_actions_adddup2(&files, params, PARAMS_FD);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int fd = STDOUT_FILENO; options->detach && fd <= STDERR_FILENO;
         fd++) // $(… --detach) must end
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
    for (int fd = STDOUT_FILENO; options->output && fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_adddup2(&files, options->output, fd);
    int failed = posix_spawn(guard, options->program, &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(pair[1]);
    close(params);
    if (failed) {
        close(pair[0]);
        return err_errno(e, failed, "cannot start %s", options->program);
    }
    *client_fd = pair[0];
    return 0;
}
