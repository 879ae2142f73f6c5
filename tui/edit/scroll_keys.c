// SPDX-License-Identifier: MIT
// The keys that mean the same in every view with rows: those of k9s and less. A view's own keys
// come first.
#include "tui/edit/keymap.h"

static const struct binding bindings[] = {
    {MODE_VIEW, "j", ACT_ROW_NEXT},
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "k", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "Space", ACT_PAGE_DOWN},
    {MODE_VIEW, "PgDn", ACT_PAGE_DOWN},
    {MODE_VIEW, "b", ACT_PAGE_UP},
    {MODE_VIEW, "PgUp", ACT_PAGE_UP},
    {MODE_VIEW, "g", ACT_ROW_FIRST},
    {MODE_VIEW, "Home", ACT_ROW_FIRST},
    {MODE_VIEW, "G", ACT_ROW_LAST},
    {MODE_VIEW, "End", ACT_ROW_LAST},
    {MODE_VIEW, "A", ACT_ANSWER},
    {MODE_VIEW, "C-l", ACT_REDRAW},
    {MODE_VIEW, "C-z", ACT_SUSPEND},
    {MODE_VIEW, "?", ACT_HELP},
    {MODE_VIEW, "F1", ACT_HELP},
    {MODE_VIEW, ":", ACT_PALETTE},
    {MODE_VIEW, "q", ACT_CLOSE},
    {MODE_VIEW, "Esc", ACT_BACK},
};
const struct keymap scroll_keys = KEYMAP(bindings);
