// SPDX-License-Identifier: MIT
// The look of a cell: two colours and attributes. A plain value; {0} is the terminal's own look.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// 0 is the terminal's default; otherwise the top byte is the kind. A terminal with fewer colours
// gets the nearest it has when drawing (RGB to 256, to 16, to none), so views need not care.
typedef uint32_t color;
#define COLOR_NONE     UINT32_C(0)
#define COLOR_INDEX(n) (UINT32_C(0x01000000) | (uint8_t)(n)) // 0–7 ANSI, 8–15 bright, xterm's 256
#define COLOR_RGB(r, g, b)                                                                         \
    (UINT32_C(0x02000000) | (uint32_t)(uint8_t)(r) << 16 | (uint32_t)(uint8_t)(g) << 8 |           \
        (uint8_t)(b))

enum attribute {
    ATTR_BOLD = 1,
    ATTR_DIM = 2,
    ATTR_ITALIC = 4,
    ATTR_UNDERLINE = 8,
    ATTR_BLINK = 16,
    ATTR_REVERSE = 32,
    ATTR_STRIKE = 64,
};

typedef struct style {
    color fg, bg;
    uint32_t attrs; // enum attribute, or-ed
} style;

static inline bool style_equal(style a, style b)
{
    return a.fg == b.fg && a.bg == b.bg && a.attrs == b.attrs;
}
// Lays `over` on `under`: where its colours are default, those of `under` show; attributes add up.
style style_over(style under, style over);

// The most similar of xterm's 256 colours; of the first 16; of the first 8. Default stays default.
color color_to_256(color c);
color color_to_16(color c);
// Is a background of this red, green and blue, each from 0 to 1, a light one?
bool color_is_light(double red, double green, double blue);
// Its red, green and blue, 0xRRGGBB; the first 16 as xterm has them. Not defined for the default
// colour.
uint32_t color_rgb(color c);
