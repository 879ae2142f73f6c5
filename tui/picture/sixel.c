// SPDX-License-Identifier: MIT
#include "tui/picture/sixel.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { BAND = 6, CUBE = 1 << 15, KNOWN = 1 << 10 };

// Colours of 5 bits each, with how many pixels have them.
struct shade {
    uint8_t rgb[3];
    uint64_t pixels;
};
struct box {
    size_t from, n; // of the shades
};

static const uint8_t *pixel(const picture *rgb, size_t i)
{
    return rgb->pixels + i * 3;
}

// A table of the colours met so far, by their hash. Returns the colour's number, or `most` if there
// is no more room.
static size_t exact_number(sixel *s, uint16_t *known, const uint8_t *rgb, size_t most)
{
    size_t at = ((size_t)rgb[0] * 0x9E3779B1u ^ (size_t)rgb[1] * 0x85EBCA6Bu ^
                    (size_t)rgb[2] * 0xC2B2AE35u) %
                KNOWN;
    for (; known[at]; at = (at + 1) % KNOWN)
        if (memcmp(s->palette[known[at] - 1], rgb, 3) == 0)
            return known[at] - 1u;
    if (s->colors == most)
        return most;
    memcpy(s->palette[s->colors++], rgb, 3);
    known[at] = (uint16_t)s->colors;
    return s->colors - 1;
}

static bool keep_colors(sixel *s, const picture *rgb, size_t most)
{
    uint16_t known[KNOWN] = {0};
    for (size_t i = 0; i < s->width * s->height; i++) {
        size_t number = exact_number(s, known, pixel(rgb, i), most);
        if (number == most)
            return false;
        s->pixels[i] = (uint8_t)number;
    }
    return true;
}

static size_t cube_place(const uint8_t *rgb)
{
    return (size_t)(rgb[0] >> 3) << 10 | (size_t)(rgb[1] >> 3) << 5 | (size_t)(rgb[2] >> 3);
}

static size_t count_shades(const picture *rgb, size_t n, struct shade *shades)
{
    uint64_t *cube = mem_array(CUBE, sizeof *cube);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        cube[cube_place(pixel(rgb, i))]++;
    for (size_t i = 0; i < CUBE; i++)
        if (cube[i])
            shades[count++] =
                (struct shade){{(uint8_t)((i >> 10) * 8 + 4), (uint8_t)((i >> 5 & 31) * 8 + 4),
                                   (uint8_t)((i & 31) * 8 + 4)},
                    cube[i]};
    free(cube);
    return count;
}

// The channel in which the shades of a box differ most, and by how much.
static int widest(const struct shade *shades, struct box b, int *spread)
{
    int channel = 0;
    *spread = -1;
    for (int c = 0; c < 3; c++) {
        int low = 255, high = 0;
        for (size_t i = b.from; i < b.from + b.n; i++) {
            low = shades[i].rgb[c] < low ? shades[i].rgb[c] : low;
            high = shades[i].rgb[c] > high ? shades[i].rgb[c] : high;
        }
        if (high - low > *spread) {
            *spread = high - low;
            channel = c;
        }
    }
    return channel;
}

static int by_channel(const void *a, const void *b, void *channel)
{
    int c = *(int *)channel;
    return ((const struct shade *)a)->rgb[c] - ((const struct shade *)b)->rgb[c];
}

// Cuts a box where half of its pixels are on each side.
static struct box cut(struct shade *shades, struct box *b)
{
    int spread, channel = widest(shades, *b, &spread);
    uint64_t all = 0, half = 0;
    qsort_r(shades + b->from, b->n, sizeof *shades, by_channel, &channel);
    for (size_t i = 0; i < b->n; i++)
        all += shades[b->from + i].pixels;
    size_t left = 1;
    for (half = shades[b->from].pixels; left + 1 < b->n && half < all / 2; left++)
        half += shades[b->from + left].pixels;
    struct box right = {b->from + left, b->n - left};
    b->n = left;
    return right;
}

static size_t box_to_cut(const struct shade *shades, const struct box *boxes, size_t n)
{
    size_t best = n;
    int most = 0;
    for (size_t i = 0; i < n; i++) {
        int spread;
        widest(shades, boxes[i], &spread);
        if (boxes[i].n > 1 && spread > most) {
            most = spread;
            best = i;
        }
    }
    return best;
}

// The box's colour is the average of its pixels; each shade gets the number of its box.
static void average(
    sixel *s, const struct shade *shades, struct box b, size_t number, uint8_t *numbers)
{
    uint64_t sums[3] = {0}, all = 0;
    for (size_t i = b.from; i < b.from + b.n; i++) {
        for (int c = 0; c < 3; c++)
            sums[c] += shades[i].rgb[c] * shades[i].pixels;
        all += shades[i].pixels;
        numbers[cube_place(shades[i].rgb)] = (uint8_t)number;
    }
    for (int c = 0; c < 3; c++)
        s->palette[number][c] = (uint8_t)((sums[c] + all / 2) / (all ? all : 1));
}

static void choose_colors(sixel *s, const picture *rgb, size_t most)
{
    size_t pixels = s->width * s->height, n = 1;
    struct shade *shades = mem_array(CUBE, sizeof *shades);
    uint8_t *numbers = mem_array(CUBE, 1);
    struct box boxes[SIXEL_COLORS] = {{0, count_shades(rgb, pixels, shades)}};
    for (size_t at; n < most && (at = box_to_cut(shades, boxes, n)) < n; n++)
        boxes[n] = cut(shades, &boxes[at]);
    for (size_t i = 0; i < n; i++)
        average(s, shades, boxes[i], i, numbers);
    for (size_t i = 0; i < pixels; i++)
        s->pixels[i] = numbers[cube_place(pixel(rgb, i))];
    s->colors = n;
    free(numbers);
    free(shades);
}

int sixel_init(sixel *s, const picture *rgb, size_t colors)
{
    *s = (sixel){.width = rgb->width,
        .height = rgb->height,
        .pixels = mem_try_array(rgb->width * rgb->height, 1)};
    if (!s->pixels)
        return -1;
    colors = colors < 2 ? 2 : colors > SIXEL_COLORS ? SIXEL_COLORS : colors;
    if (!keep_colors(s, rgb, colors))
        choose_colors(s, rgb, colors);
    return 0;
}

void sixel_done(sixel *s)
{
    free(s->pixels);
    *s = (sixel){0};
}

struct part {
    const sixel *s;
    size_t x, y, width, height;
    uint8_t *bits; // of one colour in a band: a bit for each row, a byte a column
};

static void write_run(buf *out, uint8_t bits, size_t n)
{
    char c = (char)('?' + bits);
    if (n > 3)
        buf_fmt(out, "!%zu%c", n, c);
    for (size_t i = 0; n <= 3 && i < n; i++)
        buf_char(out, c);
}

// Returns false if the band does not have the colour.
static bool find_bits(const struct part *p, size_t band, size_t color)
{
    const sixel *s = p->s;
    bool any = false;
    memset(p->bits, 0, p->width);
    for (size_t row = 0; row < BAND && band + row < p->height; row++) {
        const uint8_t *from = s->pixels + (p->y + band + row) * s->width + p->x;
        for (size_t i = 0; i < p->width; i++)
            if (from[i] == color) {
                p->bits[i] |= (uint8_t)(1 << row);
                any = true;
            }
    }
    return any;
}

static void write_color(const struct part *p, size_t color, buf *out)
{
    size_t end = p->width;
    while (end && !p->bits[end - 1])
        end--;
    buf_fmt(out, "#%zu", color);
    for (size_t i = 0, n; i < end; i += n) {
        for (n = 1; i + n < end && p->bits[i + n] == p->bits[i]; n++)
            ;
        write_run(out, p->bits[i], n);
    }
}

static void find_used(const struct part *p, size_t from, size_t rows, bool used[SIXEL_COLORS])
{
    memset(used, 0, SIXEL_COLORS * sizeof *used);
    for (size_t row = from; row < from + rows && row < p->height; row++)
        for (size_t i = 0; i < p->width; i++)
            used[p->s->pixels[(p->y + row) * p->s->width + p->x + i]] = true;
}

static unsigned percent(uint8_t value)
{
    return (value * 100u + 127) / 255;
}

void sixel_write(const sixel *s, size_t x, size_t y, size_t width, size_t height, buf *out)
{
    struct part p = {s, x, y, width, height, NULL};
    if (x >= s->width || y >= s->height)
        return;
    p.width = width < s->width - x ? width : s->width - x;
    p.height = height < s->height - y ? height : s->height - y;
    p.bits = mem_array(p.width + 1, 1);
    bool used[SIXEL_COLORS];
    find_used(&p, 0, p.height, used);
    buf_fmt(out, "\x1bP0;1;0q\"1;1;%zu;%zu", p.width, p.height);
    for (size_t c = 0; c < s->colors; c++)
        if (used[c])
            buf_fmt(out, "#%zu;2;%u;%u;%u", c, percent(s->palette[c][0]), percent(s->palette[c][1]),
                percent(s->palette[c][2]));
    for (size_t band = 0; band < p.height; band += BAND) {
        bool first = true;
        find_used(&p, band, BAND, used);
        for (size_t c = 0; c < s->colors; c++) {
            if (!used[c] || !find_bits(&p, band, c))
                continue;
            buf_str(out, first ? "" : "$");
            write_color(&p, c, out);
            first = false;
        }
        buf_str(out, band + BAND < p.height ? "-" : "");
    }
    buf_str(out, "\x1b\\");
    free(p.bits);
}
