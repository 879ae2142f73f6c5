// SPDX-License-Identifier: MIT
// firesteel sandbox up|down|status: one sandbox per user that outlives terminals and kernels. It is
// found by its folder: its process keeps DIR/pid locked, and its number is in that file.
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/path.h"
#include "base/os/spawn.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STOP_SECONDS = 20, LOG_MAX = 64 * 1024, NOTIFY_FD = 3 };

struct place {
    char *state, *dir, *kubeconfig;
};

static int place_init(struct place *p, struct cli *cli, err *e)
{
    *p = (struct place){.state = cli_state_dir(cli, e)};
    if (!p->state)
        return -1;
    p->dir = path_join(p->state, "sandbox");
    p->kubeconfig = path_join(p->dir, "kubeconfig");
    return 0;
}

// Opens a file of the sandbox's folder, which must be this user's alone; -1 also when the folder is
// missing.
static int place_open(const struct place *p, const char *name, int flags, err *e)
{
    AUTO_FD dir = folder_open_path(p->dir, 2, flags & O_CREAT, e);
    if (dir < 0)
        return -1;
    int fd = folder_file(dir, name, flags, 0600);
    return fd < 0 ? err_errno(e, errno, "cannot open %s/%s", p->dir, name) : fd;
}

static void place_done(struct place *p)
{
    free(p->state);
    free(p->dir);
    free(p->kubeconfig);
}

// The process number of the running sandbox; 0 when there is none.
static pid_t running(const struct place *p)
{
    int fd = place_open(p, "pid", O_RDONLY, NULL);
    char text[24] = "";
    int64_t pid = 0;
    if (fd < 0)
        return 0;
    if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
        read(fd, text, sizeof text - 1) > 0) {
        text[strcspn(text, "\n")] = 0;
        str_to_int(text, &pid);
    }
    close(fd);
    return (pid_t)pid;
}

// If two processes do this at once, they take turns: the second finds what the first has done. Held
// until the descriptor is closed.
static int take_turn(const struct place *p, err *e)
{
    AUTO_FD state = folder_open_path(p->state, 1, true, e);
    if (state < 0)
        return -1;
    int fd = folder_file(state, "sandbox.lock", O_RDWR | O_CREAT, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        return err_errno(e, errno, "cannot lock %s/sandbox.lock", p->state);
    return fd;
}

struct start {
    char *program, *images;
    const char *port;
    const char *const *env;
};

static int spawn_sandbox(
    const struct place *p, const struct start *s, int notify, int log, pid_t *child, err *e)
{
    const char *argv[] = {s->program, "--dir", p->dir, "--images", s->images, "--notify-fd", "3",
        s->port ? "--port" : NULL, s->port, NULL};
    struct spawn_fd fds[] = {{log, STDOUT_FILENO}, {log, STDERR_FILENO}, {notify, NOTIFY_FD}};
    struct spawn_spec spec = {.argv = argv,
        .env = s->env,
        .cwd = "/",
        .fds = fds,
        .fd_n = ARRAY_LEN(fds),
        .place = SPAWN_SESSION};
    return spawn(&spec, child, e);
}

// Reports the program's own text before it ended.
static int report_failure(const struct place *p, err *e)
{
    static const char prefix[] = "firesteel-sandbox: ";
    AUTO_BUF log = {0};
    AUTO_FD fd = place_open(p, "log", O_RDONLY, NULL);
    if (fd >= 0)
        fd_read_all(fd, &log, LOG_MAX, NULL);
    AUTO_FREE char *text = str_trim(buf_cstr(&log), log.len);
    const char *last = strrchr(text, '\n');
    last = last ? last + 1 : text;
    if (str_starts(last, prefix))
        last += sizeof prefix - 1;
    return err_set(e, ERR_FAILED, "the sandbox did not start: %s",
        *last ? last : "it ended without a message");
}

static int wait_ready(const struct place *p, int ready, pid_t child, err *e)
{
    char line[4096];
    ssize_t n;
    while ((n = read(ready, line, sizeof line)) < 0 && errno == EINTR)
        ;
    if (n > 0)
        return 0;
    waitpid(child, NULL, 0);
    return report_failure(p, e);
}

static int start(const struct place *p, const struct start *s, err *e)
{
    int ends[2];
    int log = place_open(p, "log", O_WRONLY | O_CREAT | O_TRUNC, e);
    if (log < 0)
        return -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(log);
        return err_errno(e, errno, "cannot make a pipe");
    }
    pid_t child;
    int code = spawn_sandbox(p, s, ends[1], log, &child, e);
    close(log);
    close(ends[1]);
    if (code == 0)
        code = wait_ready(p, ends[0], child, e);
    close(ends[0]);
    return code;
}

static void print_place(const struct place *p, pid_t pid)
{
    AUTO_BUF text = {0};
    AUTO_FD fd = place_open(p, "kubeconfig", O_RDONLY, NULL);
    if (fd >= 0)
        fd_read_all(fd, &text, LOG_MAX, NULL);
    AUTO_JSON *documents = yaml_parse(buf_cstr(&text), text.len, NULL);
    const char *server = json_path_str(documents, "[0].clusters[0].cluster.server");
    say(stderr, "The sandbox is up: %s (process %d). It ends with: firesteel sandbox down\n",
        server ? server : "", (int)pid);
    say(stdout, "export KUBECONFIG='%s'\n", p->kubeconfig);
}

static int up(struct cli *cli, const struct place *p, const char *port)
{
    err e = {0};
    struct start s = {.port = port, .env = cli->env, .images = cli_images_dir(cli, &e)};
    int code = 0, turn = s.images ? take_turn(p, &e) : -1;
    if (turn < 0)
        code = -1;
    else if (!running(p)) {
        s.program = cli_program(cli, "firesteel-sandbox", &e);
        code = s.program ? start(p, &s, &e) : -1;
    }
    if (code == 0)
        print_place(p, running(p));
    else
        code = cli_error(cli, &e);
    if (turn >= 0)
        close(turn);
    free(s.program);
    free(s.images);
    return code;
}

static bool wait_gone(const struct place *p, int seconds)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    for (int i = 0; i < seconds * 50; i++) {
        if (!running(p))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static int down(struct cli *cli, const struct place *p)
{
    err e = {0};
    int turn = take_turn(p, &e);
    if (turn < 0)
        return cli_error(cli, &e);
    pid_t pid = running(p);
    if (pid)
        kill(pid, SIGTERM);
    if (pid && !wait_gone(p, STOP_SECONDS)) {
        kill(pid, SIGKILL); // its pods end with it
        wait_gone(p, STOP_SECONDS);
    }
    int code = path_remove(p->dir, &e) == 0 ? 0 : cli_error(cli, &e);
    if (code == 0)
        say(stderr,
            pid ? "The sandbox and all it ran are gone; images stay\n" : "No sandbox is running\n");
    close(turn);
    return code;
}

static int status(const struct place *p)
{
    pid_t pid = running(p);
    if (!pid) {
        say(stderr, "No sandbox is running; start one with: firesteel sandbox up\n");
        return 1;
    }
    print_place(p, pid);
    return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *port = NULL;
    const struct option options[] = {
        {"port", 0, "PORT", "listen there on 127.0.0.1 (default: any free port)", .text = &port},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &sandbox_verb, options, argc, argv, &rest, &code) != 0) {
        strv_free(rest);
        return code;
    }
    struct place p;
    int64_t number;
    err e = {0};
    int found = place_init(&p, cli, &e);
    const char *what = strv_len(rest) == 1 ? rest[0] : "";
    if (port && (!str_to_int(port, &number) || number < 0 || number > 65535))
        code = cli_usage(cli, &sandbox_verb, "--port: not a port number: %s", port);
    else if (found < 0)
        code = cli_error(cli, &e);
    else if (str_eq(what, "up"))
        code = up(cli, &p, port);
    else if (str_eq(what, "down"))
        code = down(cli, &p);
    else if (str_eq(what, "status"))
        code = status(&p);
    else
        code = cli_usage(cli, &sandbox_verb, "say up, down or status");
    place_done(&p);
    strv_free(rest);
    return code;
}

const struct verb sandbox_verb = {
    .name = "sandbox",
    .summary = "a cluster of processes on this machine: up, down, status",
    .usage = "up [--port PORT] | down | status",
    .run = run,
};
