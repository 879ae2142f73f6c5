// SPDX-License-Identifier: MIT
// Comma-separated values by RFC 4180, and as people write them: lines end with CRLF, LF or CR; a
// byte order mark (U+FEFF) at the start is skipped, and so are empty lines.
#pragma once
#include "base/json/json.h"

// The rows as an array of arrays of strings. Errors: ERR_INVALID "line 3: …" for a quote that is
// not closed, text after a closing quote, or bytes that are not UTF-8.
cJSON *csvtext_parse(const char *text, size_t n, char separator, err *e);
// Appends one field. It is quoted where a reader would take it for something else: if it is empty,
// or has a separator, a quote, a line end, or a space at either end.
void csvtext_print_field(buf *out, const char *field, size_t n, char separator);
