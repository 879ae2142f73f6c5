// SPDX-License-Identifier: MIT
// The keys of presets, by place. Where they say nothing, those of JupyterLab stay.
#include "tui/config/presets.h"

#include "base/mem.h"

static const struct preset_key vim[] = {
    {"cells", "i", ACT_EDIT},
    {"cells", "u", ACT_UNDO_CELL},
    {"cells", "C-r", ACT_REDO_CELL},
    {"cells", "y y", ACT_COPY},
    {"cells", "p", ACT_PASTE_BELOW},
    {"cells", "P", ACT_PASTE_ABOVE},
    {"cells", "o", ACT_INSERT_BELOW},
    {"cells", "O", ACT_INSERT_ABOVE},
    {"cells", "J", ACT_MERGE},
    {"cells", "V", ACT_EXTEND_NEXT},
    {"cells", "C-d", ACT_PAGE_DOWN},
    {"cells", "C-u", ACT_PAGE_UP},
    {"cells", "C-b", ACT_PAGE_UP},
    {"cells", "z a", ACT_FOLD_SECTION},
    {"cells", "z M", ACT_FOLD_SECTIONS},
    {"cells", "z i", ACT_FOLD_INPUT},
    {"cells", "z o", ACT_FOLD_OUTPUT},
    {"cells", "m", ACT_SET_MARK},
    {"cells", "`", ACT_GO_MARK},
    {"cells", "g p", ACT_PROPERTIES},
    {"cells", "g P", ACT_CHART},
    {"cells", "g o", ACT_OPEN_OUTPUT},
    {"cells", "g t", ACT_TO_MARKDOWN},
    {"cells", "Z Z", ACT_SAVE_QUIT},
    {"cells", "Z Q", ACT_DISCARD_QUIT},
};
static const struct preset_key k9s[] = {
    {"table", "0", ACT_ALL_NAMESPACES},
    {"table", "s", ACT_SHELL},
    {"table", "o", ACT_SORT},
    {"table", "O", ACT_SORT_REVERSE},
    {"table", "x", ACT_DECODE},
    {"table", "C-k", ACT_DELETE_OBJECT},
    {"table", "-", ACT_TABLE_BACK},
    {"output", "s", ACT_FOLLOW},
};

const struct preset_key *preset_keys(enum setting_preset preset, size_t *n)
{
    switch (preset) {
    case PRESET_VIM:
        *n = ARRAY_LEN(vim);
        return vim;
    case PRESET_K9S:
        *n = ARRAY_LEN(k9s);
        return k9s;
    case PRESET_JUPYTER:
        break;
    }
    *n = 0;
    return NULL;
}
