// SPDX-License-Identifier: MIT
// The client's end of a kernel's socket: sends messages, hands out what comes back.
// A client is owned by who opened it and belongs to its loop's thread.
//
//   client_connect(…) → client_hello(c, 0) → event(welcome), event(document), event(run),
//   event(state), …
#pragma once
#include "base/loop/loop.h"
#include "script/protocol/message.h"

typedef struct client client;
struct client_ops {
    // Every message from the kernel but replies to client_request. `message` is borrowed.
    void (*event)(void *arg, message_type type, const cJSON *message);
    // The connection is over; reason->code is ERR_NONE for an orderly end. What the kernel had
    // journaled and not sent has come by `event` before. Close the client then or later; no
    // callback after it.
    void (*closed)(void *arg, const err *reason);
};

// Connects to a kernel's socket; ERR_NOT_FOUND or ERR_UNAVAILABLE when there is no kernel,
// ERR_FORBIDDEN when the socket is somebody else's.
client *client_connect(
    loop *l, const char *socket, const struct client_ops *ops, void *arg, err *e);
// Takes over a connected descriptor, as launch_kernel returns it.
client *client_from_fd(loop *l, int fd, const struct client_ops *ops, void *arg, err *e);
void client_free(client *c); // NULL is fine; also from its callbacks

// from: the last event already seen, 0 for all, -1 for only new ones.
// owner: the kernel is here for this client; one that only looks (ls, stop) is none.
void client_hello(client *c, int64_t from, bool owner);
// Sends a message, which it takes; without an answer.
void client_send(client *c, cJSON *message);
// Sends a message, which it takes; `reply` gets the kernel's reply, or NULL when the connection
// ended first. The borrowed reply has "ok", and "error": {"code", "message"} when not.
void client_request(
    client *c, cJSON *message, void (*reply)(void *arg, const cJSON *reply), void *arg);
