// SPDX-License-Identifier: MIT
// Ports that lead into pods, against a server whose pods answer in capitals: bytes both ways, many
// connections at once, and words for a pod that does not answer.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/forward.h"
#include "tests/support/fake.h"
#include "tests/support/tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct case_ {
    struct fake *fake;
    struct forward_spec spec;
    forward *forward;
    pthread_mutex_t lock;
    buf failed;
    err error;
};

static void on_failed(void *arg, const char *why)
{
    struct case_ *c = arg;
    pthread_mutex_lock(&c->lock);
    buf_str(&c->failed, why);
    pthread_mutex_unlock(&c->lock);
}

static void start_open(loop_pending *pending, void *arg)
{
    struct case_ *c = arg;
    c->forward = forward_open(c->fake->client, &c->spec, on_failed, c, &c->error);
    loop_call_finish(pending);
}

static void start_close(loop_pending *pending, void *arg)
{
    struct case_ *c = arg;
    forward_close(c->forward);
    loop_call_finish(pending);
}

static void open_to(struct case_ *c, const char *pod)
{
    static const struct loop_call_ops ops = {.start = start_open};
    *c = (struct case_){.fake = fake_open(false)};
    pthread_mutex_init(&c->lock, NULL);
    c->spec = (struct forward_spec){
        .ns = "default", .pod = pod, .remote_port = 80, .address = "127.0.0.1"};
    loop_call(c->fake->loop, NULL, &ops, c, 0, &c->error);
    CHECK_OK(c->forward, c->error);
    CHECK(forward_port(c->forward) > 0);
}

static void close_it(struct case_ *c)
{
    static const struct loop_call_ops ops = {.start = start_close};
    loop_call(c->fake->loop, NULL, &ops, c, 0, &c->error);
    buf_done(&c->failed);
    fake_close(c->fake);
}

static int connect_to(const struct case_ *c)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)forward_port(c->forward)),
        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){20, 0}, sizeof(struct timeval));
    return fd;
}

// Reads n bytes, or to the end when that comes first.
static size_t read_all(int fd, char *out, size_t n)
{
    size_t at = 0;
    for (ssize_t got = 1; at < n && got > 0; at += got > 0 ? (size_t)got : 0)
        got = read(fd, out + at, n - at);
    return at;
}

TEST(bytes_go_both_ways_on_many_connections)
{
    struct case_ c;
    open_to(&c, "web");
    int fds[8];
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = connect_to(&c);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        char text[6] = "hello", back[6] = "";
        text[4] = (char)('a' + i);
        CHECK(write(fds[i], text, 5) == 5);
        CHECK_INT(read_all(fds[i], back, 5), 5);
        text[4] = (char)('A' + i);
        CHECK(memcmp(back, "HELL", 4) == 0 && back[4] == text[4]);
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        char end;
        CHECK(write(fds[i], "bye", 3) == 3);
        CHECK_INT(read(fds[i], &end, 1), 0);
        close(fds[i]);
    }
    CHECK_INT(c.failed.len, 0);
    close_it(&c);
}

static void *write_much(void *arg)
{
    const int *fd = arg;
    char block[4096];
    memset(block, 'a', sizeof block);
    for (int i = 0; i < 1024; i++)
        if (write(*fd, block, sizeof block) != sizeof block)
            return NULL;
    return arg;
}

TEST(a_slow_reader_gets_all_of_it)
{
    struct case_ c;
    pthread_t writer;
    open_to(&c, "web");
    int fd = connect_to(&c);
    AUTO_FREE char *back = mem_alloc(4 << 20);
    pthread_create(&writer, NULL, write_much, &fd);
    usleep(300000);
    CHECK_INT(read_all(fd, back, 4 << 20), 4 << 20);
    pthread_join(writer, NULL);
    CHECK(back[0] == 'A' && back[(4 << 20) - 1] == 'A');
    close(fd);
    close_it(&c);
}

struct counting {
    forward *forward;
    size_t n;
};

static void start_count(loop_pending *pending, void *arg)
{
    struct counting *c = arg;
    c->n = forward_connections(c->forward);
    loop_call_finish(pending);
}

// Waits until no connection is left.
static bool all_ended(const struct case_ *c)
{
    static const struct loop_call_ops ops = {.start = start_count};
    struct counting counting = {.forward = c->forward, .n = 1};
    for (int i = 0; i < 2000 && counting.n; i++) {
        usleep(10000);
        loop_call(c->fake->loop, NULL, &ops, &counting, 0, NULL);
    }
    return !counting.n;
}

TEST(a_connection_ends_when_its_client_has_gone_while_the_pod_sends)
{
    struct case_ c;
    int fds[3];
    char some[10];
    open_to(&c, "talker");
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = connect_to(&c);
        CHECK_INT(read_all(fds[i], some, sizeof some), sizeof some);
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    CHECK(all_ended(&c));
    close_it(&c);
}

enum { UPLOAD = 250000 };

// The system takes only little of what goes to the server, as on a slow line.
static void narrow(const struct case_ *c)
{
    int little = 4096;
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in a;
        socklen_t n = sizeof a;
        if (getpeername(fd, (struct sockaddr *)&a, &n) == 0 && a.sin_family == AF_INET &&
            ntohs(a.sin_port) == c->fake->port)
            CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof little) == 0);
    }
}

// Begins an upload to a pod that does not listen yet.
static int upload(const struct case_ *c)
{
    static char bytes[UPLOAD];
    char ready[5];
    int fd = connect_to(c);
    CHECK_INT(read_all(fd, ready, sizeof ready), sizeof ready);
    narrow(c);
    memcpy(bytes + UPLOAD - 3, "bye", 3);
    for (ssize_t at = 0, n = 1; at < UPLOAD && n > 0; at += n)
        n = write(fd, bytes + at, (size_t)(UPLOAD - at));
    return fd;
}

TEST(an_upload_to_a_slow_pod_is_whole_when_its_end_is_told)
{
    struct case_ c;
    char count[7] = "";
    open_to(&c, "slow");
    int fd = upload(&c);
    CHECK(shutdown(fd, SHUT_WR) == 0);
    read_all(fd, count, sizeof count - 1);
    CHECK_STR(count, "250000");
    close(fd);
    CHECK(all_ended(&c));
    close_it(&c);
}

TEST(an_upload_is_whole_when_nobody_reads_the_answer)
{
    struct case_ c, other;
    static const struct loop_call_ops opening = {.start = start_open},
                                      closing = {.start = start_close};
    char count[7] = "";
    open_to(&c, "slow-talker");
    int from = upload(&c);
    usleep(1000000); // a reset drops what has not been read on the other side
    close(from);
    CHECK(all_ended(&c));
    other = (struct case_){.fake = c.fake, .spec = c.spec};
    other.spec.pod = "counted";
    loop_call(c.fake->loop, NULL, &opening, &other, 0, &other.error);
    CHECK_OK(other.forward, other.error);
    int fd = connect_to(&other);
    read_all(fd, count, sizeof count - 1);
    CHECK_STR(count, "250000");
    close(fd);
    loop_call(c.fake->loop, NULL, &closing, &other, 0, &other.error);
    close_it(&c);
}

static bool has_failed(struct case_ *c, const char *words)
{
    bool is = false;
    for (int i = 0; i < 1000 && !is; i++) {
        usleep(10000);
        pthread_mutex_lock(&c->lock);
        is = strstr(buf_cstr(&c->failed), words);
        pthread_mutex_unlock(&c->lock);
    }
    return is;
}

TEST(why_nobody_answers_is_said)
{
    static const char *const pods[][2] = {
        {"refused", "connection refused"}, {"e404", "the fake says 404"}};
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        struct case_ c;
        char end;
        open_to(&c, pods[i][0]);
        int fd = connect_to(&c);
        CHECK_INT(read(fd, &end, 1), 0);
        CHECK(has_failed(&c, pods[i][1]));
        CHECK_HAS(buf_cstr(&c.failed), "port 80 of pod");
        close(fd);
        close_it(&c);
    }
}

TEST(a_port_that_is_taken_is_said)
{
    struct case_ c, other;
    open_to(&c, "web");
    static const struct loop_call_ops ops = {.start = start_open};
    other = (struct case_){.fake = c.fake, .spec = c.spec};
    other.spec.port = forward_port(c.forward);
    loop_call(c.fake->loop, NULL, &ops, &other, 0, &other.error);
    CHECK(!other.forward);
    CHECK_INT(other.error.code, ERR_EXISTS);
    CHECK_HAS(other.error.text, "is taken");
    other.error = (err){0};
    other.spec.address = "localhorst";
    loop_call(c.fake->loop, NULL, &ops, &other, 0, &other.error);
    CHECK_INT(other.error.code, ERR_USAGE);
    close_it(&c);
}

TEST(it_closes_with_its_connections)
{
    struct case_ c;
    char text[2];
    open_to(&c, "web");
    int fd = connect_to(&c);
    CHECK(write(fd, "x", 1) == 1);
    CHECK_INT(read_all(fd, text, 1), 1);
    int late = connect_to(&c); // may not have been accepted yet
    close_it(&c);
    CHECK(read(fd, text, 1) <= 0);
    close(fd);
    close(late);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    int result = tap_run();
    fake_end();
    return result;
}
