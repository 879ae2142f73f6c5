// SPDX-License-Identifier: MIT
// What was done with the mouse, in cells of the screen. A plain value.
#pragma once

enum mouse_kind { MOUSE_CLICK, MOUSE_DOUBLE, MOUSE_UP, MOUSE_DOWN }; // UP, DOWN: of the wheel
struct mouse {
    enum mouse_kind kind;
    int x, y; // from 0
};
