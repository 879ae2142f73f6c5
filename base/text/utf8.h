// SPDX-License-Identifier: MIT
// Code points, their width on a terminal, and the characters that fill one cell. Nothing here has
// state.
//
// Widths come from a table of our own, because layout must be the same in every locale and in
// tests; tui/term replaces the few characters that the C library measures otherwise.
#pragma once
#include <stddef.h>
#include <stdint.h>

// The code point at s, with the number of its bytes in *len; an invalid byte is U+FFFD of length 1.
uint32_t utf8_decode(const char *s, size_t n, size_t *len);
// Writes 1 to 4 bytes and returns how many; surrogates and numbers over U+10FFFF become U+FFFD.
size_t utf8_encode(uint32_t point, char out[4]);

// 2 for wide East Asian and emoji, 0 for combining marks and format characters, -1 for control
// characters (C0, DEL, C1), else 1.
int point_width(uint32_t point);

// Bytes of the character at s, as a person counts characters: a code point and the zero-width ones
// after it. A control character stands alone. At least 1 when n > 0.
size_t grapheme_len(const char *s, size_t n);
// Bytes of the character that ends at s + at (0 at the start).
size_t grapheme_len_before(const char *s, size_t at);
// Columns of the text when it starts in column `column` (which matters for tabs, every 4 columns).
// A control character counts as 1, as grid_put draws it.
int text_width(const char *s, size_t n, int column);
// Bytes of the longest start of the text that fits into `columns`; its width in *width.
size_t text_fit(const char *s, size_t n, int columns, int *width);

enum { TAB_COLUMNS = 4 };
