// SPDX-License-Identifier: MIT
// What the bindings that talk to servers share: one http for the kernel's life, and one client for
// the context that was chosen. Both belong to the kernel (call_shared); these borrow.
#pragma once
#include "k8s/client/client.h"
#include "script/kernel/effects/binding.h"

http *bind_http(call *c, err *e);
// Its credentials are registered as secrets. No request is sent by this. Errors: also that the
// cluster is gone for good.
client *bind_client(call *c, err *e);
// How long calls of this cell wait: its canceller, its deadline, and a line in its output when the
// server is away.
struct patience bind_patience(call *c);
