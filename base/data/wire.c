// SPDX-License-Identifier: MIT
#include "base/data/wire.h"

#include <string.h>

enum type { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

void wire_fixed(buf *out, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        buf_char(out, (char)(value >> 8 * i));
}

static void put_varint(buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_char(out, (char)(value | 0x80));
    buf_char(out, (char)value);
}

static void put_key(buf *out, int field, enum type type)
{
    put_varint(out, (uint64_t)(field << 3 | (int)type));
}

void wire_int(buf *out, int field, int64_t value)
{
    put_key(out, field, VARINT);
    put_varint(out, (uint64_t)value);
}

void wire_float(buf *out, int field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(out, field, FIXED32);
    wire_fixed(out, bits, 4);
}

void wire_double(buf *out, int field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(out, field, FIXED64);
    wire_fixed(out, bits, 8);
}

void wire_head(buf *out, int field, size_t n)
{
    put_key(out, field, BYTES);
    put_varint(out, n);
}

void wire_bytes(buf *out, int field, const void *bytes, size_t n)
{
    wire_head(out, field, n);
    buf_add(out, bytes, n);
}

void wire_text(buf *out, int field, const char *text)
{
    wire_bytes(out, field, text, strlen(text));
}
