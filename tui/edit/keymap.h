// SPDX-License-Identifier: MIT
// Key sequences bound to actions, in constant tables that views end in; matching them as keys come
// in; and the help, which is made from the same tables. Nothing is owned.
#pragma once
#include "base/buf.h"
#include "tui/edit/action.h"
#include "tui/edit/key.h"

// Bits, so that a binding may hold in several modes. LINE: a filter or an answer is typed.
enum mode { MODE_COMMAND = 1, MODE_EDIT = 2, MODE_VIEW = 4, MODE_LINE = 8 };

struct binding {
    unsigned modes;
    const char *keys; // names in a row, separated by blanks: "d d", "S-Enter", "C-x C-s"
    enum action action;
};
struct keymap {
    const struct binding *bindings;
    size_t n;
};
#define KEYMAP(table)                                                                              \
    {                                                                                              \
        .bindings = (table), .n = sizeof(table) / sizeof((table)[0])                               \
    }

// Jupyter's keys and their fallbacks for terminals, for the notebook view: both modes.
extern const struct keymap notebook_keys;
// What all views of rows share: moving among them, help, going back.
extern const struct keymap scroll_keys;
// And what all single lines share that something is typed in; they work in any view in MODE_LINE.
extern const struct keymap line_keys;

// The keys typed so far of a sequence; {0} is none.
enum { KEYMAP_SEQUENCE = 4 };
struct key_input {
    key keys[KEYMAP_SEQUENCE];
    size_t n;
};
// Feeds one key through the maps, of which earlier ones win. Returns the action it completes;
// ACT_NONE with in->n > 0 while a longer sequence is possible; ACT_NONE with in->n == 0 when
// nothing begins so: then the key is free for typing. A sequence that breaks off is forgotten, and
// its last key starts anew.
enum action keymap_feed(
    struct key_input *in, const struct keymap *const *maps, size_t n, unsigned mode, key k);

// Does a sequence begin with this key in one of the maps?
bool keymap_knows(const struct keymap *const *maps, size_t n, unsigned mode, key k);

// A problem in a table, for tests: a name that does not parse, two bindings of the same keys in one
// mode, or a sequence that hides behind a shorter one. false and a message in `why`.
bool keymap_check(const struct keymap *map, buf *why);

// One line of help: the action and all its keys in these modes, as "S-Enter, C-r".
struct help_line {
    enum action action;
    char keys[80];
};
// Fills lines in the order of the tables, each action once and without the keys that an earlier map
// has for something else; returns how many (at most `max`).
size_t keymap_help(
    const struct keymap *const *maps, size_t n, unsigned mode, struct help_line *lines, size_t max);
// The first keys of an action for hints, "C-e"; "" when it has none.
void keymap_keys(const struct keymap *map, unsigned mode, enum action a, char *out, size_t size);
