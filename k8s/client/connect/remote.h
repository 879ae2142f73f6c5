// SPDX-License-Identifier: MIT
// A command in a container, as `kubectl exec` runs it, or what runs there already, as `kubectl
// attach`: over one WebSocket (v5.channel.k8s.io). It lives on the loop's thread and belongs to its
// opener. It is never tried again: nobody could tell whether the command has run.
#pragma once
#include "k8s/client/connect/client.h"

struct remote_spec {
    const char *ns, *pod;
    const char *container;      // NULL: the server chooses, and refuses when there are several
    const char *const *command; // ended by NULL; NULL: attach
    bool input;                 // it gets a stdin
    bool tty;                   // it has a terminal, and no stderr of its own
};

typedef struct remote remote;
struct remote_ops {
    void (*open)(void *arg); // the server has agreed: input may be sent. May be NULL
    // fd: 1 or 2. The callback may close the remote, or pause it.
    void (*output)(void *arg, int fd, const char *bytes, size_t n);
    void (*drained)(void *arg); // all input has left; may be NULL
    // Called once; the remote is gone then. e->code ERR_NONE: the command has ended, with this exit
    // code. ERR_UNAVAILABLE: the connection was lost, and what became of the command is not known.
    void (*done)(void *arg, int code, const err *e);
};
remote *remote_open(
    client *c, const struct remote_spec *spec, const struct remote_ops *ops, void *arg);
// These after `open`. Input goes in messages of at most 32 KiB, and is queued.
void remote_input(remote *r, const char *bytes, size_t n);
void remote_end_input(remote *r);
void remote_resize(remote *r, int rows, int columns); // of its terminal
size_t remote_queued(const remote *r);                // bytes of input that have not left
void remote_pause(remote *r, bool paused);
// NULL is fine; `done` is not called. The command goes on until it notices that nobody listens.
void remote_close(remote *r);
