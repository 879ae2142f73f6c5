// SPDX-License-Identifier: MIT
// Comma-separated values as RFC 4180 has them, and as people write them: lines end with CRLF, LF or
// CR, a mark at the start (U+FEFF) is left out, empty lines are no rows.
#pragma once
#include "base/json.h"

// The rows as an array of arrays of strings. Errors: ERR_INVALID "line 3: …" for a quote that is
// not closed, text behind a closing quote, bytes that are no UTF-8.
cJSON *csvtext_parse(const char *text, size_t n, char separator, err *e);
// Appends one field, in quotes where it would be read otherwise: with separator, quote, line end or
// outer space in it, or nothing.
void csvtext_print_field(buf *out, const char *field, size_t n, char separator);
