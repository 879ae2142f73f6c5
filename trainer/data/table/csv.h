// SPDX-License-Identifier: MIT
// Reads CSV (RFC 4180) record by record: quoted fields with separators, doubled quotes and line
// ends, CRLF, LF or CR, gzipped or not. Skips empty lines and a byte order mark. It keeps one
// record and a piece of the file in memory. Texts are the file's UTF-8, or are converted to it from
// a one-byte encoding.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct csv csv;

typedef enum csv_encoding { CSV_UTF8, CSV_LATIN1, CSV_CP1252 } csv_encoding;

typedef struct csv_format {
    char separator; // 0: a comma
    char comment;   // starts a comment, which is skipped up to the line's end; 0: none
    size_t skip;    // number of lines to skip at the beginning
    csv_encoding encoding;
} csv_format;

// "utf-8", "latin-1", "cp1252" and their other names; false: an unknown encoding.
bool csv_encoding_parse(const char *name, csv_encoding *encoding);
// Opens the file; keeps the name for errors.
csv *csv_open(const char *path, const csv_format *format, err *e);
// The same from memory, which is borrowed.
csv *csv_over(const void *bytes, size_t n, const csv_format *format);
void csv_close(csv *c);

typedef struct csv_field {
    const char *text; // not terminated; valid until the next record
    size_t n;
    bool quoted;
    size_t line, column; // where it starts, from 1; columns count characters
} csv_field;

// 1: the next record was read; 0: the file has ended; -1: "FILE:LINE:COLUMN: why".
int csv_next(csv *c, err *e);
size_t csv_fields(const csv *c);
csv_field csv_get(const csv *c, size_t i);
// "FILE:LINE:COLUMN: …", about this field; returns -1.
int csv_wrong(const csv *c, const csv_field *f, err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
