// SPDX-License-Identifier: MIT
#include "tui/term/draw.h"

#include "base/mem.h"
#include "base/text/utf8.h"
#include "tui/picture/kitty.h"

#include <curses.h>
#include <stdlib.h>
#include <wchar.h>

enum { BLANK = 0xA0 }; // of pictures

void draw_init(struct draw *d, bool utf8, bool wanted_colors)
{
    *d = (struct draw){.ascii = !utf8 || MB_CUR_MAX == 1};
    if (!wanted_colors || !has_colors() || start_color() == ERR)
        return;
    d->has_default = use_default_colors() == OK;
    d->is_direct = tigetflag("RGB") == 1 || COLORS >= 1 << 24;
    d->colors = d->is_direct ? 1 << 24 : COLORS >= 256 ? 256 : COLORS;
}

// The terminal's number for a colour; *bright: it is one of the upper 8, and the terminal has only
// 8.
static int color_number(const struct draw *d, color c, int otherwise, bool *bright)
{
    if (!c)
        return d->has_default ? -1 : otherwise;
    if (d->is_direct && c >> 24 == 2)
        return (int)(c & 0xFFFFFF);
    int n = (int)((d->colors >= 256 ? color_to_256(c) : color_to_16(c)) & 255);
    if (n >= d->colors) {
        *bright = true;
        n %= 8;
    }
    return n;
}

static attr_t attributes(uint32_t attrs)
{
    static const struct {
        uint32_t ours;
        attr_t theirs; // nothing blinks: blinking makes reading hard
    } table[] = {{ATTR_BOLD, A_BOLD}, {ATTR_DIM, A_DIM}, {ATTR_ITALIC, A_ITALIC},
        {ATTR_UNDERLINE, A_UNDERLINE}, {ATTR_BLINK, A_BOLD}, {ATTR_REVERSE, A_REVERSE}};
    attr_t out = A_NORMAL;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (attrs & table[i].ours)
            out |= table[i].theirs;
    return out;
}

static attr_t look(const struct draw *d, style s, int *pair)
{
    attr_t attrs = attributes(s.attrs);
    *pair = 0;
    if (!d->colors) // a background marks something as prominent; reverse does, too
        return s.bg ? attrs | A_REVERSE : attrs;
    bool bright = false, bright_ground = false;
    int fg = color_number(d, s.fg, COLOR_WHITE, &bright);
    int bg = color_number(d, s.bg, COLOR_BLACK, &bright_ground);
    if (s.fg || s.bg)
        *pair = alloc_pair(fg, bg);
    if (*pair < 0)
        *pair = 0;
    return bright ? attrs | A_BOLD : attrs;
}

// The ASCII substitutes of characters. curses draws lines, since it knows what the terminal has
// ("q" is DEC's name of the horizontal line).
static const struct {
    uint32_t from, to;
    char dec, ascii;
} fallbacks[] = {
    {0xA0, 0xA0, 0, ' '},
    {0xB7, 0xB7, 0, '.'},
    {0xD7, 0xD7, 0, 'x'},
    {0x2010, 0x2015, 0, '-'},
    {0x2018, 0x201B, 0, '\''},
    {0x201C, 0x201F, 0, '"'},
    {0x2022, 0x2022, 0, '*'},
    {0x2026, 0x2026, 0, '.'},
    {0x2190, 0x2190, 0, '<'},
    {0x2191, 0x2191, 0, '^'},
    {0x2192, 0x2192, 0, '>'},
    {0x2193, 0x2193, 0, 'v'},
    {0x22EE, 0x22EE, 0, ':'},
    {0x2388, 0x2388, 0, '@'},
    {0x2500, 0x2501, 'q', '-'},
    {0x2502, 0x2503, 'x', '|'},
    {0x2504, 0x2505, 'q', '-'},
    {0x2506, 0x2507, 'x', '|'},
    {0x250C, 0x250F, 'l', '+'},
    {0x2510, 0x2513, 'k', '+'},
    {0x2514, 0x2517, 'm', '+'},
    {0x2518, 0x251B, 'j', '+'},
    {0x251C, 0x2523, 't', '+'},
    {0x2524, 0x252B, 'u', '+'},
    {0x252C, 0x2533, 'w', '+'},
    {0x2534, 0x253B, 'v', '+'},
    {0x253C, 0x254B, 'n', '+'},
    {0x256D, 0x256D, 'l', '+'},
    {0x256E, 0x256E, 'k', '+'},
    {0x256F, 0x256F, 'j', '+'},
    {0x2570, 0x2570, 'm', '+'},
    {0x2581, 0x2587, 0, '-'},
    {0x2588, 0x2588, 0, '#'},
    {0x2589, 0x258F, 0, '|'},
    {0x2591, 0x2593, 'a', ':'},
    {0x25A0, 0x25A1, 0, '#'},
    {0x25B2, 0x25B5, 0, '^'},
    {0x25B6, 0x25B9, 0, '>'},
    {0x25BC, 0x25BF, 0, 'v'},
    {0x25C0, 0x25C3, 0, '<'},
    {0x25CB, 0x25CB, 0, '.'},
    {0x25CF, 0x25CF, 0, 'o'},
    {0x2713, 0x2714, 0, '+'},
    {0x2715, 0x2718, 0, 'x'},
    {0x276F, 0x276F, 0, '>'},
    {0x2801, 0x28FF, 0, '*'},
};

static chtype ascii_of(uint32_t point)
{
    if (point < 0x7F)
        return point;
    if (point_is_regional(point))
        return 'A' + (point - 0x1F1E6);
    for (size_t i = 0; i < ARRAY_LEN(fallbacks); i++)
        if (point >= fallbacks[i].from && point <= fallbacks[i].to)
            return fallbacks[i].dec ? NCURSES_ACS(fallbacks[i].dec)
                                    : (chtype)(unsigned char)fallbacks[i].ascii;
    return '?';
}

// Nothing here sets attributes of the window: curses would add them to what is drawn later.
static void put_wide(int x, int y, const wchar_t *wide, attr_t attrs, int pair)
{
    cchar_t out;
    setcchar(&out, wide, attrs, 0, &pair);
    mvadd_wch(y, x, &out);
}

static void draw_ascii(int x, int y, const grid_cell *c, attr_t attrs, int pair)
{
    chtype ascii = ascii_of(c->points[0]);
    wchar_t wide[] = {(wchar_t)(ascii & A_CHARTEXT), 0};
    put_wide(x, y, wide, attrs | (ascii & A_ALTCHARSET), pair);
    if (c->width == 2)
        put_wide(x + 1, y, L" ", attrs, pair);
}

void draw_part(int x, int y, const struct grid_part *part, uint32_t number)
{
    uint32_t points[KITTY_POINTS];
    wchar_t wide[KITTY_POINTS] = {BLANK};
    if (!number) {
        put_wide(x, y, wide, A_NORMAL, 0);
        return;
    }
    kitty_cell(number, part->column, part->row, points);
    for (int i = 0; i < KITTY_POINTS; i++)
        wide[i] = (wchar_t)points[i];
    int pair = alloc_pair((int)(number & 0xFFFFFF), -1);
    put_wide(x, y, wide, A_NORMAL, pair > 0 ? pair : 0);
}

void draw_cell(const struct draw *d, int x, int y, const grid_cell *c)
{
    if (!c->width)
        return;
    int pair;
    attr_t attrs = look(d, c->style, &pair);
    uint32_t base = c->points[0] == BLANK ? ' ' : c->points[0];
    // Draws the letters of a flag as letters: terminals disagree about the width of one, and curses
    // may send the second alone.
    if (d->ascii || base < ' ' || point_is_regional(base)) {
        draw_ascii(x, y, c, attrs, pair);
        return;
    }
    // curses uses the C library's widths. If a character's width differs from ours, curses must not
    // see it, or the rest of the line would be misplaced.
    wchar_t wide[CELL_POINTS + 1] = {0};
    bool agree = wcwidth((wchar_t)base) == c->width;
    wide[0] = agree ? (wchar_t)base : 0xFFFD;
    for (int i = 1, n = 1; agree && i < CELL_POINTS && c->points[i]; i++)
        if (wcwidth((wchar_t)c->points[i]) == 0)
            wide[n++] = (wchar_t)c->points[i];
    put_wide(x, y, wide, attrs, pair);
    if (!agree && c->width == 2)
        put_wide(x + 1, y, L" ", attrs, pair);
}
