// SPDX-License-Identifier: MIT
// Themes: what the eight colours and dim text of views and outputs become, so that all of it can be
// read on this background and by this person. Pure.
#pragma once
#include "base/text/style.h"
#include "tui/config/settings.h"

enum background { BACKGROUND_UNKNOWN, BACKGROUND_DARK, BACKGROUND_LIGHT };
struct theme {
    enum setting_theme theme; // never THEME_AUTO
    bool okabe_ito, light;
};
struct theme theme_of(const struct settings *s, enum background b);
bool theme_changes(const struct theme *t); // false: all stays as it is drawn
style theme_style(const struct theme *t, style s);
// What COLORFGBG ("15;0") says; NULL: it is not set.
enum background background_of_colorfgbg(const char *words);
