// SPDX-License-Identifier: MIT
// Bytes that are read front to back from memory, through gunzip where they are gzipped. It borrows
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
// At least this many bytes could still come out: an upper bound that needs no reading, for checking
// sizes before memory is asked for them.
size_t source_bound(const source *s);
// Reads exactly n bytes, or says CORRUPT: "gzip data is damaged …", "the file ends after 16 of …".
int data_source_read(source *s, void *out, size_t n, err *e);
// Is nothing left? CORRUPT when bytes follow, or when gzip's checksum at the end does not fit.
int source_end(source *s, err *e);
