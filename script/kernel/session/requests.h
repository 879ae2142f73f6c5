// SPDX-License-Identifier: MIT
// What clients ask a kernel for: one function a message of message.def. All on the loop's thread.
#pragma once
#include "script/kernel/session/state.h"

extern const struct server_ops requests_ops; // arg is the kernel
