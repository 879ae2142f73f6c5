// SPDX-License-Identifier: MIT
// Deflated bytes in memory, packed and unpacked at once by libdeflate, in less than half of zlib's
// time.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "trainer/tensor/tensor.h"

#include <stddef.h>
#include <stdint.h>

// Do they begin as a gzip file does (RFC 1952)?
bool gunzip_knows(const void *bytes, size_t n);
// What a gzip file of one member holds, as U8 (its bytes). Errors: CORRUPT, "the gzip data is
// damaged …"; LIMIT, there is no memory for it.
tensor *gunzip(const void *bytes, size_t n, err *e);
// Raw deflated bytes (RFC 1951) that hold exactly `room` ones. 0, or -1: they do not.
int inflate_into(const void *bytes, size_t n, void *out, size_t room);
// Adds n bytes as raw deflated ones. ERR_LIMIT: no memory.
int deflate_onto(buf *out, const void *bytes, size_t n, err *e);
// The sum of gzip and ZIP, CRC-32 (RFC 1952, 8).
uint32_t deflate_sum(const void *bytes, size_t n);
