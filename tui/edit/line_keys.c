// SPDX-License-Identifier: MIT
// The keys of a single line for typing (a filter, an answer): those of readline.
#include "tui/edit/keymap.h"

static const struct binding bindings[] = {
    {MODE_LINE, "Enter", ACT_ACCEPT},
    {MODE_LINE, "Up", ACT_UP},
    {MODE_LINE, "Down", ACT_DOWN},
    {MODE_LINE, "Left", ACT_LEFT},
    {MODE_LINE, "Right", ACT_RIGHT},
    {MODE_LINE, "C-Left", ACT_WORD_LEFT},
    {MODE_LINE, "M-b", ACT_WORD_LEFT},
    {MODE_LINE, "C-Right", ACT_WORD_RIGHT},
    {MODE_LINE, "M-f", ACT_WORD_RIGHT},
    {MODE_LINE, "Home", ACT_LINE_START},
    {MODE_LINE, "C-a", ACT_LINE_START},
    {MODE_LINE, "End", ACT_LINE_END},
    {MODE_LINE, "C-e", ACT_LINE_END},
    {MODE_LINE, "Backspace", ACT_DELETE_BACK},
    {MODE_LINE, "Delete", ACT_DELETE_FORWARD},
    {MODE_LINE, "C-d", ACT_DELETE_FORWARD},
    {MODE_LINE, "C-w", ACT_DELETE_WORD_BACK},
    {MODE_LINE, "M-Backspace", ACT_DELETE_WORD_BACK},
    {MODE_LINE, "M-d", ACT_DELETE_WORD_FORWARD},
    {MODE_LINE, "C-u", ACT_KILL_LINE_BACK},
    {MODE_LINE, "C-k", ACT_KILL_LINE},
    {MODE_LINE, "C-v", ACT_YANK},
    {MODE_LINE, "C-y", ACT_YANK},
    {MODE_LINE, "C-_", ACT_UNDO},
    {MODE_LINE, "C-l", ACT_REDRAW},
    {MODE_LINE, "C-z", ACT_SUSPEND},
    {MODE_LINE, "Esc", ACT_BACK},
};
const struct keymap line_keys = KEYMAP(bindings);
