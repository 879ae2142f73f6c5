// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/loop/child.h"
#include "base/loop/loop.h"
#include "base/loop/stream.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static loop *new_loop(void)
{
    err e = {0};
    loop *l = loop_new(&e);
    CHECK_OK(l, e);
    return l;
}

static void stop(void *l)
{
    loop_stop(l);
}

struct ticker {
    loop *l;
    loop_timer *timer;
    int count;
};

static void tick(void *arg)
{
    struct ticker *t = arg;
    if (++t->count == 3) {
        loop_timer_free(t->timer);
        loop_stop(t->l);
    }
}

TEST(a_timer_repeats_until_freed)
{
    struct ticker t = {.l = new_loop()};
    t.timer = loop_timer_new(t.l, tick, &t);
    loop_timer_start(t.timer, 1, 1);
    loop_run(t.l);
    CHECK_INT(t.count, 3);
    loop_free(t.l);
}

static void again_at_once(void *arg)
{
    struct ticker *t = arg;
    t->count++;
    loop_timer_start(t->timer, 0, 0);
}

static void readable(void *arg, int events)
{
    loop_stop(arg);
}

TEST(a_timer_that_is_always_due_lets_others_have_their_turn)
{
    struct ticker t = {.l = new_loop()};
    int fds[2];
    CHECK(pipe(fds) == 0 && write(fds[1], "x", 1) == 1);
    loop_poll *poll = loop_poll_new(t.l, fds[0], readable, t.l, NULL);
    loop_poll_set(poll, LOOP_READ);
    t.timer = loop_timer_new(t.l, again_at_once, &t);
    loop_timer_start(t.timer, 0, 0);
    loop_run(t.l); // for ever, when the timer is all it looks at
    CHECK(t.count < 1000);
    loop_poll_free(poll);
    loop_timer_free(t.timer);
    loop_free(t.l);
    close(fds[0]);
    close(fds[1]);
}

static void *run_in_thread(void *l)
{
    loop_run(l);
    return NULL;
}

struct answer {
    int value;
    bool was_cancelled;
};

static void answer_now(loop_pending *call, void *arg)
{
    ((struct answer *)arg)->value = 42;
    loop_call_finish(call);
}

static void answer_never(loop_pending *call, void *arg)
{
}

static void answer_cancelled(loop_pending *call, void *arg)
{
    ((struct answer *)arg)->was_cancelled = true;
    loop_call_finish(call);
}

static void *cancel_soon(void *c)
{
    usleep(20000);
    canceller_cancel(c);
    return NULL;
}

TEST(calls_finish_time_out_and_are_cancelled)
{
    static const struct loop_call_ops now = {answer_now, answer_cancelled};
    static const struct loop_call_ops never = {answer_never, answer_cancelled};
    loop *l = new_loop();
    canceller *c = canceller_new();
    pthread_t thread, other;
    pthread_create(&thread, NULL, run_in_thread, l);
    err e = {0};
    struct answer a = {0};
    CHECK_OK(loop_call(l, c, &now, &a, 0, &e) == 0, e);
    CHECK_INT(a.value, 42);
    CHECK_INT(loop_call(l, NULL, &never, &a, clock_mono() + 10 * CLOCK_MS, &e), -1);
    CHECK_INT(e.code, ERR_TIMEOUT);
    CHECK(a.was_cancelled);
    a.was_cancelled = false;
    pthread_create(&other, NULL, cancel_soon, c);
    CHECK_INT(loop_call(l, c, &never, &a, 0, &e), -1);
    CHECK_INT(e.code, ERR_CANCELLED);
    CHECK(a.was_cancelled);
    pthread_join(other, NULL);
    CHECK_INT(canceller_sleep(c, 60 * CLOCK_SEC, &e), -1);
    canceller_reset(c);
    CHECK_INT(canceller_sleep(c, CLOCK_MS, &e), 0);
    loop_post(l, stop, l);
    pthread_join(thread, NULL);
    canceller_free(c);
    loop_free(l);
}

struct watched {
    loop *l;
    child *c;
    buf out, errors, extra;
    int code, signal, ends;
};

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct watched *w = arg;
    buf_add(fd == 1 ? &w->out : fd == 2 ? &w->errors : &w->extra, bytes, n);
}

static void on_exit_of(void *arg, int code, int signum)
{
    struct watched *w = arg;
    w->code = code;
    w->signal = signum;
    w->ends++;
    child_free(w->c);
    loop_stop(w->l);
}

static const struct child_ops watched_ops = {on_output, on_exit_of};

static void watched_done(struct watched *w)
{
    buf_done(&w->out);
    buf_done(&w->errors);
    buf_done(&w->extra);
    loop_free(w->l);
}

static void run_child(struct watched *w, struct child_spec spec)
{
    err e = {0};
    w->l = new_loop();
    w->c = child_spawn(w->l, &spec, &watched_ops, w, &e);
    CHECK_OK(w->c, e);
    loop_run(w->l);
}

#define SH(text)                                                                                   \
    (const char *const[])                                                                          \
    {                                                                                              \
        "/bin/sh", "-c", text, NULL                                                                \
    }

TEST(a_child_gets_input_and_gives_output)
{
    struct watched w = {0};
    run_child(&w, (struct child_spec){.argv = SH("cat; echo err >&2; echo more >&5; exit 3"),
                      .input = "hello",
                      .input_n = 5,
                      .extra_fd = 5});
    CHECK_STR(w.out.data, "hello");
    CHECK_STR(w.errors.data, "err\n");
    CHECK_STR(w.extra.data, "more\n");
    CHECK_INT(w.code, 3);
    CHECK_INT(w.ends, 1);
    watched_done(&w);
}

TEST(merged_output_keeps_its_order)
{
    struct watched w = {0};
    run_child(&w, (struct child_spec){.merge_output = true,
                      .argv = SH("for i in 1 2 3; do echo o$i; echo e$i >&2; done")});
    CHECK_STR(w.out.data, "o1\ne1\no2\ne2\no3\ne3\n");
    watched_done(&w);
}

TEST(a_grandchild_that_holds_the_pipe_does_not_hold_the_end)
{
    struct watched w = {0};
    int64_t from = clock_mono();
    run_child(&w, (struct child_spec){.argv = SH("echo x; sleep 5 & exit 0")});
    CHECK_STR(w.out.data, "x\n");
    CHECK(clock_mono() - from < 4 * CLOCK_SEC);
    watched_done(&w);
}

TEST(no_such_program_is_said_by_name)
{
    loop *l = new_loop();
    err e = {0};
    struct child_spec spec = {.argv = (const char *const[]){"no-such-program", NULL}};
    CHECK(!child_spawn(l, &spec, &watched_ops, NULL, &e));
    CHECK_STR(e.text, "cannot start no-such-program: there is no such program in PATH");
    CHECK_INT(e.code, ERR_NOT_FOUND);
    spec = (struct child_spec){.argv = SH("true"), .cwd = "/no/such"};
    CHECK(!child_spawn(l, &spec, &watched_ops, NULL, &e));
    CHECK_HAS(e.text, "in the folder /no/such");
    loop_free(l);
}

TEST(freeing_a_child_kills_its_group)
{
    struct watched w = {.l = new_loop()};
    err e = {0};
    AUTO_FREE char *file = path_join(tap_dir(), "late");
    AUTO_FREE char *script = str_fmt("(sleep 0.3; touch %s) & sleep 10", file);
    struct child_spec spec = {.argv = SH(script)};
    w.c = child_spawn(w.l, &spec, &watched_ops, &w, &e);
    CHECK_OK(w.c, e);
    usleep(50000);
    child_free(w.c);
    watched_done(&w); // returns when it is reaped
    CHECK_INT(w.ends, 0);
    usleep(400000);
    CHECK(!path_exists(file));
}

struct pair {
    loop *l;
    stream *server, *client;
    listener *listening;
    buf got;
};

static void on_closed(void *arg, const err *reason)
{
    struct pair *p = arg;
    CHECK_INT(reason->code, ERR_NONE);
    stream_close(p->server);
    stream_close(p->client);
    listener_close(p->listening);
    loop_stop(p->l);
}

static void server_data(void *arg, const char *bytes, size_t n)
{
    struct pair *p = arg;
    stream_write(p->server, bytes, n);
}

static void client_data(void *arg, const char *bytes, size_t n)
{
    struct pair *p = arg;
    buf_add(&p->got, bytes, n);
    if (p->got.len == 1000000)
        stream_shutdown(p->client);
}

static const struct stream_ops server_ops = {server_data, on_closed, NULL};
static const struct stream_ops client_ops = {client_data, on_closed, NULL};

static void on_accept(void *arg, stream *s)
{
    struct pair *p = arg;
    int uid, pid;
    CHECK_INT(stream_peer(s, &uid, &pid), 0);
    CHECK_INT(pid, getpid());
    p->server = s;
    stream_start(s, &server_ops, p);
}

TEST(a_megabyte_goes_through_a_socket_and_back)
{
    struct pair p = {.l = new_loop()};
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "s");
    p.listening = listener_open(p.l, path, on_accept, &p, &e);
    CHECK_OK(p.listening, e);
    p.client = stream_connect(p.l, path, &client_ops, &p, &e);
    CHECK_OK(p.client, e);
    AUTO_FREE char *megabyte = mem_alloc(1000000);
    for (size_t i = 0; i < 1000000; i++) // what a socket does not take at once goes on at its place
        megabyte[i] = (char)('!' + i % 89);
    stream_write(p.client, megabyte, 1000000);
    loop_run(p.l);
    CHECK_INT(p.got.len, 1000000);
    CHECK(memcmp(p.got.data, megabyte, p.got.len) == 0);
    CHECK(!path_exists(path));
    buf_done(&p.got);
    loop_free(p.l);
}

struct reader_that_left {
    loop *l;
    buf got;
    bool told;
};

static void last_words(void *arg, const char *bytes, size_t n)
{
    struct reader_that_left *r = arg;
    buf_add(&r->got, bytes, n);
}

static void told(void *arg, const err *reason)
{
    struct reader_that_left *r = arg;
    r->told = true;
    loop_stop(r->l);
}

static void not_told(void *arg)
{
    loop_stop(((struct reader_that_left *)arg)->l);
}

TEST(a_paused_stream_tells_that_its_reader_has_left)
{
    static const struct stream_ops ops = {.data = last_words, .closed = told};
    struct reader_that_left r = {.l = new_loop()};
    err e = {0};
    int fd[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) == 0);
    stream *s = stream_from_fd(r.l, fd[0], &ops, &r, &e);
    CHECK_OK(s, e);
    AUTO_FREE char *much = mem_alloc(4000000);
    stream_pause(s, true);
    stream_write(s, much, 4000000);
    CHECK_INT(write(fd[1], "bye", 3), 3);
    CHECK(shutdown(fd[1], SHUT_RD) == 0 && shutdown(fd[1], SHUT_WR) == 0);
    loop_timer *limit = loop_timer_new(r.l, not_told, &r);
    loop_timer_start(limit, 10000, 0);
    loop_run(r.l);
    CHECK(r.told);
    CHECK_STR(buf_cstr(&r.got), "bye");
    buf_done(&r.got);
    stream_close(s);
    loop_timer_free(limit);
    close(fd[1]);
    loop_free(r.l);
}

struct writer {
    loop *l;
    stream *s;
    int told;
};

static void write_on(void *arg, const err *reason)
{
    static const char bytes[100000] = "";
    struct writer *w = arg;
    CHECK_INT(reason->code, ERR_NONE);
    if (++w->told == 1)
        for (int i = 0; i < 20; i++)
            stream_write(w->s, bytes, sizeof bytes);
}

TEST(a_stream_that_is_written_on_tells_once_that_nobody_reads)
{
    static const struct stream_ops ops = {.data = last_words, .closed = write_on};
    struct writer w = {.l = new_loop()};
    err e = {0};
    int fd[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) == 0);
    w.s = stream_from_fd(w.l, fd[0], &ops, &w, &e);
    CHECK_OK(w.s, e);
    CHECK(shutdown(fd[1], SHUT_RD) == 0 && shutdown(fd[1], SHUT_WR) == 0);
    loop_timer *limit = loop_timer_new(w.l, stop, w.l);
    loop_timer_start(limit, 300, 0);
    loop_run(w.l);
    CHECK_INT(w.told, 2);
    stream_close(w.s);
    loop_timer_free(limit);
    close(fd[1]);
    loop_free(w.l);
}

TEST(a_socket_somebody_listens_on_is_not_taken_and_a_stale_one_is)
{
    loop *l = new_loop();
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "s");
    listener *first = listener_open(l, path, on_accept, NULL, &e);
    CHECK_OK(first, e);
    CHECK(!listener_open(l, path, on_accept, NULL, &e));
    CHECK_INT(e.code, ERR_EXISTS);
    AUTO_FREE char *stale = path_join(tap_dir(), "t");
    CHECK(rename(path, stale) == 0);
    listener_close(first);
    CHECK(path_exists(stale));
    listener *second = listener_open(l, stale, on_accept, NULL, &e);
    CHECK_OK(second, e);
    listener_close(second);
    loop_free(l);
}

enum { FEW = 8, MANY = 40 };

// A program with few descriptors. It holds every connection that it gets and closes them later. It
// exits with 0 if it was idle meanwhile and got all connections in the end.
struct holder {
    loop *l;
    stream *held[MANY];
    int count, released;
    bool was_idle;
    loop_timer *timer;
};

static void hold(void *arg, stream *s)
{
    struct holder *h = arg;
    h->held[h->count++] = s;
    if (h->count == MANY)
        loop_stop(h->l);
    else if (h->released) // from now on, close each connection at once
        stream_close(STEAL(h->held[h->count - 1]));
}

static void let_go(void *arg)
{
    struct holder *h = arg;
    h->was_idle = clock() < CLOCKS_PER_SEC / 4 && h->count < MANY;
    for (h->released = h->count; h->released-- > 0;)
        stream_close(STEAL(h->held[h->released]));
    h->released = 1;
}

static int hold_connections(const char *path, int ready)
{
    err e = {0};
    struct rlimit few;
    struct holder h = {.l = loop_new(&e)};
    listener *l = listener_open(h.l, path, hold, &h, &e);
    int next = dup(0);
    getrlimit(RLIMIT_NOFILE, &few);
    few.rlim_cur = (rlim_t)next + FEW;
    if (!l || setrlimit(RLIMIT_NOFILE, &few) < 0 || write(ready, "x", 1) != 1)
        return 2;
    close(next);
    h.timer = loop_timer_new(h.l, let_go, &h);
    loop_timer_start(h.timer, 2000, 0);
    loop_run(h.l);
    return h.was_idle ? 0 : 1;
}

TEST(without_a_descriptor_left_a_listener_waits_and_serves_later)
{
    AUTO_FREE char *path = path_join(tap_dir(), "full");
    int ready[2], status;
    char byte;
    CHECK(pipe(ready) == 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(hold_connections(path, ready[1]));
    CHECK(read(ready[0], &byte, 1) == 1);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strcpy(to.sun_path, path);
    for (int i = 0; i < MANY; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
}

enum { BLOCKS = 50000, BLOCK = 600 };
struct litter {
    loop *l;
    void *blocks[BLOCKS];
    long littered, later; // pages in memory
};

static long resident(void)
{
    long all = 0, there = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%ld %ld", &all, &there) == 2);
    fclose(f);
    return there;
}

static void look(void *arg)
{
    struct litter *t = arg;
    t->later = resident();
    loop_stop(t->l);
}

// The youngest block stays, so the allocator cannot give back the others by itself.
static void work_much(void *arg)
{
    struct litter *t = arg;
    for (int i = 0; i < BLOCKS; i++)
        t->blocks[i] = memset(mem_alloc(BLOCK), 1, BLOCK);
    for (int i = 0; i < BLOCKS - 1; i++)
        free(t->blocks[i]);
    t->littered = resident();
    int64_t until = clock_mono() + 100 * CLOCK_MS;
    while (clock_mono() < until)
        continue;
}

TEST(after_much_work_free_memory_is_given_back)
{
    err e = {0};
    struct litter *t = mem_alloc(sizeof *t);
    t->l = loop_new(&e);
    loop_post(t->l, work_much, t);
    loop_timer *timer = loop_timer_new(t->l, look, t);
    loop_timer_start(timer, 2500, 0);
    loop_run(t->l);
    long freed = t->littered - t->later, pages = (long)BLOCKS * BLOCK / sysconf(_SC_PAGESIZE);
    if (!TAP_SANITIZED) // those keep what is free, to find uses of it
        CHECK(freed > pages / 2);
    free(t->blocks[BLOCKS - 1]);
    loop_timer_free(timer);
    loop_free(t->l);
    free(t);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    return tap_run();
}
