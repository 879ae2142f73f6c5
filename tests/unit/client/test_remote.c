// SPDX-License-Identifier: MIT
// Commands in containers, against a server of channel.k8s.io that misbehaves on demand, over TLS
// and with a token: what comes out, the exit code, and the words for what goes wrong.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/remote.h"
#include "tests/support/fake.h"
#include "tests/support/tap.h"

#include <string.h>

struct session {
    client *client;
    loop *loop;
    struct remote_spec spec;
    const char *input;
    bool pauses; // at each output, for a turn of the loop
    remote *remote;
    loop_timer *timer;
    loop_pending *pending;
    buf text[2];
    int code;
    err error;
};

static void on_open(void *arg)
{
    struct session *s = arg;
    if (s->spec.tty)
        remote_resize(s->remote, 24, 80);
    if (!s->input)
        return;
    remote_input(s->remote, s->input, strlen(s->input));
    remote_end_input(s->remote);
}

static void go_on(void *arg)
{
    struct session *s = arg;
    remote_pause(s->remote, false);
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct session *s = arg;
    buf_add(&s->text[fd - 1], bytes, n);
    if (!s->pauses)
        return;
    remote_pause(s->remote, true);
    loop_timer_start(s->timer, 0, 0);
}

static void on_done(void *arg, int code, const err *e)
{
    struct session *s = arg;
    s->remote = NULL;
    s->code = code;
    s->error = *e;
    loop_timer_free(s->timer);
    loop_call_finish(s->pending);
}

static const struct remote_ops ops = {.open = on_open, .output = on_output, .done = on_done};

static void start(loop_pending *pending, void *arg)
{
    struct session *s = arg;
    s->pending = pending;
    s->timer = loop_timer_new(s->loop, go_on, s);
    s->remote = remote_open(s->client, &s->spec, &ops, s);
}

static void cancel(loop_pending *pending, void *arg)
{
    struct session *s = arg;
    remote_close(s->remote);
    loop_timer_free(s->timer);
    loop_call_finish(pending);
}

static const struct loop_call_ops call_ops = {.start = start, .cancel = cancel};

static void run(struct fake *f, struct session *s, const char *pod)
{
    static const char *const command[] = {"cat", "", NULL};
    s->client = f->client;
    s->loop = f->loop;
    s->spec.ns = "default";
    s->spec.pod = pod;
    s->spec.command = command;
    s->spec.input = s->input;
    int64_t deadline = clock_mono() + 20 * CLOCK_SEC;
    err e = {0};
    CHECK_OK(loop_call(f->loop, NULL, &call_ops, s, deadline, &e) == 0, e);
}

static void done(struct session *s)
{
    buf_done(&s->text[0]);
    buf_done(&s->text[1]);
}

TEST(input_goes_there_and_output_comes_back)
{
    struct fake *f = fake_open(false);
    AUTO_FREE char *much = mem_alloc((1 << 20) + 1);
    memset(much, 'm', 1 << 20);
    struct session s = {.input = much};
    run(f, &s, "echo");
    CHECK_OK(s.error.code == ERR_NONE, s.error);
    CHECK_INT(s.code, 0);
    CHECK_STR(buf_cstr(&s.text[0]), much);
    done(&s);
    fake_close(f);
}

TEST(messages_in_pieces_with_pings_between_are_whole)
{
    struct fake *f = fake_open(false);
    for (int pauses = 0; pauses < 2; pauses++) {
        struct session s = {.pauses = pauses};
        run(f, &s, "big");
        CHECK_OK(s.error.code == ERR_NONE, s.error);
        CHECK_INT(s.text[0].len, 128 * 32768);
        CHECK_STR(buf_cstr(&s.text[1]), "done");
        done(&s);
    }
    fake_close(f);
}

TEST(a_terminal_has_a_size)
{
    struct fake *f = fake_open(false);
    struct session s = {.spec = {.tty = true}};
    run(f, &s, "size");
    CHECK_OK(s.error.code == ERR_NONE, s.error);
    CHECK_STR(buf_cstr(&s.text[0]), "24x80");
    done(&s);
    fake_close(f);
}

TEST(the_exit_code_is_the_commands)
{
    struct fake *f = fake_open(false);
    struct session s = {0};
    run(f, &s, "exit-3");
    CHECK_OK(s.error.code == ERR_NONE, s.error);
    CHECK_INT(s.code, 3);
    CHECK_STR(buf_cstr(&s.text[0]), "out");
    CHECK_STR(buf_cstr(&s.text[1]), "err");
    done(&s);
    fake_close(f);
}

TEST(what_goes_wrong_is_said_with_the_servers_words)
{
    static const struct {
        const char *pod;
        err_code code;
        const char *words;
    } cases[] = {
        {"words", ERR_FAILED, "no such program: nosh"},
        {"cut", ERR_UNAVAILABLE, "the connection was lost"},
        {"cut-frame", ERR_UNAVAILABLE, "the connection was lost"},
        {"silent", ERR_UNAVAILABLE, "nobody said what became of the command"},
        {"closed", ERR_UNAVAILABLE, "the node is gone (1011)"},
        {"garbage", ERR_INVALID, "no WebSocket frames"},
        {"plain", ERR_FAILED, "HTTP 200: hello"},
        {"other", ERR_UNAVAILABLE, "none of our protocols"},
        {"e400", ERR_INVALID, "the fake says 400"},
        {"e403", ERR_FORBIDDEN, "the fake says 403"},
        {"e500", ERR_UNAVAILABLE, "the fake says 500"},
        {"html502", ERR_UNAVAILABLE, "HTTP 502"},
    };
    struct fake *f = fake_open(false);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct session s = {0};
        run(f, &s, cases[i].pod);
        CHECK_HAS(s.error.text, cases[i].words);
        CHECK_HAS(s.error.text, cases[i].pod);
        CHECK_INT(s.error.code, cases[i].code);
        done(&s);
    }
    fake_close(f);
}

TEST(an_old_server_cannot_be_told_the_end_of_the_input)
{
    struct fake *f = fake_open(false);
    struct session s = {.input = "x"};
    run(f, &s, "v4");
    CHECK_INT(s.error.code, ERR_INVALID);
    CHECK_HAS(s.error.text, "before Kubernetes 1.30");
    done(&s);
    fake_close(f);
}

TEST(it_can_be_closed_at_any_time)
{
    struct fake *f = fake_open(false);
    static const char *const command[] = {"cat", NULL};
    for (int ms = 0; ms < 40; ms += 3) {
        struct session s = {.client = f->client,
            .loop = f->loop,
            .input = "x",
            .spec = {.ns = "default", .pod = "size", .command = command, .input = true}};
        err e = {0};
        loop_call(f->loop, NULL, &call_ops, &s, clock_mono() + 1 + ms * CLOCK_MS, &e);
        done(&s);
    }
    fake_close(f);
}

int main(void)
{
    int result = tap_run();
    fake_end();
    return result;
}
