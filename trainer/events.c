// SPDX-License-Identifier: MIT
#include "trainer/events.h"

#include <string.h>

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

uint32_t events_crc32c(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static void put(buf *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_char(out, (char)(value >> 8 * i));
}

// A sum of bytes that hold sums is weak, so those in the file are turned.
static void put_masked(buf *out, const void *bytes, size_t n)
{
    uint32_t crc = events_crc32c(bytes, n);
    put(out, (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8u), 4);
}

void events_record(buf *out, const void *bytes, size_t n)
{
    size_t at = out->len;
    put(out, n, 8);
    put_masked(out, out->data + at, 8);
    buf_add(out, bytes, n);
    put_masked(out, bytes, n);
}

static void put_varint(buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_char(out, (char)(value | 0x80));
    buf_char(out, (char)value);
}

static void put_key(buf *out, int field, enum wire wire)
{
    put_varint(out, (uint64_t)(field << 3 | (int)wire));
}

static void put_bytes(buf *out, int field, const void *bytes, size_t n)
{
    put_key(out, field, BYTES);
    put_varint(out, n);
    buf_add(out, bytes, n);
}

static void put_time(buf *out, double wall_time)
{
    uint64_t bits;
    memcpy(&bits, &wall_time, sizeof bits);
    put_key(out, 1, FIXED64);
    put(out, bits, 8);
}

void events_version(buf *out, double wall_time)
{
    static const char version[] = "brain.Event:2";
    AUTO_BUF event = {0};
    put_time(&event, wall_time);
    put_bytes(&event, 3, version, sizeof version - 1);
    events_record(out, event.data, event.len);
}

void events_scalars(buf *out, double wall_time, int64_t step, const event_value *values, size_t n)
{
    AUTO_BUF event = {0}, summary = {0};
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF value = {0};
        float number = (float)values[i].value;
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        put_bytes(&value, 1, values[i].tag, strlen(values[i].tag));
        put_key(&value, 2, FIXED32);
        put(&value, bits, 4);
        put_bytes(&summary, 1, value.data, value.len);
    }
    put_time(&event, wall_time);
    put_key(&event, 2, VARINT);
    put_varint(&event, (uint64_t)step);
    put_bytes(&event, 5, summary.data, summary.len);
    events_record(out, event.data, event.len);
}
