// SPDX-License-Identifier: MIT
// Unpacks a body that was sent with Content-Encoding gzip or deflate (RFC 1950, 1952), in pieces,
// while it arrives. An unpacker belongs to its maker.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct unpacker unpacker;
unpacker *unpack_new(void);
void unpack_free(unpacker *u); // NULL is fine
// Gives fn what is in these bytes, piece by piece; it returns false when it wants no more. Returns
// 0, also then; -1 with ERR_INVALID: they are damaged.
int unpack_feed(unpacker *u, const char *bytes, size_t n,
    bool (*fn)(void *arg, const char *bytes, size_t n), void *arg, err *e);
// Were the packed bytes whole?
int unpack_end(const unpacker *u, err *e);
