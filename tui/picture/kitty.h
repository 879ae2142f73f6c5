// SPDX-License-Identifier: MIT
// kitty's graphics protocol (sw.kovidgoyal.net/kitty/graphics-protocol): the terminal keeps
// pictures under numbers; cells with the code point U+10EEEE show their parts ("unicode
// placeholders"), or a picture is put at the cursor. Terminals do not answer any of these (q=2).
#pragma once
#include "base/buf.h"

#include <stdint.h>

// "Can you?", which is answered by "ESC _ G i=31;OK ESC \".
#define KITTY_QUESTION "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
enum { KITTY_ASKED = 31, KITTY_CHUNK = 4096 };

// Sends a PNG, in chunks. `each` gets them one by one, so that a multiplexer can pass them on.
void kitty_send(
    uint32_t id, const void *png, size_t n, void (*each)(void *arg, const buf *one), void *arg);
// Cells may show it from now on; it is so many of them large.
void kitty_virtual(uint32_t id, int columns, int rows, buf *out);
// Shows a part of it (pixels) at the cursor, which stays, in so many cells. place: a number.
struct kitty_part {
    int x, y, w, h, columns, rows;
};
void kitty_place(uint32_t id, uint32_t place, const struct kitty_part *part, buf *out);
void kitty_unplace(uint32_t id, uint32_t place, buf *out);
void kitty_forget(uint32_t id, buf *out);

// The code points of the cell (column, row) of the picture, whose number's lower 24 bits are the
// cell's colour; 0-terminated.
enum { KITTY_POINTS = 5, KITTY_NUMBERS = 297 }; // columns, rows and upper 8 bits below the second
void kitty_cell(uint32_t id, int column, int row, uint32_t points[KITTY_POINTS]);
