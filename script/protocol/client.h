// SPDX-License-Identifier: MIT
// The client's end of a kernel's socket: sends messages, and passes on the kernel's messages. The
// caller owns a client; it belongs to its loop's thread.
//   client_connect(…) → client_hello(c, 0) → event(welcome), event(document), event(run),
//     event(state), …
#pragma once
#include "base/loop/loop.h"
#include "script/protocol/message.h"

typedef struct client client;
struct client_ops {
    // Called for every message from the kernel, except replies to client_request. `message` is
    // borrowed.
    void (*event)(void *arg, message_type type, const cJSON *message);
    // Everything received so far was passed on; may be NULL.
    void (*paused)(void *arg);
    // The connection has ended; reason->code is ERR_NONE for an orderly end. Events that the kernel
    // had journaled but not sent were passed to `event` first. Close the client now or later; no
    // callback comes after this one.
    void (*closed)(void *arg, const err *reason);
};

// Connects to a kernel's socket. ERR_NOT_FOUND or ERR_UNAVAILABLE: there is no kernel;
// ERR_FORBIDDEN: the socket is somebody else's.
client *client_connect(
    loop *l, const char *socket, const struct client_ops *ops, void *arg, err *e);
// Takes over a connected descriptor, such as launch_kernel's.
client *client_from_fd(loop *l, int fd, const struct client_ops *ops, void *arg, err *e);
void client_free(client *c); // NULL is fine; also from its own callbacks

int client_pid(const client *c); // the process at the other end; 0: unknown
// Call it in `event`: the message's line, without its newline; borrowed until the callback returns.
const char *client_line(const client *c, size_t *n);

// from: the last event already seen, 0 for all, -1 for only new ones. owner: the kernel runs for
// this client; a client that only looks (ls, stop) is no owner. person: a person looks at the
// events; only then the kernel sends the document, which is large. more: further fields of hello
// (message.def); NULL: none.
void client_hello(client *c, int64_t from, bool owner, bool person, const cJSON *more);
// The same for a client that only looks: the kernel refuses all of its requests that would change
// something.
void client_hello_looking(client *c);
// Sends a message, which it takes, and expects no reply.
void client_send(client *c, cJSON *message);
// Sends a message, which it takes. `reply` gets the kernel's reply, or NULL when the connection
// ended first. The borrowed reply has "ok"; if that is false, also "error": {"code", "message"}.
void client_request(
    client *c, cJSON *message, void (*reply)(void *arg, const cJSON *reply), void *arg);
