// SPDX-License-Identifier: MIT
// Strings: tests, splitting, UTF-8, and the spellings that people type.
// Nothing here keeps state; what is returned new is the caller's to free().
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
static inline bool str_eq(const char *a, const char *b)
{
    return a == b || (a && b && __builtin_strcmp(a, b) == 0);
}
// printf into new memory.
char *str_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// A copy without white space at both ends.
char *str_trim(const char *s, size_t n);
// Base-10 integer of the whole string; false when there is anything else in it or it overflows.
bool str_to_int(const char *s, int64_t *value);

// Length of the valid UTF-8 sequence at s (1 to 4), 0 when it is invalid or cut off at n.
// Overlong forms, surrogates and code points over U+10FFFF are invalid (RFC 3629).
size_t utf8_len(const char *s, size_t n);
bool utf8_valid(const char *s, size_t n);
// How many bytes at the end of s are the start of a sequence that more bytes may complete (0–3).
size_t utf8_partial(const char *s, size_t n);
#define UTF8_REPLACEMENT "\xef\xbf\xbd" // U+FFFD
// Appends s with every invalid byte replaced by U+FFFD, and every NUL, which no C string and no
// string of cJSON can hold.
void utf8_clean(buf *out, const char *s, size_t n);

// Base64 (RFC 4648, padded). Decoding skips white space; anything else foreign is ERR_INVALID.
void base64_encode(buf *out, const void *bytes, size_t n);
int base64_decode(buf *out, const char *text, size_t n, err *e);
// Lower-case hexadecimal digits of n bytes.
void hex_encode(buf *out, const void *bytes, size_t n);

// A NULL-terminated array of strings, each and the array on the heap.
char **strv_split(const char *s, char separator);
char **strv_dup(const char *const *strings);
size_t strv_len(char *const *strings);
void strv_free(char **strings);
// Appends a copy of s; returns the array, which may have moved.
char **strv_add(char **strings, const char *s) __attribute__((warn_unused_result));

// How alike two words are, as an edit distance: for "did you mean".
size_t str_distance(const char *a, const char *b);
// The name that `word` may have been meant for, of a NULL-terminated list; NULL when none is near.
const char *str_nearest(const char *word, const char *const *names);
