// SPDX-License-Identifier: MIT
#include "trainer/dist/message.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
    const char *name;
    size_t limit;
} kinds[] = {
#define X(name, limit) {#name, limit},
    MESSAGES(X)
#undef X
};

const char *message_name(message_kind kind)
{
    return kind < MESSAGE_KINDS ? kinds[kind].name : "?";
}

void put_u32(void *at, uint32_t value)
{
    uint8_t *b = at;
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t)(value >> (8 * i));
}

uint32_t get_u32(const void *at)
{
    const uint8_t *b = at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

int message_parse(const buf *in, message *m, err *e)
{
    if (in->len < MESSAGE_HEADER)
        return 0;
    uint8_t kind = (uint8_t)in->data[0];
    size_t n = get_u32(in->data + 1);
    if (kind >= MESSAGE_KINDS)
        return err_set(e, ERR_INVALID, "unknown message %u", kind);
    if (n > kinds[kind].limit)
        return err_set(e, ERR_INVALID, "message %s of %zu bytes is longer than %zu",
            kinds[kind].name, n, kinds[kind].limit);
    *m = (message){(message_kind)kind, in->data + MESSAGE_HEADER, n};
    return in->len - MESSAGE_HEADER >= n;
}

int message_head(message_kind kind, size_t n, char header[MESSAGE_HEADER], err *e)
{
    if (n > kinds[kind].limit)
        return err_set(e, ERR_LIMIT, "%zu bytes are more than the %zu that may travel at once", n,
            kinds[kind].limit);
    header[0] = (char)kind;
    put_u32(header + 1, (uint32_t)n);
    return 0;
}

void message_put(buf *out, message_kind kind, const void *body, size_t n)
{
    char header[MESSAGE_HEADER] = {(char)kind};
    put_u32(header + 1, (uint32_t)n);
    buf_add(out, header, sizeof header);
    buf_add(out, body, n);
}

void message_put_relay(buf *out, int rank, int channel, const void *bytes, size_t n)
{
    char header[RELAY_HEADER];
    put_u32(header, (uint32_t)rank);
    header[4] = (char)channel;
    AUTO_BUF body = {0};
    buf_add(&body, header, sizeof header);
    buf_add(&body, bytes, n);
    message_put(out, MESSAGE_RELAY, body.data, body.len);
}

int message_send_bytes(int fd, const void *bytes, size_t n, err *e)
{
    for (const char *at = bytes; n > 0;) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return err_errno(e, errno, "cannot send");
        at += sent;
        n -= (size_t)sent;
    }
    return 0;
}

int message_send(int fd, message_kind kind, const void *body, size_t n, err *e)
{
    char header[MESSAGE_HEADER];
    if (message_head(kind, n, header, e))
        return -1;
    return message_send_bytes(fd, header, sizeof header, e) || message_send_bytes(fd, body, n, e)
               ? -1
               : 0;
}

// Reads until `in` holds `want` bytes.
static int read_up_to(int fd, buf *in, size_t want, int64_t deadline, err *e)
{
    while (in->len < want) {
        int64_t left = deadline ? deadline - clock_mono() : 0;
        if (deadline && left <= 0)
            return err_set(e, ERR_TIMEOUT, "no answer in time");
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, deadline ? (int)(left / CLOCK_MS + 1) : -1);
        if (ready < 0 && errno != EINTR)
            return err_errno(e, errno, "cannot wait for an answer");
        if (ready <= 0)
            continue;
        size_t most = want - in->len < (1 << 20) ? want - in->len : 1 << 20;
        buf_reserve(in, most); // memory grows only with the bytes that have arrived
        ssize_t got = read(fd, in->data + in->len, most);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(e, errno, "cannot read");
        if (got == 0)
            return err_set(e, ERR_UNAVAILABLE, "the other end has closed the connection");
        in->len += (size_t)got;
        in->data[in->len] = 0;
    }
    return 0;
}

int message_receive(int fd, buf *in, message *m, int64_t deadline, err *e)
{
    buf_clear(in);
    if (read_up_to(fd, in, MESSAGE_HEADER, deadline, e) || message_parse(in, m, e) < 0)
        return -1;
    if (read_up_to(fd, in, MESSAGE_HEADER + m->n, deadline, e))
        return -1;
    m->body = in->data + MESSAGE_HEADER;
    return 0;
}

static void address_free(struct addrinfo **a)
{
    if (*a)
        freeaddrinfo(*a);
}

// Splits at the last colon and removes the brackets around an IPv6 address.
static int resolve(const char *address, struct addrinfo **list, err *e)
{
    const char *colon = strrchr(address, ':');
    if (!colon || !colon[1])
        return err_set(e, ERR_USAGE, "\"%s\" is not an address of the form HOST:PORT", address);
    bool bracket = address[0] == '[' && colon > address && colon[-1] == ']';
    AUTO_FREE char *host =
        mem_strndup(address + bracket, (size_t)(colon - address) - (bracket ? 2 : 0));
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int code = getaddrinfo(host, colon + 1, &hints, list);
    if (code)
        return err_set(e, ERR_UNAVAILABLE, "cannot find %s: %s", address, gai_strerror(code));
    return 0;
}

void net_tune(int fd)
{
    enum { IDLE_S = 15, LOST_MS = 60 * 1000 };
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){IDLE_S}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){IDLE_S}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &(int){LOST_MS}, sizeof(int));
}

int net_dial(const char *address, err *e)
{
    CLEANUP(address_free) struct addrinfo *list = NULL;
    if (resolve(address, &list, e))
        return -1;
    int number = 0;
    for (struct addrinfo *a = list; a; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
            net_tune(fd);
            return fd;
        }
        number = errno;
        if (fd >= 0)
            close(fd);
    }
    return err_errno(e, number, "cannot reach %s", address);
}

int net_listen(const char *host, int port, err *e)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    CLEANUP(address_free) struct addrinfo *a = NULL;
    AUTO_FREE char *service = str_fmt("%d", port);
    int code = getaddrinfo(host, service, &hints, &a);
    if (code)
        return err_set(e, ERR_USAGE, "cannot listen on %s:%d: %s", host, port, gai_strerror(code));
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (fd < 0 || bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 128)) {
        int number = errno;
        if (fd >= 0)
            close(fd);
        return err_errno(e, number, "cannot listen on %s:%d", host, port);
    }
    return fd;
}

int net_port(int fd)
{
    struct sockaddr_storage s;
    socklen_t n = sizeof s;
    if (getsockname(fd, (struct sockaddr *)&s, &n))
        return -1;
    return ntohs(s.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&s)->sin6_port
                                         : ((struct sockaddr_in *)&s)->sin_port);
}

int net_host(int fd, bool peer, char *host, size_t size, err *e)
{
    struct sockaddr_storage s;
    socklen_t n = sizeof s;
    if (peer ? getpeername(fd, (struct sockaddr *)&s, &n)
             : getsockname(fd, (struct sockaddr *)&s, &n))
        return err_errno(e, errno, "cannot tell a connection's address");
    int code =
        getnameinfo((struct sockaddr *)&s, n, host, (socklen_t)size, NULL, 0, NI_NUMERICHOST);
    return code ? err_set(e, ERR_IO, "cannot tell a connection's address: %s", gai_strerror(code))
                : 0;
}

// The body of HELLO, and the proofs of both sides.

struct hello {
    uint8_t nonce[NONCE_SIZE];
    uint8_t mac[SHA256_SIZE];
};
_Static_assert(sizeof(struct hello) == 64, "no padding");

static void peer_proof(const char *secret, const uint8_t challenge[NONCE_SIZE],
    const struct hello *h, uint8_t mac[SHA256_SIZE])
{
    AUTO_BUF text = {0};
    buf_str(&text, "firesteel peer");
    buf_add(&text, challenge, NONCE_SIZE);
    buf_add(&text, h->nonce, NONCE_SIZE);
    hmac_sha256(secret, strlen(secret), text.data, text.len, mac);
}

static void driver_proof(const char *secret, const uint8_t challenge[NONCE_SIZE],
    const struct hello *h, uint8_t mac[SHA256_SIZE])
{
    AUTO_BUF text = {0};
    buf_str(&text, "firesteel driver");
    buf_add(&text, h->nonce, NONCE_SIZE);
    buf_add(&text, challenge, NONCE_SIZE);
    hmac_sha256(secret, strlen(secret), text.data, text.len, mac);
}

static void open_seal(const char *secret, const uint8_t challenge[NONCE_SIZE],
    const struct hello *h, bool caller, seal *s)
{
    uint8_t salt[2 * NONCE_SIZE];
    memcpy(salt, challenge, NONCE_SIZE);
    memcpy(salt + NONCE_SIZE, h->nonce, NONCE_SIZE);
    seal_init(s, secret, salt, sizeof salt, caller);
}

int peer_introduce(int fd, const char *secret, int64_t deadline, seal *s, err *e)
{
    ERR_GUARD(e);
    AUTO_BUF in = {0};
    message m;
    if (message_receive(fd, &in, &m, deadline, e))
        return -1;
    if (m.kind != MESSAGE_CHALLENGE || m.n != NONCE_SIZE)
        return err_set(e, ERR_INVALID, "what answered is not a driver of firesteel");
    uint8_t challenge[NONCE_SIZE], proof[SHA256_SIZE];
    memcpy(challenge, m.body, NONCE_SIZE);
    struct hello h;
    random_bytes(h.nonce, sizeof h.nonce);
    peer_proof(secret, challenge, &h, h.mac);
    if (message_send(fd, MESSAGE_HELLO, &h, sizeof h, e))
        return -1;
    if (message_receive(fd, &in, &m, deadline, e)) {
        if (e->code == ERR_UNAVAILABLE)
            return err_set(e, ERR_UNAUTHORIZED,
                "the driver has closed the connection: is FIRESTEEL_SECRET the same on both "
                "sides?");
        return -1;
    }
    driver_proof(secret, challenge, &h, proof);
    if (m.kind != MESSAGE_WELCOME || m.n != sizeof proof || !digest_equal(m.body, proof, m.n))
        return err_set(e, ERR_UNAUTHORIZED,
            "the driver does not know the secret of this job (FIRESTEEL_SECRET)");
    open_seal(secret, challenge, &h, true, s);
    return 0;
}

void peer_challenge(uint8_t nonce[NONCE_SIZE])
{
    random_bytes(nonce, NONCE_SIZE);
}

int peer_check(const char *secret, const uint8_t nonce[NONCE_SIZE], const message *m,
    uint8_t welcome[32], seal *s, err *e)
{
    struct hello h;
    uint8_t proof[SHA256_SIZE];
    if (m->kind != MESSAGE_HELLO || m->n != sizeof h)
        return err_set(e, ERR_UNAUTHORIZED, "a stranger called");
    memcpy(&h, m->body, sizeof h);
    peer_proof(secret, nonce, &h, proof);
    if (!digest_equal(h.mac, proof, sizeof proof))
        return err_set(e, ERR_UNAUTHORIZED, "somebody called without the secret of this job");
    driver_proof(secret, nonce, &h, welcome);
    open_seal(secret, nonce, &h, false, s);
    return 0;
}
