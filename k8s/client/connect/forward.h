// SPDX-License-Identifier: MIT
// A port of this machine that leads to a port of a pod, as `kubectl port-forward`. Each connection
// gets a WebSocket of its own (v4.channel.k8s.io, which API server and kubelet pass to the
// container runtime), so a slow one holds up no other. It lives on the loop's thread and belongs to
// its opener.
//
// This protocol cannot say that only one side has ended: when the program here has sent all it has,
// the pod is not told; the connection ends when the pod ends it, or after 5 s in which no byte came
// and none was left to send. When the program here reads no more either, what the pod sends is
// dropped and does not keep it.
#pragma once
#include "k8s/client/connect/client.h"

struct forward_spec {
    const char *ns, *pod;
    int remote_port;
    const char *address; // to listen on, "127.0.0.1"
    int port;            // there; 0: a free one
};
typedef struct forward forward;
// failed: a connection could not be carried, in words for people: nobody listens in the pod, or the
// pod is gone. The forward stays.
forward *forward_open(client *c, const struct forward_spec *spec,
    void (*failed)(void *arg, const char *why), void *arg, err *e);
int forward_port(const forward *f);
size_t forward_connections(const forward *f); // now
void forward_close(forward *f);               // with its connections; NULL is fine
