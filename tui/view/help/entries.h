// SPDX-License-Identifier: MIT
// What the help has to say: entries in parts, and all of them when words are searched for. They own
// their texts.
#pragma once
#include "tui/view/help/places.h"

enum help_part { PART_KEYS, PART_TASKS, PART_LINES, PART_SETTINGS, HELP_PARTS };

enum entry_kind {
    ENTRY_HEADING,
    ENTRY_TASK,    // a title, and sentences below it
    ENTRY_KEY,     // keys, and what they do; `action`
    ENTRY_LINE,    // a line after ":"
    ENTRY_SETTING, // of config.yaml
    ENTRY_NAME,    // of what cells can call
};
struct entry {
    enum entry_kind kind;
    char *title, *text; // text may be NULL
    enum action action;
    const char *line; // what Enter does, after ":"; NULL: nothing
    bool takes_words; // words may stand behind the line
    bool second;      // it stands in the second column, where there are two
};
struct entries {
    struct entry *list;
    size_t n;
};

void entries_done(struct entries *all);
// Of one part; below: the view whose keys are meant.
void entries_of(const bench *b, const view *below, enum help_part part, struct entries *out);
// Of all parts, and of the keys of other places, those that match.
void entries_find(const bench *b, const view *below, const char *words, struct entries *out);
// A name of the API and its kind.
void entries_add_name(struct entries *out, const char *name, const char *kind);
