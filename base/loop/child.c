// SPDX-License-Identifier: MIT
#include "base/loop/child.h"

#include "base/loop/internal.h"
#include "base/mem.h"
#include "base/os/follow.h"
#include "base/os/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LAST_OUTPUT_MS = 200,
    KILLED_MS = 1000, // how long we wait for a killed child; one we may not kill is then left alone
    OUTPUTS = 3,
};

// One pipe from the child.
struct output {
    uv_pipe_t uv;
    child *c;
    int fd; // its number in the child
    bool is_open;
};

//   child ── process (base/os/follow.h)  ends by: exited, then closed
//         ── outputs[0..2]            end by: end of file, or 200 ms after the exit
//         ── input                    ends by: child_close_stdin, or with the child
// The block is freed when every handle is closed and the owner has called child_free.
struct child {
    uv_poll_t process;
    uv_pipe_t input;
    uv_timer_t patience; // limits the wait for its last output, or for its end after child_free
    struct output outputs[OUTPUTS];
    const struct child_ops *ops;
    void *arg;
    int handles; // not yet closed
    int pid, followed;
    int code, signal;
    bool has_exited, was_reported, is_let_go, has_input;
    char room[65536];
};

static void free_if_done(child *c)
{
    if (!c->handles && c->is_let_go)
        free(c);
}

static void handle_closed(uv_handle_t *h)
{
    child *c = h->data;
    c->handles--;
    free_if_done(c);
}

static void close_handle(void *handle)
{
    uv_handle_t *h = handle;
    if (!uv_is_closing(h))
        uv_close(h, handle_closed);
}

static void close_output(struct output *o)
{
    if (!o->is_open)
        return;
    o->is_open = false;
    close_handle(&o->uv);
}

// Reports the end once the child is reaped and all its output is read.
static void tell_if_over(child *c)
{
    for (int i = 0; i < OUTPUTS; i++)
        if (c->outputs[i].is_open)
            return;
    if (!c->has_exited || c->was_reported)
        return;
    c->was_reported = true;
    uv_timer_stop(&c->patience);
    child_close_stdin(c);
    if (!c->is_let_go)
        c->ops->exited(c->arg, c->code, c->signal);
}

static void give_up_output(uv_timer_t *timer)
{
    child *c = timer->data;
    for (int i = 0; i < OUTPUTS; i++)
        close_output(&c->outputs[i]);
    tell_if_over(c);
}

static void process_closed(uv_handle_t *h)
{
    child *c = h->data;
    close(c->followed);
    handle_closed(h);
}

static void give_up_process(uv_timer_t *timer)
{
    child *c = timer->data;
    uv_close((uv_handle_t *)&c->process, process_closed);
    close_handle(&c->patience);
}

static void process_exited(uv_poll_t *process, int status, int events)
{
    child *c = process->data;
    int how = 0;
    if (c->has_exited || waitpid(c->pid, &how, WNOHANG) == 0)
        return;
    c->has_exited = true;
    c->code = WIFSIGNALED(how) ? -1 : WEXITSTATUS(how);
    c->signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    uv_close((uv_handle_t *)&c->process, process_closed);
    if (c->is_let_go)
        close_handle(&c->patience);
    else
        uv_timer_start(&c->patience, give_up_output, LAST_OUTPUT_MS, 0);
    tell_if_over(c);
}

static void alloc_room(uv_handle_t *h, size_t suggested, uv_buf_t *room)
{
    child *c = h->data;
    *room = uv_buf_init(c->room, sizeof c->room);
}

static void got_output(uv_stream_t *uv, ssize_t n, const uv_buf_t *room)
{
    struct output *o = (struct output *)uv;
    child *c = o->c;
    if (n > 0 && !c->is_let_go)
        c->ops->output(c->arg, o->fd, room->base, (size_t)n);
    if (n < 0) {
        close_output(o);
        tell_if_over(c);
    }
}

static int open_output(child *c, uv_loop_t *uv, int i, int fd, int child_fd)
{
    struct output *o = &c->outputs[i];
    *o = (struct output){.c = c, .fd = child_fd};
    uv_pipe_init(uv, &o->uv, 0);
    o->uv.data = c;
    c->handles++;
    o->is_open = true;
    int code = uv_pipe_open(&o->uv, fd);
    if (code < 0) {
        close(fd);
        return code;
    }
    return uv_read_start((uv_stream_t *)&o->uv, alloc_room, got_output);
}

// The child's side of each descriptor while it is being spawned; closed here afterwards.
struct ends {
    int ours[4], theirs[4]; // input, output, error, extra; -1: none
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_ends(struct ends *x)
{
    for (int i = 0; i < 4; i++) {
        close_end(&x->ours[i]);
        close_end(&x->theirs[i]);
    }
}

static int make_pipe(struct ends *x, int i, bool child_writes)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    x->ours[i] = fds[child_writes ? 0 : 1];
    x->theirs[i] = fds[child_writes ? 1 : 0];
    return 0;
}

static int make_ends(struct ends *x, const struct child_spec *spec)
{
    memset(x, 0xff, sizeof *x);
    bool has_input = spec->keep_stdin || spec->input_n;
    if (has_input && make_pipe(x, 0, false) < 0)
        return -1;
    if (!has_input && (x->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
        return -1;
    if (spec->output_file) {
        x->theirs[1] = fcntl(spec->output_file, F_DUPFD_CLOEXEC, 3);
        x->theirs[2] = fcntl(spec->output_file, F_DUPFD_CLOEXEC, 3);
        if (x->theirs[1] < 0 || x->theirs[2] < 0)
            return -1;
    } else {
        if (make_pipe(x, 1, true) < 0)
            return -1;
        if (spec->merge_output)
            x->theirs[2] = fcntl(x->theirs[1], F_DUPFD_CLOEXEC, 3);
        else if (make_pipe(x, 2, true) < 0)
            return -1;
    }
    return spec->extra_fd ? make_pipe(x, 3, true) : 0;
}

// The child gets a death signal: when this program is killed, nothing goes on unattended.
static int start(child *c, const struct child_spec *spec, const struct ends *x, err *e)
{
    struct spawn_fd fds[4] = {{x->theirs[0], 0}, {x->theirs[1], 1}, {x->theirs[2], 2}};
    assert(!spec->extra_fd || spec->extra_fd > STDERR_FILENO);
    if (spec->extra_fd)
        fds[3] = (struct spawn_fd){x->theirs[3], spec->extra_fd};
    struct spawn_spec s = {.argv = spec->argv,
        .env = spec->env,
        .cwd = spec->cwd,
        .fds = fds,
        .fd_n = spec->extra_fd ? 4 : 3,
        .place = SPAWN_SESSION,
        .death_signal = SIGKILL};
    return spawn(&s, &c->pid, e);
}

static int watch_end(child *c, uv_loop_t *uv, const char *name, err *e)
{
    c->followed = follow(c->pid);
    int code = c->followed < 0 ? -errno : uv_poll_init(uv, &c->process, c->followed);
    if (code == 0) {
        c->process.data = c;
        c->handles++;
        return uv_poll_start(&c->process, UV_READABLE, process_exited);
    }
    kill(-c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    if (c->followed >= 0)
        close(c->followed);
    return err_errno(e, -code, "cannot follow %s", name);
}

static void input_written(uv_write_t *request, int status)
{
    free(request);
}

void child_write(child *c, const void *bytes, size_t n)
{
    if (!c->has_input || !n)
        return;
    struct {
        uv_write_t uv;
        char bytes[];
    } *w = mem_alloc(sizeof *w + n);
    memcpy(w->bytes, bytes, n);
    uv_buf_t data = uv_buf_init(w->bytes, (unsigned)n);
    if (uv_write(&w->uv, (uv_stream_t *)&c->input, &data, 1, input_written) < 0)
        free(w);
}

static void input_shut(uv_shutdown_t *request, int status)
{
    close_handle(request->handle);
    free(request);
}

void child_close_stdin(child *c)
{
    if (!c->has_input)
        return;
    c->has_input = false;
    uv_shutdown_t *request = mem_alloc(sizeof *request);
    if (uv_shutdown(request, (uv_stream_t *)&c->input, input_shut) < 0) {
        free(request);
        close_handle(&c->input);
    }
}

// Takes over our ends of the pipes of a child that runs.
static void attach(child *c, uv_loop_t *uv, const struct child_spec *spec, struct ends *x)
{
    for (int i = 1; i < 4; i++)
        if (x->ours[i] >= 0) {
            int fd = x->ours[i];
            x->ours[i] = -1;
            if (open_output(c, uv, i - 1, fd, i < 3 ? i : spec->extra_fd) < 0)
                close_output(&c->outputs[i - 1]);
        }
    if (x->ours[0] < 0)
        return;
    uv_pipe_init(uv, &c->input, 0);
    c->input.data = c;
    c->handles++;
    uv_pipe_open(&c->input, x->ours[0]);
    x->ours[0] = -1;
    c->has_input = true;
    if (spec->input_n)
        child_write(c, spec->input, spec->input_n);
    if (!spec->keep_stdin)
        child_close_stdin(c);
}

child *child_spawn(
    loop *l, const struct child_spec *spec, const struct child_ops *ops, void *arg, err *e)
{
    uv_loop_t *uv = loop_uv(l);
    CLEANUP(close_ends) struct ends x;
    if (make_ends(&x, spec) < 0) {
        err_errno(e, errno, "cannot start %s", spec->argv[0]);
        return NULL;
    }
    child *c = mem_alloc(sizeof *c);
    c->ops = ops;
    c->arg = arg;
    if (start(c, spec, &x, e) < 0 || watch_end(c, uv, spec->argv[0], e) < 0) {
        free(c);
        return NULL;
    }
    uv_timer_init(uv, &c->patience);
    c->patience.data = c;
    c->handles++;
    attach(c, uv, spec, &x);
    return c;
}

int child_pid(const child *c)
{
    return c->pid;
}

void child_kill(child *c, int signum)
{
    kill(-c->pid, signum);
}

void child_free(child *c)
{
    if (!c)
        return;
    c->is_let_go = true;
    if (c->has_exited) {
        close_handle(&c->patience);
    } else {
        child_kill(c, SIGKILL);
        uv_timer_start(&c->patience, give_up_process, KILLED_MS, 0);
    }
    for (int i = 0; i < OUTPUTS; i++)
        close_output(&c->outputs[i]);
    if (c->has_input) {
        c->has_input = false;
        close_handle(&c->input);
    }
    free_if_done(c); // if the process still runs, process_exited reaps it first
}
