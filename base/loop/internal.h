// SPDX-License-Identifier: MIT
// What the files of this folder share: access to libuv's loop, and how handles are closed. Handles
// are heap blocks that start with their libuv handle; they are freed when libuv has closed it.
#pragma once
#include "base/loop/loop.h"

#include <uv.h>

uv_loop_t *loop_uv(loop *l);
// Closes a libuv handle that starts a heap block, and frees the block.
void loop_close_handle(void *handle);
