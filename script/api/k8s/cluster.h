// SPDX-License-Identifier: MIT
// Shared by the bindings that use servers: one http while the kernel lives, and one client for the
// chosen context. Both belong to the kernel (call_shared); these functions return them borrowed.
#pragma once
#include "k8s/client/connect/client.h"
#include "script/kernel/effects/binding.h"

http *bind_http(call *c, err *e);
// Registers the client's credentials as secrets, and sends no request. Errors: also, that the
// cluster is gone for good.
client *bind_client(call *c, err *e);
// The same for a context that a person looks into beside the chosen one; NULL, or the chosen one's
// name: that one.
client *bind_client_of(call *c, const char *context, err *e);
// Reads the person's file of kinds, once: before k8s/client/kinds is asked without a client.
int bind_kinds(call *c, err *e);
// Where the kubeconfig of this run is looked for; borrowed from the call.
struct client_options bind_options(call *c);
// The patience of this cell's calls: its canceller, its deadline, and a line in its output when the
// server is away.
struct patience bind_patience(call *c);
