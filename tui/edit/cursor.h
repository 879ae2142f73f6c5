// SPDX-License-Identifier: MIT
// Computes where a movement leads in a text. Pure: positions in, positions out.
#pragma once
#include "base/pattern.h"
#include "tui/edit/text.h"

enum move {
    MOVE_LEFT,
    MOVE_RIGHT, // by a character, across line ends
    MOVE_WORD_LEFT,
    MOVE_WORD_RIGHT, // to the start of a word, or behind a word
    MOVE_UP,
    MOVE_DOWN,
    MOVE_PAGE_UP,
    MOVE_PAGE_DOWN,
    MOVE_LINE_START,
    MOVE_LINE_END, // line start: first to the first character, then to column 0
    MOVE_TEXT_START,
    MOVE_TEXT_END,
};
// Vertical moves keep to the screen column *goal; other moves set it. page: lines in a page.
pos cursor_move(const text *t, pos p, enum move m, size_t page, int *goal);
// Screen column of a position.
int cursor_column(const text *t, pos p);

// The next place of a pattern after (or before) `from`, around the end. false when it is nowhere.
// *end is behind the match.
bool cursor_search(
    const text *t, pos from, const struct pattern *what, bool backwards, pos *start, pos *end);
// How many places a pattern has in a text, and how many of them start before p.
size_t cursor_count(const text *t, const struct pattern *what, pos p, size_t *before);
// The bracket at p, or just before it, and the one that belongs to it, within a few thousand bytes.
bool cursor_bracket(const text *t, pos p, pos *here, pos *there);
