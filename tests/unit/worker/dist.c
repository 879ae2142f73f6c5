// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "tests/support/tap.h"
#include "trainer/dist/comm.h"
#include "trainer/dist/job/driver.h"
#include "trainer/dist/job/launch.h"
#include "trainer/dist/message.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(places_fill_hosts_in_order)
{
    struct place p = place_of(3, 4, 2, 4);
    CHECK_INT(p.local_rank, 1);
    CHECK_INT(p.local_size, 2);
    CHECK_INT(p.cross_rank, 1);
    CHECK_INT(p.cross_size, 2);
    CHECK_INT(p.threads, 2);
}

TEST(a_last_host_may_have_fewer_ranks)
{
    struct place last = place_of(2, 3, 2, 2), second = place_of(1, 3, 2, 2);
    CHECK_INT(last.local_size, 1);
    CHECK_INT(last.cross_size, 2);
    CHECK_INT(last.threads, 2);
    CHECK_INT(second.local_rank, 1);
    CHECK_INT(second.cross_size, 1); // no other host has a local rank 1
}

TEST(without_slots_all_ranks_share_a_host)
{
    struct place p = place_of(2, 3, 0, 2);
    CHECK_INT(p.local_rank, 2);
    CHECK_INT(p.cross_size, 1);
    CHECK_INT(p.threads, 1);
}

TEST(a_place_travels)
{
    err e;
    char bytes[PLACE_SIZE];
    struct place p = place_of(3, 4, 2, 4), q;
    place_put(&p, bytes);
    CHECK_OK(place_get(&q, bytes, sizeof bytes, &e) == 0, e);
    CHECK(memcmp(&p, &q, sizeof p) == 0);
    CHECK_INT(place_get(&q, bytes, sizeof bytes - 1, &e), -1);
    put_u32(bytes, 4); // rank 4 of 4
    CHECK_INT(place_get(&q, bytes, sizeof bytes, &e), -1);
}

TEST(messages_come_whole_or_not_yet)
{
    err e;
    message m;
    buf in = {0};
    message_put(&in, MESSAGE_STDOUT, "hello", 5);
    size_t whole = in.len;
    for (in.len = 0; in.len < whole; in.len++)
        CHECK_INT(message_parse(&in, &m, &e), 0);
    CHECK_INT(message_parse(&in, &m, &e), 1);
    CHECK_INT(m.kind, MESSAGE_STDOUT);
    CHECK(m.n == 5 && memcmp(m.body, "hello", 5) == 0);
    buf_done(&in);
}

TEST(messages_are_bounded)
{
    err e;
    message m;
    buf in = {0};
    message_put(&in, MESSAGE_STOP, "x", 1);
    CHECK_INT(message_parse(&in, &m, &e), -1);
    CHECK_HAS(e.text, "message STOP of 1 bytes is longer than 0");
    in.data[0] = 99;
    CHECK_INT(message_parse(&in, &m, &e), -1);
    CHECK_HAS(e.text, "unknown message 99");
    buf_done(&in);
}

TEST(relayed_bytes_keep_their_rank_and_channel)
{
    err e;
    message m;
    buf out = {0};
    message_put_relay(&out, 70000, CHANNEL_PMI, "cmd=init\n", 9);
    CHECK_INT(message_parse(&out, &m, &e), 1);
    CHECK_INT(m.kind, MESSAGE_RELAY);
    CHECK_INT(get_u32(m.body), 70000);
    CHECK_INT(m.body[4], CHANNEL_PMI);
    CHECK(m.n == RELAY_HEADER + 9 && memcmp(m.body + RELAY_HEADER, "cmd=init\n", 9) == 0);
    buf_done(&out);
}

// One end of a connection, which introduces itself.
struct caller {
    int fd;
    const char *secret;
    seal seal;
    int result;
    err e;
};

static void *introduce(void *arg)
{
    struct caller *c = arg;
    c->result = peer_introduce(c->fd, c->secret, clock_mono() + 5 * CLOCK_SEC, &c->seal, &c->e);
    close(c->fd);
    return NULL;
}

// The driver's end: returns 0 when the caller's proof was right; answers with the proof for
// `welcome_secret`.
static int greet(int fd, const char *secret, const char *welcome_secret, err *e)
{
    uint8_t nonce[NONCE_SIZE], welcome[32];
    message m;
    seal ours;
    buf in = {0};
    peer_challenge(nonce);
    int result = message_send(fd, MESSAGE_CHALLENGE, nonce, sizeof nonce, e) ||
                 message_receive(fd, &in, &m, clock_mono() + 5 * CLOCK_SEC, e) ||
                 peer_check(secret, nonce, &m, welcome, &ours, e);
    if (!result && welcome_secret != secret)
        memset(welcome, 0, sizeof welcome);
    if (!result)
        message_send(fd, MESSAGE_WELCOME, welcome, sizeof welcome, NULL);
    buf_done(&in);
    close(fd);
    return result;
}

static int meet(const char *ours, const char *welcome, const char *peer, struct caller *c, err *e)
{
    int fds[2];
    pthread_t thread;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
        return -1;
    *c = (struct caller){.fd = fds[1], .secret = peer};
    pthread_create(&thread, NULL, introduce, c);
    int result = greet(fds[0], ours, welcome, e);
    pthread_join(thread, NULL);
    return result;
}

TEST(both_sides_prove_the_secret)
{
    err e;
    struct caller c;
    const char *secret = "s3cret";
    CHECK_OK(meet(secret, secret, "s3cret", &c, &e) == 0, e);
    CHECK_OK(c.result == 0, c.e);
}

TEST(a_peer_without_the_secret_is_refused)
{
    err e;
    struct caller c;
    const char *secret = "s3cret";
    CHECK(meet(secret, secret, "guess", &c, &e) != 0);
    CHECK_INT(e.code, ERR_UNAUTHORIZED);
    CHECK_INT(c.result, -1);
    CHECK_HAS(c.e.text, "FIRESTEEL_SECRET");
}

TEST(a_driver_without_the_secret_is_refused)
{
    err e;
    struct caller c;
    meet("s3cret", "other", "s3cret", &c, &e);
    CHECK_INT(c.result, -1);
    CHECK_HAS(c.e.text, "the driver does not know the secret");
}

TEST(addresses_are_checked)
{
    err e;
    CHECK_INT(net_dial("nowhere", &e), -1);
    CHECK_HAS(e.text, "\"nowhere\" is not an address of the form HOST:PORT");
    int fd = net_listen("127.0.0.1", 0, &e);
    CHECK_OK(fd >= 0, e);
    CHECK_INT(net_listen("127.0.0.1", net_port(fd), &e), -1);
    CHECK_HAS(e.text, "in use");
    close(fd);
}

TEST(a_node_that_vanishes_is_noticed)
{
    err e;
    int listener = net_listen("127.0.0.1", 0, &e), ms = 0, idle = 0;
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%d", net_port(listener));
    int fd = net_dial(address, &e);
    CHECK_OK(fd >= 0, e);
    getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &(socklen_t){sizeof ms});
    getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, &(socklen_t){sizeof idle});
    CHECK(ms > 0 && ms <= 60 * 1000 && idle > 0 && idle < 60);
    close(fd);
    close(listener);
}

TEST(a_missing_plug_in_says_what_to_install)
{
    err e;
    CHECK(comm_load("/nowhere/firesteel-mpi.so", &e) == NULL);
    CHECK_HAS(e.text, "apt install libmpich12");
}

int main(void)
{
    return tap_run();
}
