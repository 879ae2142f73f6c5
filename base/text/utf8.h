// SPDX-License-Identifier: MIT
// Code points, their width on a terminal, and clusters: what a person counts as one character.
// Nothing here has state.
//
// Widths come from a table of our own, because layout must be the same in every locale and in
// tests; tui/term replaces the few characters that the C library measures otherwise.
//
// Where a cluster ends is utf8proc's to say (doc/decisions/0010-whose-characters.md):
//
//   bytes     e  U+0301  |  man ZWJ woman ZWJ girl  |  D  E  |  ka  i      "|": the cursor stands
//   here, columns   1    0     |   2   0    2    0    2   |  1  1  |   1  1      text is cut here
//
// The width of a cluster is the sum of its code points' widths, which is what a terminal that joins
// nothing advances. For terminals that do join, tui/grid and tui/term send nothing that joins into
// fewer columns.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The code point at s, with the number of its bytes in *len; an invalid byte is U+FFFD of length 1.
uint32_t utf8_decode(const char *s, size_t n, size_t *len);
// Writes 1 to 4 bytes and returns how many; surrogates and numbers over U+10FFFF become U+FFFD.
size_t utf8_encode(uint32_t point, char out[4]);

// 2 for wide East Asian and emoji, 0 for combining marks and format characters, -1 for control
// characters (C0, DEL, C1), else 1.
int point_width(uint32_t point);

// A skin tone: behind an emoji it belongs to its cluster, elsewhere it is one of its own.
bool point_is_modifier(uint32_t point);
// One of the letters of which two make a flag.
bool point_is_regional(uint32_t point);

// A letter or a number of any script, in the sense of Python's str.isalnum.
bool point_is_alnum(uint32_t point);

// The most columns of one cluster (four emoji). A longer chain of joiners continues in the next
// cluster, so that it can be wrapped.
enum { CLUSTER_COLUMNS = 8 };
// Bytes of the cluster at s; at least 1 when n > 0. Code points without a width always belong to
// the one before. A control character stands alone.
size_t utf8_cluster(const char *s, size_t n);
// Bytes of the cluster that ends at s + at (0 at the start).
size_t utf8_cluster_before(const char *s, size_t at);
// Where the cluster starts that has the byte at s + at; n when at >= n.
size_t utf8_cluster_start(const char *s, size_t n, size_t at);
// Bytes of the longest common start of two texts, in whole clusters of both.
size_t utf8_common(const char *a, const char *b);
// Columns of the text when it starts in column `column` (which matters for tabs).
// A control character counts as 1, as grid_put draws it.
int text_width(const char *s, size_t n, int column);
// Bytes of the longest start of the text, in whole clusters, that fits into `columns`; its width in
// *width.
size_t text_fit(const char *s, size_t n, int columns, int *width);

enum { TAB_COLUMNS = 8 }; // as terminals have it; programs lay out their tables for this
