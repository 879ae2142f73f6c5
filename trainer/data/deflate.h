// SPDX-License-Identifier: MIT
// Compresses and decompresses deflated bytes in memory, in one call, with libdeflate: in less than
// half of zlib's time.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "trainer/tensor/tensor.h"

#include <stddef.h>
#include <stdint.h>

// Do the bytes begin like a gzip file (RFC 1952)?
bool gunzip_knows(const void *bytes, size_t n);
size_t gunzip_most(size_t n); // the most bytes that n compressed ones can expand to
// The first bytes of a gzip file's content, up to `room`; returns how many. (With zlib: libdeflate
// decompresses everything or nothing.)
size_t gunzip_first(const void *bytes, size_t n, void *out, size_t room);
// The content of a gzip file with one member, which must be `size` bytes, as U8 (size). The size in
// the file itself is not used: in a file that is cut off it can be anything. Errors: CORRUPT, "the
// gzip data is damaged …", "there are bytes after the last element"; LIMIT: not enough memory.
tensor *gunzip(const void *bytes, size_t n, size_t size, err *e);
// The first bytes of raw deflated data's content, up to `room`; returns how many.
size_t inflate_first(const void *bytes, size_t n, void *out, size_t room);
// Raw deflated bytes (RFC 1951) that expand to exactly `room` bytes. 0; -1: they do not.
int inflate_into(const void *bytes, size_t n, void *out, size_t room);
// Adds n bytes as raw deflated ones. ERR_LIMIT: no memory.
int deflate_onto(buf *out, const void *bytes, size_t n, err *e);
// The checksum of gzip and ZIP, CRC-32 (RFC 1952, 8).
uint32_t deflate_sum(const void *bytes, size_t n);
