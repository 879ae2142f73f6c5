// SPDX-License-Identifier: MIT
// Byte streams on Unix sockets, pipes and TCP on loopback: a listener, and the two ends of a
// connection. Whoever opened or accepted a stream owns it, and frees it with stream_close, also
// from its callbacks.
#pragma once
#include "base/loop/loop.h"

#include <stddef.h>

enum { STREAM_PATH_MOST = 107 }; // bytes of a Unix socket's path

typedef struct stream stream;
struct stream_ops {
    void (*data)(void *arg, const char *bytes, size_t n);
    // ERR_NONE: end of file. Then close the stream, or go on writing: the other side may still
    // read. If writing fails, this is called a second and last time.
    void (*closed)(void *arg, const err *reason);
    void (*drained)(void *arg); // everything written has left; may be NULL
};

// Connects to a Unix socket at once, or fails.
stream *stream_connect(loop *l, const char *path, const struct stream_ops *ops, void *arg, err *e);
// Takes over a descriptor (one end of a pipe, a connected socket).
stream *stream_from_fd(loop *l, int fd, const struct stream_ops *ops, void *arg, err *e);
// Sets the callbacks of an accepted stream and starts reading.
void stream_start(stream *s, const struct stream_ops *ops, void *arg);
// Copies the bytes into the stream's queue.
void stream_write(stream *s, const void *bytes, size_t n);
size_t stream_queued(const stream *s); // bytes that the system has not taken yet
void stream_pause(stream *s, bool paused);
// Sends the queue, then end of file to the other side; reading goes on.
void stream_shutdown(stream *s);
void stream_close(stream *s); // NULL is fine; the queue is dropped
// uid and pid of the other end of a Unix socket (SO_PEERCRED); -1 when unknown.
int stream_peer(const stream *s, int *uid, int *pid);

typedef struct listener listener;
// Listens on a Unix socket of mode 0600; replaces a socket file on which nobody listens. While the
// process has no descriptor left, new clients wait until there is one.
listener *listener_open(
    loop *l, const char *path, void (*accepted)(void *arg, stream *s), void *arg, err *e);
// The same for TCP: address is "127.0.0.1", "::1", …; *port 0 takes a free port and is set to it.
// It does not check who connects: whoever reaches the address may.
listener *listener_open_tcp(loop *l, const char *address, int *port,
    void (*accepted)(void *arg, stream *s), void *arg, err *e);
void listener_close(listener *l); // also removes the socket file
