// SPDX-License-Identifier: MIT
// A WebSocket of the API server whose messages begin with the number of a channel
// (channel.k8s.io): what exec, attach and port-forward speak. It lives on the loop's thread and
// belongs to its opener. A refusal with 401 is tried once more with new credentials; nothing else
// is sent twice.
#pragma once
#include "k8s/client/connect/client.h"

typedef struct channel channel;
struct channel_spec {
    const char *path;      // after the server's URL, with its query
    const char *protocols; // the best first, "v5.channel.k8s.io, v4.channel.k8s.io"
    const char *what;      // "exec in pod web-0 in namespace default", for errors
};
struct channel_ops {
    void (*open)(void *arg, const char *protocol);
    // The callback may close the channel.
    void (*message)(void *arg, int number, const char *bytes, size_t n);
    void (*drained)(void *arg); // all that was sent has left; may be NULL
    // Called once, and the channel is gone then: it was refused (with the server's words), could
    // not be opened, or has ended; in order: ERR_NONE.
    void (*done)(void *arg, const err *e);
};
channel *channel_open(
    client *c, const struct channel_spec *spec, const struct channel_ops *ops, void *arg);
void channel_send(channel *ch, int number, const void *bytes, size_t n); // after `open`
size_t channel_queued(const channel *ch);
void channel_pause(channel *ch, bool paused); // after `open`
void channel_close(channel *ch);              // NULL is fine; `done` is not called
