// SPDX-License-Identifier: MIT
// Shared by lines.c (where lines are), lines_scan.c (which match) and lines_count.c (how many do).
// No other file includes it.
#pragma once
#include "base/data/pattern.h"
#include "tui/part/lines/lines.h"
#include "tui/part/lines/linesource.h"
#include "tui/part/lines/rewrites.h"

enum { PIECE = 256 << 10 };
#define NO_LINE UINT64_MAX

// A piece with matches: its start, the number of its first line, and the number of matches before
// it in its part.
struct mark {
    uint64_t offset, line, before;
};
// The matches in a part, counted so far: so many whole lines with so many matches; and whether the
// unfinished last line, which begins at `scanned`, matches. `looked`: everything up to here was
// checked.
struct tally {
    struct mark *marks;
    size_t n_marks;
    uint64_t scanned, scanned_lines, matches, looked;
    bool rest;
};
struct part {
    linesource *source;
    style base, look;          // look: what earlier lines have left at its start
    uint64_t version;          // 0: none
    uint64_t first;            // number of its first line
    struct tally shown, found; // by the filter; of those, by the search
};

// A stream has several parts: ranges of it, and settled lines.
struct stream {
    linesource *whole;
    rewrites *rewrites;
    bool more; // it is not read to its end
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
    size_t n;              // how many of its bytes are lines; 0: it is empty
    uint64_t next;         // start of the line after it
    bool cut;              // it is only the start of one long line
    bool plain;            // it has no escape sequence, return or backspace
    struct match *matches; // matches of the filter, once they were requested
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
    struct pattern what;
    bool backwards, wrapped;
    struct place start, at;
    uint64_t hit;
    struct place found; // the last hit, if `placed`, and which it is of all; 0: not known yet
    bool placed;
    uint64_t rank;
};

struct lines {
    struct part *parts;
    size_t n_parts, kept; // kept: those that are known already, between begin and end
    struct stream *streams;
    size_t n_streams, kept_streams;
    struct stream *retired; // streams that parts may still be compared with, until the end
    size_t n_retired;
    uint64_t total, matches; // matches: so far, of the filter
    struct pattern filter;
    bool filtering;
    size_t filtered; // parts before it are
    struct search search;
    bool counting;          // what is searched for
    size_t counted;         // parts before it are
    struct piece near, far; // near: around the last requested line; far: for filter and search
    struct {
        uint64_t i; // the last requested line, NO_LINE: none
        struct place place;
        uint64_t number, next; // its number in the part; start of the next line
    } last;
    struct {
        size_t part;
        uint64_t from, offset; // where the search goes on, and where it ends
        style at_offset;
        bool known;
    } look; // the style that earlier lines have left
    ansi_text *text;
    buf settled;
};

void lines_read_piece(lines *l, struct piece *b, size_t part, uint64_t offset);
// The first line that starts at the offset or later.
uint64_t lines_after(lines *l, size_t part, uint64_t offset);
const struct mark *lines_mark(
    const struct tally *t, bool (*before)(const struct mark *, uint64_t), uint64_t key);
// From c->at on; false: no line of the rest matches.
bool lines_next_match(lines *l, const struct piece *b, const struct pattern *x, struct cursor *c);
// Is it shown: does it pass the filter?
bool lines_passes(lines *l, const struct piece *b, const struct cursor *c);
uint64_t lines_newlines(const char *at, size_t n);

void lines_tally_done(struct tally *t); // also empties it
// Count the next piece.
void lines_filter_on(lines *l);
void lines_count_on(lines *l);
void lines_count_anew(lines *l); // for another search
// The number of a line among the shown ones, by its place.
uint64_t lines_index(lines *l, struct place at);
