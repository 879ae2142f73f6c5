// SPDX-License-Identifier: MIT
// The messages between driver, ranks and executors. Driver and executors first prove to each other
// that they know the job's secret; nothing else is read before. The caller owns the descriptors.
// doc/distributed.md describes the whole.
//
//   1 byte   kind      4 bytes  length, little-endian      length bytes
//
//   driver                                   executor
//     CHALLENGE  nonce_d (32)            →
//                                        ←   HELLO    nonce_p (32),
//                                                     HMAC(secret, "firesteel peer" nonce_d
//                                                     nonce_p)
//     WELCOME    HMAC(secret, "firesteel driver" nonce_p nonce_d)   →
//
// From then on all bytes between them travel in sealed records (base/data/seal.h), salt nonce_d
// nonce_p. Ranks use a descriptor that they inherit, so nobody else can be at its other end. An
// executor relays the messages between its ranks and the driver in RELAY.
#pragma once
#include "base/buf.h"
#include "base/data/seal.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { MESSAGE_HEADER = 5, NONCE_SIZE = 32, RELAY_HEADER = 5, RELAY_MOST = 1 << 16 };

// X(name, the largest body accepted)
#define MESSAGES(X)                                                                                \
    X(CHALLENGE, 32)                                                                               \
    X(HELLO, 64)                                                                                   \
    X(WELCOME, 32)                                                                                 \
    X(READY, 200)      /* from a rank: it runs; why it cannot share memory, if it should */        \
    X(JOB, 1 << 30)    /* to a rank: place in the job, then the packed function */                 \
    X(STOP, 0)         /* to a rank: end now */                                                    \
    X(STDOUT, 1 << 16) /* from a rank: text */                                                     \
    X(STDERR, 1 << 16)                                                                             \
    X(EVENT, 1 << 16)   /* from a rank: one JSON object */                                         \
    X(RESULT, 1 << 30)  /* from a rank: packed values */                                           \
    X(FAILURE, 1 << 20) /* from a rank: message and traceback */                                   \
    X(BEREFT, 1 << 20)  /* the same, after an operation among ranks had failed */                  \
    X(EXIT, 4)          /* from a rank: os.exit's code */                                          \
    X(RUN, 1 << 14) /* to an executor: the job's size, first rank, number of ranks (4 each), */    \
                    /* then settings "NAME=VALUE", a NUL after each */                             \
    X(RELAY, RELAY_HEADER + RELAY_MOST) /* a rank (4), a channel (1), bytes of it */               \
    X(GONE, 8)         /* from an executor: a rank (4) has ended with this wait status (4) */      \
    X(KILL, 0)         /* to an executor: end the ranks */                                         \
    X(RAN, 0)          /* from an executor: none of its ranks is left */                           \
    X(REFUSED, 999)    /* from an executor: why it could not start them */                         \
    X(END, 0)          /* to an executor: nothing more will come */                                \
    X(WAITS, 200)      /* from a rank: the operation in which it waits for others (stall.h) */     \
    X(COUNTS, 12)      /* from a rank: how many of them it has begun; before RESULT (stall.h) */   \
    X(COMMIT, 1 << 30) /* of an elastic job, from rank 0, and to the next one: packed state */     \
    X(COMMITTED, 1)    /* to rank 0: its commit is kept; 1: newcomers wait */                      \
    X(RESET, 0)        /* from a rank: it has ended for newcomers */

typedef enum message_kind {
#define X(name, limit) MESSAGE_##name,
    MESSAGES(X)
#undef X
        MESSAGE_KINDS
} message_kind;

typedef struct message {
    message_kind kind;
    const char *body; // borrowed from the buffer that was parsed
    size_t n;
} message;

const char *message_name(message_kind kind);
// Parses the message at the start of `in`: 1; 0 when more bytes are needed; -1 with ERR_INVALID
// (unknown kind, too long). The bytes stay in `in`: consume MESSAGE_HEADER + n when done.
int message_parse(const buf *in, message *m, err *e);
// Writes the header of a message of n bytes. A body beyond the limit is ERR_LIMIT.
int message_head(message_kind kind, size_t n, char header[MESSAGE_HEADER], err *e);
void message_put(buf *out, message_kind kind, const void *body, size_t n);
// Sends, and blocks meanwhile: for ends that have nothing else to do.
int message_send_bytes(int fd, const void *bytes, size_t n, err *e);
int message_send(int fd, message_kind kind, const void *body, size_t n, err *e);
// Reads one message into `in` (cleared first); deadline: clock_mono() ns or 0. ERR_UNAVAILABLE: the
// other end has closed.
int message_receive(int fd, buf *in, message *m, int64_t deadline, err *e);

// Appends a whole RELAY message to `out`.
void message_put_relay(buf *out, int rank, int channel, const void *bytes, size_t n);

// 4 bytes, little-endian.
void put_u32(void *at, uint32_t value);
uint32_t get_u32(const void *at);

// Connects to "HOST:PORT" or "[::1]:PORT".
int net_dial(const char *address, err *e);
// Sets options for both ends: small messages are sent at once, and a node that has vanished ends
// the connection after a minute (ERR_UNAVAILABLE), not after hours.
void net_tune(int fd);
// Listens on a numeric address; with port 0 on any port, which net_port returns.
int net_listen(const char *host, int port, err *e);
int net_port(int fd);
// The numeric host of the other end (`peer`) or of this end of a connection.
int net_host(int fd, bool peer, char *host, size_t size, err *e);

// For the end that connected: proves that it knows the secret, and checks that the driver knows it.
// Later messages go through the seal, at both ends.
int peer_introduce(int fd, const char *secret, int64_t deadline, seal *s, err *e);
// For the driver's end, without blocking: the body of CHALLENGE; then that of WELCOME, if HELLO is
// right (else ERR_UNAUTHORIZED).
void peer_challenge(uint8_t nonce[NONCE_SIZE]);
int peer_check(const char *secret, const uint8_t nonce[NONCE_SIZE], const message *hello,
    uint8_t welcome[32], seal *s, err *e);
