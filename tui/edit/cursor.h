// SPDX-License-Identifier: MIT
// Computes where a movement leads in a text. Pure: takes and returns positions.
#pragma once
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

// The bracket at p, or just before it, and its partner, within a few thousand bytes.
bool cursor_bracket(const text *t, pos p, pos *here, pos *there);
