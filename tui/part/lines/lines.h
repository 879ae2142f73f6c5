// SPDX-License-Identifier: MIT
// The numbered lines of an output of any size, which consists of texts and streams: all lines, or
// those that match a filter. Memory holds only the piece around the last requested line, 24 bytes
// for each piece with a match, and lines that were rewritten (rewrites.h). It owns its parts.
//
//   parts    text ─────────┬ stream ───────────────────────────────────────┬ text
//   pieces                 │ 256 KiB of whole lines │ …      │ …           │
//   marks                  │ ● 3 matches before     │        │ ● 7 before  │      of a filter
#pragma once
#include "base/err.h"
#include "base/text/ansi.h"
#include "tui/part/lines/linesource.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct lines lines;

lines *lines_new(void);
void lines_free(lines *l); // NULL is fine

// Sets its content anew: call begin, then all parts in order, then end. If a part is the same or
// has only grown at its end, the results for it are kept; so following an output costs only the new
// bytes.
void lines_begin(lines *l);
void lines_add_text(lines *l, const char *bytes, size_t n, style base);
// What a program prints: where it goes up and rewrites, lines are as they became. A spool that
// cannot be opened becomes a line that says why.
void lines_add_stream(lines *l, const struct linestream *s, style base);
// For a part whose text is costly to make: has the next part this version (not 0)? Then it is kept.
// Otherwise, add it and give it its version.
bool lines_keep(lines *l, uint64_t version);
void lines_set_version(lines *l, uint64_t version);
void lines_end(lines *l);

// Streams are read on by lines_add_stream, a piece at each time: it is to be called again.
bool lines_reading(const lines *l);
bool lines_gave_up(const lines *l); // older lines that were rewritten stand as they were written

// A filter as base/data/pattern.h has it: "!x" shows those without x, "" and "!" all. Matches are
// found by lines_work.
void lines_filter(lines *l, const char *pattern);
uint64_t lines_total(const lines *l); // all
uint64_t lines_count(const lines *l); // how many of them are known to match
struct numbered_line {
    struct ansi_line text; // valid UTF-8 without control bytes; valid until the next call
    style base;            // the style below it
    uint64_t number;       // number among all lines, from 0
    uint64_t cut;          // bytes left out at its end: it is longer than a piece
};
bool lines_get(lines *l, uint64_t i, struct numbered_line *out); // false: there is none

// Looks for the next line that holds a pattern, from line i on (not in it) and around; NULL stops.
// lines_work finds it.
void lines_search(lines *l, const char *text, uint64_t i, bool backwards);
enum searched { SEARCH_IDLE, SEARCH_GOES_ON, SEARCH_FOUND, SEARCH_NOWHERE };
bool lines_searching(const lines *l);
// The state of the search; a result is returned once.
enum searched lines_searched(lines *l, uint64_t *i);
// Shown lines that have the pattern: `count` is how many were counted so far, `at` which of them
// was found last, from 1 on (0: not known yet), and `more` says that counting goes on. lines_work
// counts piece by piece after a search. Lines that come later are counted by the next search.
struct lines_place {
    uint64_t at, count;
    bool more;
};
struct lines_place lines_found(lines *l);
// Continues filter, search and count by one piece. false: nothing is left to do.
bool lines_work(lines *l);
bool lines_looking(const lines *l); // filter or search go on
int lines_percent(const lines *l);  // progress of the filter or the search
