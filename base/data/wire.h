// SPDX-License-Identifier: MIT
// Writes messages of protocol buffers, field by field, to the end of a buf
// (https://protobuf.dev/programming-guides/encoding). A message in a message is first written to a
// separate buf: its length comes before it.
#pragma once
#include "base/buf.h"

#include <stdint.h>

void wire_int(buf *out, int field, int64_t value);
void wire_float(buf *out, int field, float value);
void wire_double(buf *out, int field, double value);
void wire_text(buf *out, int field, const char *text);
void wire_bytes(buf *out, int field, const void *bytes, size_t n);
// The beginning of a field of n bytes, which the caller then appends.
void wire_head(buf *out, int field, size_t n);
// n bytes of a number, the lowest first.
void wire_fixed(buf *out, uint64_t value, int n);
