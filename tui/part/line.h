// SPDX-License-Identifier: MIT
// One line to type in, with the keys of line_keys: a filter, an answer, a password. It owns its
// text.
#pragma once
#include "base/buf.h"
#include "tui/edit/action.h"
#include "tui/edit/key.h"
#include "tui/grid/grid.h"

typedef struct line line;
line *line_new(const char *words);
void line_free(line *l);
const char *line_text(line *l);            // borrowed until the next change
void line_set(line *l, const char *words); // the cursor at its end
// false: no action of a line. A secret's text never goes to the clipboard.
bool line_act(line *l, enum action a, buf *clipboard, bool secret);
void line_type(line *l, key k);
void line_paste(line *l, const char *words, size_t n); // only up to the first line end
// Draws it in one row, scrolled so that the cursor is visible, and sets the cursor. secret: a * for
// each character.
void line_draw(line *l, grid *g, rect row, bool secret);
