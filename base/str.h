// SPDX-License-Identifier: MIT
// Strings: tests, splitting, UTF-8, and number formats that people type. No function keeps state;
// the caller frees what is returned as new.
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
    // Most strings that differ do so in their first byte, and need no call.
    return a == b || (a && b && *a == *b && __builtin_strcmp(a, b) == 0);
}
// printf into new memory.
char *str_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// A copy without white space at both ends.
char *str_trim(const char *s, size_t n);
// The base-10 integer that is the whole string; false when there is anything else or it overflows.
bool str_to_int(const char *s, int64_t *value);

// A text cut short for people: its first bytes and STR_CUT, which marks the cut; the whole text if
// it has at most `most` bytes (most <= STR_SHORT). It is UTF-8 whatever s is. Cut texts from
// outside only here: the mask (script/journal/mask/mask.h) recognises the beginning of a secret by
// that mark. Returned by value, so that it can stand in the arguments of a format:
//     err_set(e, ERR_USAGE, "“%s” is no name", str_short(name, 100).text);
#define STR_CUT "…"
enum { STR_SHORT = 1000 };
struct str_short {
    char text[STR_SHORT + sizeof STR_CUT];
};
struct str_short str_short(const char *s, size_t most);
struct str_short str_short_line(const char *s, size_t most); // no more than the first line
// The same into an array of this size, 4 or more.
void str_fit(char *out, size_t size, const char *s);
// The end of a text, new: STR_CUT and its last bytes, in whole characters; all of it if it has at
// most `most` bytes.
char *str_last(const char *s, size_t n, size_t most);
// The function behind the others: cuts a text of more than `whole` bytes after `most`, and writes
// it to `out`, which has room for `whole` bytes and for `most` bytes with the mark. `more`: s goes
// on after its n bytes.
void str_shorten(char *out, const char *s, size_t n, bool more, size_t most, size_t whole);

// Length of the valid UTF-8 sequence at s (1 to 4), 0 when it is invalid or cut off at n.
// Overlong forms, surrogates and code points over U+10FFFF are invalid (RFC 3629).
size_t utf8_len(const char *s, size_t n);
bool utf8_valid(const char *s, size_t n);
// How many bytes at the end of s begin a sequence that later bytes may complete (0–3).
size_t utf8_partial(const char *s, size_t n);
#define UTF8_REPLACEMENT "\xef\xbf\xbd" // U+FFFD
// Appends s, with every invalid byte replaced by U+FFFD, and every NUL, too: no C string and no
// string of cJSON can hold a NUL.
void utf8_clean(buf *out, const char *s, size_t n);

// Base64 (RFC 4648, padded). Decoding skips white space; any other foreign character is
// ERR_INVALID.
void base64_encode(buf *out, const void *bytes, size_t n);
int base64_decode(buf *out, const char *text, size_t n, err *e);
// Lower-case hexadecimal digits of n bytes.
void hex_encode(buf *out, const void *bytes, size_t n);

// A NULL-terminated array of strings; each string and the array are on the heap.
char **strv_split(const char *s, char separator);
char **strv_dup(const char *const *strings);
size_t strv_len(char *const *strings);
void strv_free(char **strings);
// Appends a copy of s; returns the array, which may have moved.
char **strv_add(char **strings, const char *s) __attribute__((warn_unused_result));

// The index of text among n names, or -1 with an error that lists them: 'unknown layer "dens"
// (known: dense, conv2d)'.
int str_index(const char *const *names, size_t n, const char *what, const char *text, err *e);
// The edit distance of two words, for "did you mean": letters that are missing, too many, wrong, or
// swapped with the next one. Upper and lower case are the same.
size_t str_distance(const char *a, const char *b);
// The largest distance at which `word` counts as a slip for a name: one letter in three.
size_t str_slips(const char *word);
// The name in a NULL-terminated list that is nearest to `word`, for "did you mean"; NULL: none is
// near.
const char *str_nearest(const char *word, const char *const *names);
