// SPDX-License-Identifier: MIT
#include "tui/config/theme.h"

#include <stdlib.h>
#include <string.h>

// Of the 256 colours, for the terminal's own 1 to 7; 0: the colour of text. Red, green, yellow,
// blue, magenta, cyan, white.
enum { COLORS = 8 };
static const unsigned char light[COLORS] = {0, 160, 28, 130, 25, 90, 30, 0};
static const unsigned char strong_dark[COLORS] = {0, 9, 10, 11, 117, 213, 14, 15};
static const unsigned char strong_light[COLORS] = {0, 124, 22, 94, 18, 54, 23, 0};
// Okabe and Ito, https://jfly.uni-koeln.de/color/: vermilion, bluish green, orange or yellow, blue,
// reddish purple, sky blue.
static const unsigned char okabe_dark[COLORS] = {0, 202, 36, 220, 33, 175, 117, 0};
static const unsigned char okabe_light[COLORS] = {0, 166, 29, 136, 25, 132, 31, 0};
enum { GREY_ON_LIGHT = 243 };

struct theme theme_of(const struct settings *s, enum background b)
{
    struct theme t = {.theme = (enum setting_theme)s->theme,
        .okabe_ito = s->palette == PALETTE_OKABE_ITO,
        .light = b == BACKGROUND_LIGHT};
    if (t.theme == THEME_AUTO)
        t.theme = t.light ? THEME_LIGHT : THEME_DARK;
    t.light = t.theme == THEME_LIGHT || (t.theme == THEME_HIGH_CONTRAST && t.light);
    return t;
}

bool theme_changes(const struct theme *t)
{
    return t->theme != THEME_DARK || t->okabe_ito;
}

static color color_as(const struct theme *t, color c)
{
    unsigned index = c & 0xff;
    if (c >> 24 != 1 || index >= 2 * COLORS)
        return c; // another colour of an output, or the terminal's own
    const unsigned char *table = t->okabe_ito ? (t->light ? okabe_light : okabe_dark)
                                 : t->theme == THEME_HIGH_CONTRAST
                                     ? (t->light ? strong_light : strong_dark)
                                 : t->light ? light
                                            : NULL;
    if (!table || (index >= COLORS && !t->light))
        return c;
    index %= COLORS;
    return !index ? c : table[index] ? COLOR_INDEX(table[index]) : COLOR_NONE;
}

style theme_style(const struct theme *t, style s)
{
    if (t->theme == THEME_MONO) {
        s.attrs |= s.bg != COLOR_NONE ? ATTR_REVERSE : 0;
        s.fg = s.bg = COLOR_NONE;
        return s;
    }
    bool dim = s.attrs & ATTR_DIM, plain = s.fg == COLOR_NONE;
    s.fg = color_as(t, s.fg);
    s.bg = s.bg == COLOR_NONE ? s.bg : color_as(t, s.bg);
    if (dim && (t->light || t->theme == THEME_HIGH_CONTRAST)) { // what cannot be read helps nobody
        s.attrs &= ~(uint32_t)ATTR_DIM;
        if (plain && t->theme != THEME_HIGH_CONTRAST)
            s.fg = COLOR_INDEX(GREY_ON_LIGHT);
    }
    return s;
}

enum background background_of_colorfgbg(const char *words)
{
    const char *last = words ? strrchr(words, ';') : NULL;
    char *end;
    long index = last ? strtol(last + 1, &end, 10) : -1;
    if (!last || end == last + 1 || *end || index < 0 || index > 255)
        return BACKGROUND_UNKNOWN;
    uint32_t rgb = color_rgb(COLOR_INDEX(index));
    bool is_light = color_is_light((double)(rgb >> 16 & 0xff) / 255,
        (double)(rgb >> 8 & 0xff) / 255, (double)(rgb & 0xff) / 255);
    return is_light ? BACKGROUND_LIGHT : BACKGROUND_DARK;
}
