// SPDX-License-Identifier: MIT
// The sockets between a Jupyter kernel and its clients (ZeroMQ, which stays in here). To a kernel
// that we start they are files in a folder that only this user can enter, no port. When we are the
// kernel they are where Jupyter wants them. The owner closes them; the folder is not ours.
#pragma once
#include "script/jupyter/wire.h"

#include <poll.h>
#include <stdbool.h>

// name in our lines, and the number of its socket's file
#define CHANNELS_LIST(X)                                                                           \
    X(SHELL, "shell", 1)                                                                           \
    X(IOPUB, "iopub", 2)                                                                           \
    X(STDIN, "stdin", 3)                                                                           \
    X(CONTROL, "control", 4)
enum channel {
#define X(name, text, number) CHANNEL_##name,
    CHANNELS_LIST(X)
#undef X
        CHANNELS
};
enum { HEARTBEAT_NUMBER = 5 }; // the kernel has one, and we need none: it is our child

const char *channel_name(enum channel c);
enum channel channel_of(const char *name); // CHANNELS: the name of no channel

// Where a kernel's sockets are, as Jupyter's connection file says it; borrowed.
struct channels_places {
    const char *transport, *ip;       // "tcp", "127.0.0.1"; "ipc": a path's beginning
    const char *secret_key;           // of CurveZMQ, in Z85; NULL: nothing is encrypted
    int numbers[CHANNELS], heartbeat; // ports; "ipc": IP-NUMBER is the socket's file
};

typedef struct channels channels;
// Connects to the sockets of a kernel that may start later. folder: absolute; its sockets are
// FOLDER/k-1, … Errors: ERR_LIMIT when their paths are too long for Unix sockets.
channels *channels_open(const char *folder, const char *identity, err *e);
// The other side: the sockets of a kernel, which others connect to. Heartbeats are answered in
// channels_wait. On iopub a message comes for each subscription: one frame, "\1" and its topic.
channels *channels_bind(const struct channels_places *places, err *e);
void channels_close(channels *c); // NULL is fine
// Sends the frames of one message. A kernel that reads nothing makes it fail after a while. before:
// n frames that stand before them: of a kernel, the way back to a client, or a topic.
int channels_send(channels *c, enum channel to, const struct wire_frame *before, size_t n,
    char *const frames[WIRE_FRAMES], err *e);
// Takes one message, if there is one; its frames are borrowed until the next call.
bool channels_take(channels *c, enum channel from, const struct wire_frame **frames, size_t *n);
// Waits until a channel or one of these descriptors (-1: none) can be read, or written where its
// events have POLLOUT, or for ms. Sets revents.
void channels_wait(channels *c, struct pollfd *fds, size_t n, int ms);
