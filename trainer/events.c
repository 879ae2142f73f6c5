// SPDX-License-Identifier: MIT
#include "trainer/events.h"

#include "base/data/wire.h"

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

// Checksums in the file are rotated (TFRecord masks them so): a checksum over bytes that hold plain
// checksums would be weak.
static void put_masked(buf *out, const void *bytes, size_t n)
{
    uint32_t crc = events_crc32c(bytes, n);
    wire_fixed(out, (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8u), 4);
}

// A frame: length, its masked sum, the bytes, their masked sum
// (tensorflow/core/lib/io/record_writer).
static void events_record(buf *out, const void *bytes, size_t n)
{
    size_t at = out->len;
    wire_fixed(out, n, 8);
    put_masked(out, out->data + at, 8);
    buf_add(out, bytes, n);
    put_masked(out, bytes, n);
}

void events_version(buf *out, double wall_time)
{
    AUTO_BUF event = {0};
    wire_double(&event, 1, wall_time);
    wire_text(&event, 3, "brain.Event:2");
    events_record(out, event.data, event.len);
}

void events_scalars(buf *out, double wall_time, int64_t step, const event_value *values, size_t n)
{
    AUTO_BUF event = {0}, summary = {0};
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF value = {0};
        wire_text(&value, 1, values[i].tag);
        wire_float(&value, 2, (float)values[i].value);
        wire_bytes(&summary, 1, value.data, value.len);
    }
    wire_double(&event, 1, wall_time);
    wire_int(&event, 2, step);
    wire_bytes(&event, 5, summary.data, summary.len);
    events_record(out, event.data, event.len);
}
