// SPDX-License-Identifier: MIT
// A person's own settings, from config.yaml: keys, aliases, colours, habits. What is wrong in the
// file is a fault with its line, and the rest of it counts: a broken file never keeps anybody from
// working. Pure: it reads no file and no environment.
#pragma once
#include "base/buf.h"
#include "base/json/json.h"
#include "tui/edit/keymap.h"

#include <stdbool.h>

enum setting_theme { THEME_AUTO, THEME_DARK, THEME_LIGHT, THEME_HIGH_CONTRAST, THEME_MONO };
enum setting_palette { PALETTE_STANDARD, PALETTE_OKABE_ITO };
enum setting_preset { PRESET_JUPYTER, PRESET_VIM, PRESET_K9S };

// The place of keys in config.yaml, and the view (its ops' name) and the modes where they work.
// X(place, view, modes)
#define KEY_PLACES(X)                                                                              \
    X("cells", "notebook", MODE_COMMAND)                                                           \
    X("edit", "notebook", MODE_EDIT)                                                               \
    X("output", "output", MODE_VIEW)                                                               \
    X("table", "table", MODE_VIEW)                                                                 \
    X("chart", "chart", MODE_VIEW)                                                                 \
    X("metrics", "metrics", MODE_VIEW)                                                             \
    X("runs", "runs", MODE_VIEW)                                                                   \
    X("compare", "compare", MODE_VIEW)                                                             \
    X("runs-table", "runs table", MODE_VIEW)                                                       \
    X("outline", "outline", MODE_VIEW)                                                             \
    X("open", "open", MODE_VIEW)                                                                   \
    X("help", "help", MODE_VIEW)

struct view_keymap;
struct settings {
#define CHOICE(symbol, name, values, usual, words) int symbol; // index of the value
#define SWITCH(symbol, name, usual, words)         bool symbol;
#include "tui/config/settings.def"
#undef CHOICE
#undef SWITCH
    cJSON *aliases;  // {"dp": "deployments"}
    cJSON *commands; // {"debug": {"run": [words], "kinds": [names], "key"}}
    cJSON *faults;   // [{"line": 3, "text": "there is no setting \"colour\"; did you mean …"}]
    struct view_keymap *keys;
    size_t n_keys;
};

// text NULL: there is no file, and all is as usual.
struct settings *settings_new(const char *text, size_t n);
void settings_free(struct settings *s); // NULL is fine
// The keys that a person, then the preset has for a view; NULL: none. An action ACT_NONE: the keys
// mean nothing there.
const struct keymap *settings_keys(const struct settings *s, const char *view);
bool settings_vi(const struct settings *s); // has the text of a cell vi's keys?
// A line after ":" with the alias that it begins with written out; new, NULL: it begins with none.
char *settings_alias(const struct settings *s, const char *line);
// A person's own command on a row of a cluster's table; NULL: there is none of this name. And the
// name of the one that has this key.
const cJSON *settings_command(const struct settings *s, const char *name);
const char *settings_command_key(const struct settings *s, key k);
// The name of the i-th setting, its values with blanks between, the usual one and what it means;
// NULL after the last.
const char *settings_nth(size_t i, const char **values, const char **usual, const char **words);
// A config.yaml in which all settings stand as comments, with what they mean.
void settings_template(buf *out);
// The same as Markdown, for doc/configuration.md: settings, places, presets.
void settings_document(buf *out);
