// SPDX-License-Identifier: MIT
// Jupyter, which has started us as a kernel: its requests, and the messages to it. ZeroMQ is in
// firesteel-jupyter, a child that ends with the peer. The caller owns a peer and each request that
// it is given.
#pragma once
#include "base/json/json.h"
#include "base/loop/loop.h"

struct request {
    char *channel, *type; // "shell", "execute_request"
    char *from;           // the way back to the client
    cJSON *header, *content, *metadata;
    size_t skipped;       // the owner's: bytes of its code that the session does not get
    struct request *next; // the owner's, too
};
void request_free(struct request *r); // NULL is fine

typedef struct peer peer;
struct peer_ops {
    void (*request)(void *arg, struct request *r); // takes it
    // The child has ended, or could not open the sockets; called once. No callback comes after it.
    void (*ended)(void *arg, const char *why);
};

// program: of firesteel-jupyter; connection: Jupyter's file.
peer *peer_start(loop *l, const char *program, const char *connection, const struct peer_ops *ops,
    void *arg, err *e);
void peer_free(peer *p); // NULL is fine
// No more is sent; `ended` follows when what was sent has left.
void peer_finish(peer *p);

// All of these take the content; NULL: {}.
void peer_reply(peer *p, const struct request *r, const char *type, cJSON *content);
// To all clients, on iopub. parent: the header of the request that it belongs to.
void peer_show(peer *p, const cJSON *parent, const char *type, cJSON *content);
void peer_status(peer *p, const cJSON *parent, const char *state); // "busy", "idle"
// Asks whoever has sent the request; the answer comes as a request input_reply.
void peer_ask(peer *p, const struct request *r, const char *prompt, bool password);
