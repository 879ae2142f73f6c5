// SPDX-License-Identifier: MIT
// The requests of clients to a kernel: one function for each message of message.def. All on the
// loop's thread.
#pragma once
#include "script/kernel/session/state.h"

extern const struct server_ops requests_ops; // arg is the kernel
