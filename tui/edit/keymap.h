// SPDX-License-Identifier: MIT
// Key sequences bound to actions, in constant tables that views end in; matching them as keys come
// in; and the help, which is made from the same tables. Nothing is owned.
#pragma once
#include "base/buf.h"
#include "tui/edit/action.h"
#include "tui/edit/key.h"

// Bits, since a binding may be valid in several modes. LINE: a filter or an answer is being typed.
enum mode { MODE_COMMAND = 1, MODE_EDIT = 2, MODE_VIEW = 4, MODE_LINE = 8 };

struct binding {
    unsigned modes;
    const char *keys;   // names in a row, separated by blanks: "d d", "S-Enter", "C-x C-s"
    enum action action; // ACT_NONE: they mean nothing, whatever later maps say
};
struct keymap {
    const struct binding *bindings;
    size_t n;
};
#define KEYMAP(table)                                                                              \
    {                                                                                              \
        .bindings = (table), .n = sizeof(table) / sizeof((table)[0])                               \
    }

// Jupyter's keys, with substitutes for terminals, for the notebook view in both modes.
extern const struct keymap notebook_keys;
// Shared by all views with rows: moving among them, help, going back.
extern const struct keymap scroll_keys;
// Shared by all single lines in which something is typed; valid in any view in MODE_LINE.
extern const struct keymap line_keys;

// Keys of other programs, and what they do there: for telling which key does it here.
extern const struct keymap habit_keys;

// Moves through the time of a run that has ended, in all of its views.
extern const struct keymap time_keys;

// The keys typed so far of a sequence; {0} is none.
enum { KEYMAP_SEQUENCE = 4 };
struct key_input {
    key keys[KEYMAP_SEQUENCE];
    size_t n;
};
// Feeds one key through the maps; earlier maps win. Returns the action that it completes. ACT_NONE
// with in->n > 0: a longer sequence is possible. ACT_NONE with in->n == 0: no sequence begins with
// it, so the key may be typed. If a sequence is broken off, it is forgotten, and its last key
// starts a new one.
enum action keymap_feed(
    struct key_input *in, const struct keymap *const *maps, size_t n, unsigned mode, key k);

// The n-th action (from 0) to which a single key is bound in a map; ACT_NONE after the last.
enum action keymap_nth(const struct keymap *map, unsigned mode, key k, size_t n);

// Does a sequence begin with this key in one of the maps?
bool keymap_knows(const struct keymap *const *maps, size_t n, unsigned mode, key k);

// Finds a fault in a table, for tests: a name that does not parse, two bindings of the same keys in
// one mode, or a sequence hidden by a shorter one. false, with a message in `why`.
bool keymap_check(const struct keymap *map, buf *why);

// One line of help: the action and all its keys in these modes, such as "S-Enter, C-r".
struct help_line {
    enum action action;
    char keys[80];
};
// Fills lines in the order of the tables: each action once, without keys that an earlier map uses
// for something else. Returns how many (at most `max`).
size_t keymap_help(
    const struct keymap *const *maps, size_t n, unsigned mode, struct help_line *lines, size_t max);
// The first keys of an action for hints, "C-e", that no earlier map uses for something else; ""
// when it has none.
void keymap_keys(const struct keymap *const *maps, size_t n, unsigned mode, enum action a,
    char *out, size_t size);
