// SPDX-License-Identifier: MIT
// Shared by the bindings that use servers: one http while the kernel lives, and one client for the
// chosen context. Both belong to the kernel (call_shared); these functions return them borrowed.
#pragma once
#include "k8s/client/client.h"
#include "script/kernel/effects/binding.h"

http *bind_http(call *c, err *e);
// Registers the client's credentials as secrets, and sends no request. Errors: also, that the
// cluster is gone for good.
client *bind_client(call *c, err *e);
// The patience of this cell's calls: its canceller, its deadline, and a line in its output when the
// server is away.
struct patience bind_patience(call *c);
