// SPDX-License-Identifier: MIT
#include "base/text/style.h"

style style_over(style under, style over)
{
    return (style){
        .fg = over.fg ? over.fg : under.fg,
        .bg = over.bg ? over.bg : under.bg,
        .attrs = under.attrs | over.attrs,
    };
}

struct rgb {
    int r, g, b;
};

// xterm's first sixteen colours, as most terminals have them; we cannot know a user's settings.
static const struct rgb ansi[16] = {{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238},
    {205, 0, 205}, {0, 205, 205}, {229, 229, 229}, {127, 127, 127}, {255, 0, 0}, {0, 255, 0},
    {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255}, {255, 255, 255}};

// The steps of the 6×6×6 cube: 0, then from 95 in steps of 40.
static int cube_level(int step)
{
    return step ? 55 + 40 * step : 0;
}

static int cube_step(int level)
{
    return level < 48 ? 0 : level < 115 ? 1 : (level - 35) / 40;
}

static struct rgb rgb_of(color c)
{
    if (c >> 24 == 2)
        return (struct rgb){c >> 16 & 255, c >> 8 & 255, c & 255};
    int n = c & 255;
    if (n < 16)
        return ansi[n];
    if (n >= 232)
        return (struct rgb){8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232)};
    n -= 16;
    return (struct rgb){cube_level(n / 36), cube_level(n / 6 % 6), cube_level(n % 6)};
}

static int distance(struct rgb a, struct rgb b)
{
    int r = a.r - b.r, g = a.g - b.g, bl = a.b - b.b;
    return 3 * r * r + 6 * g * g + bl * bl; // the eye sees green best and blue worst
}

color color_to_256(color c)
{
    if (c >> 24 != 2)
        return c;
    struct rgb want = rgb_of(c);
    int r = cube_step(want.r), g = cube_step(want.g), b = cube_step(want.b);
    color cube = COLOR_INDEX(16 + 36 * r + 6 * g + b);
    int mean = (want.r + want.g + want.b) / 3;
    int shade = mean < 4 ? 0 : mean > 243 ? 23 : (mean - 3) / 10;
    color gray = COLOR_INDEX(232 + shade);
    return distance(rgb_of(gray), want) < distance(rgb_of(cube), want) ? gray : cube;
}

color color_to_16(color c)
{
    if (!c || (c >> 24 == 1 && (c & 255) < 16))
        return c;
    struct rgb want = rgb_of(c);
    int best = 0;
    for (int i = 1; i < 16; i++)
        if (distance(ansi[i], want) < distance(ansi[best], want))
            best = i;
    return COLOR_INDEX(best);
}

bool color_is_light(double red, double green, double blue)
{
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5; // as Rec. 709 weighs them
}

uint32_t color_rgb(color c)
{
    struct rgb v = rgb_of(c);
    return (uint32_t)v.r << 16 | (uint32_t)v.g << 8 | (uint32_t)v.b;
}
