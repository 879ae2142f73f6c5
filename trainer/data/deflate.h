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
size_t gunzip_most(size_t n); // no more can come out of n bytes
// The first bytes of what a gzip file holds, up to `room`; returns how many. (By zlib: libdeflate
// unpacks all or nothing.)
size_t gunzip_first(const void *bytes, size_t n, void *out, size_t room);
// What a gzip file of one member holds, if it is `size` bytes, as U8 (size). Its own word for its
// size is not asked: in a file that is cut off that is anything. Errors: CORRUPT, "the gzip data is
// damaged …", "there are bytes after the last element"; LIMIT, there is no memory for it.
tensor *gunzip(const void *bytes, size_t n, size_t size, err *e);
// The first bytes of what raw deflated ones hold, up to `room`; returns how many.
size_t inflate_first(const void *bytes, size_t n, void *out, size_t room);
// Raw deflated bytes (RFC 1951) that hold exactly `room` ones. 0, or -1: they do not.
int inflate_into(const void *bytes, size_t n, void *out, size_t room);
// Adds n bytes as raw deflated ones. ERR_LIMIT: no memory.
int deflate_onto(buf *out, const void *bytes, size_t n, err *e);
// The sum of gzip and ZIP, CRC-32 (RFC 1952, 8).
uint32_t deflate_sum(const void *bytes, size_t n);
