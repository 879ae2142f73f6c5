// SPDX-License-Identifier: MIT
// ZIP archives in memory, as far as NumPy's .npz needs them: stored or deflated members, with zip64
// (APPNOTE.TXT 6.3.10). Bytes are borrowed.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct zip_member {
    const char *name; // not terminated
    size_t name_n;
    const uint8_t *bytes; // as they are in the archive
    uint64_t packed, size;
    uint32_t crc;
    int method;
} zip_member;

typedef struct zip {
    const uint8_t *bytes;
    size_t n;
    uint64_t left, at; // members, and where the next one's entry is
} zip;

int zip_open(zip *z, const void *bytes, size_t n, err *e);
// 1: *m is the next member; 0: there is none; -1: damaged.
int zip_next(zip *z, zip_member *m, err *e);
// The first bytes of the member's contents, up to `room`, not checked; returns how many.
size_t zip_first(const zip_member *m, void *out, size_t room);
// The member's content, verified by its checksum: new and the caller's to free(), or NULL.
uint8_t *zip_unpack(const zip_member *m, err *e);

// An archive that is written: its members, then zip_finish.
typedef struct zip_writer {
    buf *out;
    buf directory;
    uint64_t members;
    bool deflate;
} zip_writer;

int zip_add(zip_writer *w, const char *name, const void *bytes, size_t n, err *e);
void zip_finish(zip_writer *w);
