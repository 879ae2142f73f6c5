// SPDX-License-Identifier: MIT
// The numbered lines of an output, texts and ranges of spools one after the other, of any size: all
// of them or those that match a filter. What is kept in memory is a piece around the last line
// asked for, and 24 bytes for each piece that holds a match. It owns its parts.
//
//   parts    text ─────────┬ spool ────────────────────────────────────────┬ text
//   pieces                 │ 256 KiB of whole lines │ …      │ …           │
//   marks                  │ ● 3 matches before     │        │ ● 7 before  │      of a filter
#pragma once
#include "base/err.h"
#include "base/text/ansi.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct lines lines;

lines *lines_new(void);
void lines_free(lines *l); // NULL is fine

// What it shows, anew, all of it in order between begin and end. A part that is as it was but for
// more at its end keeps what is known of it, so that following costs what is new.
void lines_begin(lines *l);
void lines_add_text(lines *l, const char *bytes, size_t n, style base);
// One that cannot be opened is a line that says why.
void lines_add_spool(
    lines *l, const char *dir, const char *spool, uint64_t from, uint64_t to, style base);
// For what is costly to make into a text: does the next part have this version (not 0)? Then it
// stays. Else it is added, and then given its version.
bool lines_keep(lines *l, uint64_t version);
void lines_set_version(lines *l, uint64_t version);
void lines_end(lines *l);

// A pattern as in filter.h: letters A to Z match any case, "!x" those without x, "" and "!" all.
// Matches are found by lines_work.
void lines_filter(lines *l, const char *pattern);
uint64_t lines_total(const lines *l); // all
uint64_t lines_count(const lines *l); // of these, those found to match
struct numbered_line {
    struct ansi_line text; // valid UTF-8 without control bytes; borrowed until the next call
    style base;            // under it
    uint64_t number;       // among all, from 0
    uint64_t cut;          // bytes at its end that are left out: it is longer than a piece
};
bool lines_get(lines *l, uint64_t i, struct numbered_line *out); // false: there is none

// Looks for the next line that holds a text, from line i on (not in it) and around; NULL stops.
// lines_work finds it.
void lines_search(lines *l, const char *text, uint64_t i, bool backwards);
enum searched { SEARCH_IDLE, SEARCH_GOES_ON, SEARCH_FOUND, SEARCH_NOWHERE };
bool lines_searching(const lines *l);
// What has become of the search; a result is told once.
enum searched lines_searched(lines *l, uint64_t *i);
// Goes on with filter and search by one piece. false: nothing is left to do.
bool lines_work(lines *l);
int lines_percent(const lines *l); // of what is being filtered or searched
