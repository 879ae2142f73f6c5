// SPDX-License-Identifier: MIT
// Styles that views share: a few, made of the eight colours and attributes that every terminal has.
#pragma once
#include "base/text/style.h"

#define LOOK_DIM      ((style){.attrs = ATTR_DIM})
#define LOOK_BOLD     ((style){.attrs = ATTR_BOLD})
#define LOOK_ERROR    ((style){.fg = COLOR_INDEX(1), .attrs = ATTR_BOLD})
#define LOOK_GOOD     ((style){.fg = COLOR_INDEX(2)})
#define LOOK_WARN     ((style){.fg = COLOR_INDEX(3)})
#define LOOK_ACCENT   ((style){.fg = COLOR_INDEX(6)})
#define LOOK_SELECTED ((style){.attrs = ATTR_REVERSE})
