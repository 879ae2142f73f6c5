// SPDX-License-Identifier: MIT
// vi's keys in the text of a cell: modes, counts, operators with motions and text objects, f and t,
// visual selections, p and P, J, r, ~, the dot. What is typed in insert mode, and keys with Ctrl,
// are the caller's. Undo is the text's own. It owns what it remembers; {0} begins in normal mode.
//
//   [count] [operator [count]] motion          3dw   d2f)   ci(   >j   yy
#pragma once
#include "tui/edit/edit.h"
#include "tui/edit/key.h"

enum vi_mode { VI_NORMAL, VI_INSERT, VI_VISUAL, VI_VISUAL_LINES };
struct vi {
    enum vi_mode mode;
    size_t count, count_before; // typed so far; before the operator
    char operator, prefix;      // d c y > <; g f F t T r i a: one more key belongs to it
    char find, find_what;       // the last of f F t T, and its character
    pos start;                  // of a visual selection
    bool lines;                 // what was cut last is whole lines
    buf change, now;            // the keys of the last change, and of the one that is typed
    bool repeats, records;      // the dot does it again; what is typed belongs to it
    pos inserted;               // where insert mode began
};

void vi_done(struct vi *v);
// A character in another mode than insert. false: it means nothing there.
bool vi_type(struct vi *v, edit *e, uint32_t character, buf *clipboard);
// Esc. false: there was nothing to end, in normal mode.
bool vi_escape(struct vi *v, edit *e);
void vi_insert(struct vi *v, const edit *e); // for typing at once
void vi_reset(struct vi *v);                 // another text: normal mode
bool vi_waits(const struct vi *v);           // a command has begun, and needs more keys
const char *vi_mode_name(const struct vi *v);
