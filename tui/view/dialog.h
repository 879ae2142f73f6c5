// SPDX-License-Identifier: MIT
// A framed box in the middle of the screen with a question in it. Nothing is owned.
#pragma once
#include "tui/view/view.h"

// Draws it with `text` wrapped, and `keys` as the last row; *rest (may be NULL) gets a free row
// between them.
void dialog_draw(
    grid *g, rect area, const char *title, const char *text, const char *keys, rect *rest);
