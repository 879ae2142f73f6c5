// SPDX-License-Identifier: MIT
// What lines.c (where a line is) and lines_scan.c (filter and search) share. Nobody else includes
// it.
#pragma once
#include "base/needle.h"
#include "tui/part/lines.h"
#include "tui/part/linesource.h"

enum { PIECE = 256 << 10 };
#define NO_LINE UINT64_MAX

// A piece with matches: where it starts, its first line, and the matches before it, in its part.
struct mark {
    uint64_t offset, line, before;
};
struct part {
    linesource *source;
    style base;
    uint64_t version; // 0: none
    uint64_t first;   // number of its first line
    struct mark *marks;
    size_t n_marks;
    // Filtered so far: whole lines, of which so many match; and whether the unfinished last line,
    // which begins at `scanned`, does. `looked`: up to here.
    uint64_t scanned, scanned_lines, matches, looked;
    bool rest;
};

struct match {
    uint32_t from; // in its piece
    uint64_t number;
};
// Whole lines of a part, in memory.
struct piece {
    buf bytes;
    size_t part;
    uint64_t offset;
    size_t n;              // bytes of it that are lines; 0: nothing is in it
    uint64_t next;         // where the line after it starts
    bool cut;              // it is the start of one long line
    bool plain;            // no escape sequence, return or backspace in it
    struct match *matches; // of the filter, when they were asked for
    size_t n_matches;
};
struct cursor {
    size_t at; // start of the next line in the piece, and its number in the part
    uint64_t line;
    size_t from, n; // the matching line
    uint64_t number;
};
struct place {
    size_t part;
    uint64_t offset;
};

struct search {
    enum searched state;
    struct needle what;
    bool backwards, wrapped;
    struct place start, at;
    uint64_t hit;
};

struct lines {
    struct part *parts;
    size_t n_parts, kept;    // kept: those that are known already, between begin and end
    uint64_t total, matches; // matches: so far, of the filter
    struct needle filter;
    bool turned, filtering;
    size_t filtered; // parts before it are
    struct search search;
    struct piece near, far; // around the last line asked for; of filter and search
    struct {
        uint64_t i; // the last line asked for, NO_LINE: none
        struct place place;
        uint64_t number, next; // in its part; where the next one starts
    } last;
    struct {
        size_t part;
        uint64_t from, offset; // looked at from here on, until there
        style at_offset;
        bool known;
    } look; // what earlier lines have left on
    ansi_text *text;
    buf settled;
};

void lines_read_piece(lines *l, struct piece *b, size_t part, uint64_t offset);
uint64_t lines_after(lines *l, size_t part, uint64_t offset); // first line start not before it
const struct mark *lines_mark(
    const struct part *p, bool (*before)(const struct mark *, uint64_t), uint64_t key);
// From c->at on; false: no line of the rest matches.
bool lines_next_match(
    lines *l, const struct piece *b, const struct needle *x, bool turned, struct cursor *c);
