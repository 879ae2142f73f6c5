// SPDX-License-Identifier: MIT
// Reads a place of a text in all the ways in which printers may have written it: escapes of JSON,
// Lua, Python and shells at any depth of quoting, percent-encoding, HTML's entities. It also reads
// what may stand between the bytes of a value without being part of it: colours, line breaks with
// indentation. Pure functions of the text; nothing is owned.
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum {
    MASK_READINGS = 12, // the most readings at one place
    MASK_GAP = 256,     // the most bytes between two bytes of a value
    MASK_RUN = 64,      // the most backslashes before an escaped character
};

enum reading_kind {
    READING_BYTES,  // `n` bytes of a value
    READING_COLOUR, // not part of the value: a terminal's escape sequence
    READING_BREAK,  // not part of the value: a line break, and the indentation after it
};
struct mask_reading {
    enum reading_kind kind;
    bool open; // the text ends too early to tell
    unsigned char bytes[4], n;
    size_t taken; // bytes of the text
};

// Maps letters of ASCII to lower case.
static inline unsigned char mask_small(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}
// At these characters, more than the byte itself may be meant.
static inline bool mask_is_special(char c)
{
    static const bool special[256] = {['\\'] = true,
        ['%'] = true,
        ['&'] = true,
        ['+'] = true,
        ['\n'] = true,
        ['\r'] = true,
        ['\033'] = true};
    return special[(unsigned char)c];
}
// The end of the backslashes at p, or of the first MASK_RUN of them.
static inline const char *mask_backslashes(const char *p, const char *end)
{
    const char *limit = end - p > MASK_RUN ? p + MASK_RUN : end;
    while (p < limit && *p == '\\')
        p++;
    return p;
}
// A mark of a cut: "…", also as printers escape it, or three dots; see mask.h.
enum {
    MASK_CUT = 6,      // so many bytes of a value next to "…" are a part of it,
    MASK_DOTS = 12,    // next to "...", which more people write
    MASK_CONTEXT = 64, // no mark with what belongs to it is longer
};
struct mask_mark {
    bool open;    // the text ends too early to tell
    size_t least; // MASK_CUT or MASK_DOTS; 0: there is none
    const char *end;
};
// The mark that follows p, after the beginning of a value: "…", or "\n[… 9 bytes left out …]".
struct mask_mark mask_mark_behind(const char *p, const char *end);
// The mark at p; its end is where the rest of a value would begin.
struct mask_mark mask_mark_at(const char *p, const char *end);
// All readings at p, where a special character stands; the last one is the byte itself. bytes are
// in lower case.
size_t mask_readings(const char *p, const char *end, struct mask_reading out[MASK_READINGS]);
