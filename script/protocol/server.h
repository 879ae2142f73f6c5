// SPDX-License-Identifier: MIT
// The kernel's end of its clients' connections. The server owns the listener, the connections and
// their queues; it belongs to its loop's thread.
// Events are not queued for clients. Each client has a position in the journal's file; from there
// its next events are read when it is ready for them.
//   journal  ██████████████████████████████ ← server_event: the end has moved
//                  ↑ a slow client    ↑ the others
// So a client that does not read costs only its socket's buffer, and loses nothing.
#pragma once
#include "base/loop/loop.h"
#include "script/protocol/message.h"

typedef struct server server;
typedef struct peer peer;

struct server_ops {
    // A client's first message. Answer with welcome and document; server_greet then starts its
    // events.
    void (*hello)(void *arg, peer *p, const cJSON *message);
    // Any later message, already checked.
    void (*message)(void *arg, peer *p, message_type type, const cJSON *message);
    // A greeted client has left, or an owner that never said hello.
    void (*gone)(void *arg, bool owner, bool person);
};

server *server_new(loop *l, const struct server_ops *ops, void *arg);
// Closes everything and drops the queues. See server_drain.
void server_free(server *s);
// Listens at a path; makes its folder (0700) if needed. The path is owned (base/os/owner.h) before
// it exists. Errors: ERR_FORBIDDEN when the folder is not ours alone, ERR_EXISTS when another
// process listens there.
int server_listen(server *s, const char *path, err *e);
// Takes over a connected descriptor, which is the owner's.
int server_adopt(server *s, int fd, err *e);
// The journal from which events are read.
int server_follow(server *s, const char *journal, err *e);
// The journal has grown by this line.
void server_event(server *s, const char *line, size_t n);
size_t server_clients(const server *s); // greeted clients that are still connected
size_t server_users(const server *s);   // of these, the owners, and those with a person who looks
// For answers that may come after a client has gone: the client's number, which is never reused;
// and the client with a number, NULL when it has gone.
int64_t server_number(const peer *p);
peer *server_peer(const server *s, int64_t number);
bool server_is_user(const peer *p);    // an owner, or a client with a person who looks
bool server_is_person(const peer *p);  // its hello said that a person looks
bool server_only_looks(const peer *p); // its hello said that it changes nothing
// Has it read most of what it was sent?
bool server_keeps_up(const peer *p);
// Calls done(arg) when every client has taken everything, or after ms milliseconds.
void server_drain(server *s, uint64_t ms, void (*done)(void *arg), void *arg);

// Sends a message to one client, and takes it.
void server_send(peer *p, cJSON *message);
// Sends it to all who look or own the run, and have read most of what they were sent; takes it.
void server_tell(server *s, cJSON *message);
// Sends all events after number `from` (0: all, -1: only new ones).
void server_greet(peer *p, int64_t from);
// Replies to a message, if it has an id: {"ok": true} with the fields of `more` (taken, may be
// NULL).
void server_reply(peer *p, const cJSON *message, cJSON *more);
void server_refuse(peer *p, const cJSON *message, const err *why);
