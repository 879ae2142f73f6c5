// SPDX-License-Identifier: MIT
// Reads CSV (RFC 4180) record by record: quoted fields with separators, doubled quotes and line
// ends, CRLF, LF or CR, gzipped or not. Empty lines and a byte order mark are passed over. It holds
// one record and a piece of the file in memory. Texts are UTF-8 as they are in the file, or become
// it from an encoding of one byte a character.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct csv csv;

typedef enum csv_encoding { CSV_UTF8, CSV_LATIN1, CSV_CP1252 } csv_encoding;

typedef struct csv_format {
    char separator; // 0: a comma
    char comment;   // what follows it up to the line's end is passed over; 0: nothing
    size_t skip;    // so many lines at the beginning are passed over
    csv_encoding encoding;
} csv_format;

// "utf-8", "latin-1", "cp1252" and their other names; false: it is none of them.
bool csv_encoding_parse(const char *name, csv_encoding *encoding);
// The file is opened; the name is kept for errors.
csv *csv_open(const char *path, const csv_format *format, err *e);
// The same from memory, which is borrowed.
csv *csv_over(const void *bytes, size_t n, const csv_format *format);
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
