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
// Decompresses these bytes and calls fn with the result, piece by piece; fn returns false to stop.
// Returns 0, also after a stop; -1 with ERR_INVALID: the bytes are damaged.
int unpack_feed(unpacker *u, const char *bytes, size_t n,
    bool (*fn)(void *arg, const char *bytes, size_t n), void *arg, err *e);
// Were the packed bytes whole?
int unpack_end(const unpacker *u, err *e);
