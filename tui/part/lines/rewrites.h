// SPDX-License-Identifier: MIT
// The places of a stream where its program goes up and rewrites lines, as tqdm, rich and docker do,
// and how they look in the end. Between them each line stands for itself, and the stream's own
// index is good for it. The stream is read once, a piece at a time; memory holds the settled lines,
// at most REWRITES_KEPT bytes: where there are more, older ones go back to how they were written.
//
//   stream   ── plain ──┬─ rewritten ─┬──── plain ────┬─ rewritten, still going on ─┬ not read yet
//   shown    its range  │ settled     │ its range     │ settled │ window            │ its range
//
// A window is the lines that can still be rewritten. It borrows the stream and owns all else.
#pragma once
#include "base/text/style.h"
#include "tui/part/lines/linesource.h"

typedef struct rewrites rewrites;

enum { REWRITES_KEPT = 4 << 20 };

rewrites *rewrites_new(void);
void rewrites_free(rewrites *r); // NULL is fine
// Reads on, for about as long as it takes to look through so many bytes. false: all there is by now
// has been read.
bool rewrites_read(rewrites *r, linesource *stream, size_t bytes);

// The pieces in order. A range of the stream, [from, to), or a text.
struct rewrites_piece {
    uint64_t from, to;
    linesource *text;   // settled lines, which only grow; NULL: none
    const char *window; // lines that change; NULL: none
    size_t window_n;
    style first; // what earlier lines have left
};
size_t rewrites_pieces(const rewrites *r, uint64_t stream_size);
struct rewrites_piece rewrites_piece(const rewrites *r, size_t i, uint64_t stream_size);
// Some lines that were rewritten stand as they were written, as there were too many.
bool rewrites_gave_up(const rewrites *r);
