// SPDX-License-Identifier: MIT
#include "script/protocol/launch.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/spawn.h"
#include "base/str.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENT_FD = 3 }; // where the kernel finds its end of the pair

static void strv_free_at(char ***v)
{
    strv_free(*v);
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
    } flags[] = {{"--headless", o->headless}, {"--detach", o->detach}, {"--sandbox", o->sandbox}};

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
    for (const char *const *p = o->parameters; p && *p; p++) {
        argv = strv_add(argv, "--param");
        argv = strv_add(argv, *p);
    }
    return argv;
}

static int start(const struct launch *o, char **argv, int client, pid_t *guard, err *e)
{
    // Of a detached kernel nothing waits for an end of what we print to: $(… --detach) must end.
    int output = o->output ? o->output : STDOUT_FILENO, error = o->output ? output : STDERR_FILENO;
    struct spawn_fd fds[] = {{client, CLIENT_FD}, {output, STDOUT_FILENO}, {error, STDERR_FILENO}};
    struct spawn_spec spec = {.argv = (const char *const *)argv,
        .fds = fds,
        .fd_n = o->detach && !o->output ? 1 : ARRAY_LEN(fds),
        .place = SPAWN_SESSION};
    return spawn(&spec, guard, e);
}

int launch_kernel(const struct launch *options, pid_t *guard, int *client_fd, err *e)
{
    int pair[2];
    if (!path_exists(options->program))
        return err_set(
            e, ERR_NOT_FOUND, "%s is not there; it belongs beside firesteel", options->program);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, errno, "cannot make a socket pair");

    CLEANUP(strv_free_at) char **argv = command_line(options);
    int result = start(options, argv, pair[1], guard, e);
    close(pair[1]);
    if (result < 0) {
        close(pair[0]);
        return -1;
    }
    *client_fd = pair[0];
    return 0;
}
