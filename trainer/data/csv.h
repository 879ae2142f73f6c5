// SPDX-License-Identifier: MIT
// Reads CSV (RFC 4180) record by record: quoted fields with separators, doubled quotes and line
// ends, CRLF or LF, gzipped or not. Empty lines and a byte order mark are passed over. It holds one
// record and a piece of the file in memory.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct csv csv;

// The file is opened; the name is kept for errors. `separator` 0: a comma.
csv *csv_open(const char *path, char separator, err *e);
// The same from memory, which is borrowed.
csv *csv_over(const void *bytes, size_t n, char separator);
void csv_close(csv *c);

typedef struct csv_field {
    const char *text; // not terminated; valid until the next record
    size_t n;
    bool quoted;
    size_t line, column; // where it starts, from 1; columns are characters
} csv_field;

// 1: the next record was read; 0: the file has ended; -1: "FILE:LINE:COLUMN: why".
int csv_next(csv *c, err *e);
size_t csv_fields(const csv *c);
csv_field csv_get(const csv *c, size_t i);
// "FILE:LINE:COLUMN: …", about this field; returns -1.
int csv_wrong(const csv *c, const csv_field *f, err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
