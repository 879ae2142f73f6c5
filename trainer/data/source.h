// SPDX-License-Identifier: MIT
// Bytes that are read front to back from memory, and decompressed if they are gzipped. It borrows
// the bytes; source_done frees what gunzip needs.
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <zlib.h>

typedef struct source {
    const unsigned char *bytes;
    size_t n, at;
    bool gzip;
    bool ended; // gunzip has seen the end, checksum included
    z_stream stream;
} source;

void source_init(source *s, const void *bytes, size_t n);
void source_done(source *s);
// At most this many bytes can still come out. Computing it reads nothing, so callers use it to
// check sizes before they allocate memory.
size_t source_bound(const source *s);
// Reads exactly n bytes, or fails with CORRUPT: "gzip data is damaged …",
// "the file ends after 16 of …".
int data_source_read(source *s, void *out, size_t n, err *e);
// Checks that nothing is left: CORRUPT when bytes follow, or when gzip's final checksum is wrong.
int source_end(source *s, err *e);
