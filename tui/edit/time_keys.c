// SPDX-License-Identifier: MIT
// The keys that go through the time of a run that has ended: single outputs by , and . (which step
// through frames in players), beginnings and ends of cells by the same keys with Shift.
#include "tui/edit/keymap.h"

enum { BOTH = MODE_COMMAND | MODE_VIEW };

static const struct binding bindings[] = {
    {MODE_COMMAND, "Left", ACT_EARLIER},
    {BOTH, ",", ACT_EARLIER},
    {MODE_COMMAND, "Right", ACT_LATER},
    {BOTH, ".", ACT_LATER},
    {MODE_COMMAND, "S-Left", ACT_CELL_EARLIER},
    {BOTH, "<", ACT_CELL_EARLIER},
    {MODE_COMMAND, "S-Right", ACT_CELL_LATER},
    {BOTH, ">", ACT_CELL_LATER},
    {BOTH, "(", ACT_TIME_FIRST},
    {BOTH, ")", ACT_TIME_LAST},
};
const struct keymap time_keys = KEYMAP(bindings);
