// SPDX-License-Identifier: MIT
// Pictures without a terminal: their size in cells, few colours, what is kept, what is no picture.
// tests/screen/pictures.py has a terminal.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"
#include "tui/picture/album.h"
#include "tui/picture/kitty.h"
#include "tui/picture/scale.h"

#include <stdlib.h>
#include <string.h>

static picture made(size_t width, size_t height, void (*paint)(size_t x, size_t y, uint8_t *rgb))
{
    picture p = {height, width, 3, mem_array(width * height, 3)};
    for (size_t i = 0; i < width * height; i++)
        paint(i % width, i / width, p.pixels + i * 3);
    return p;
}

static void many_colors(size_t x, size_t y, uint8_t *rgb)
{
    rgb[0] = (uint8_t)x;
    rgb[1] = (uint8_t)y;
    rgb[2] = (uint8_t)(x ^ y);
}

static void three_colors(size_t x, size_t y, uint8_t *rgb)
{
    static const uint8_t all[3][3] = {{255, 0, 0}, {1, 2, 3}, {255, 255, 255}};
    memcpy(rgb, all[(x / 3 + y) % 3], 3);
}

TEST(few_colors_are_kept_as_they_are)
{
    picture p = made(31, 17, three_colors);
    sixel s;
    CHECK_INT(sixel_init(&s, &p, 256), 0);
    CHECK_INT(s.colors, 3);
    for (size_t i = 0; i < 31 * 17; i++)
        CHECK(memcmp(s.palette[s.pixels[i]], p.pixels + i * 3, 3) == 0);
    sixel_done(&s);
    picture_done(&p);
}

TEST(many_colors_become_those_that_differ_least)
{
    picture p = made(256, 256, many_colors);
    static const size_t limits[] = {2, 16, 256};
    double before = 1e9;
    for (size_t k = 0; k < ARRAY_LEN(limits); k++) {
        sixel s;
        double all = 0;
        CHECK_INT(sixel_init(&s, &p, limits[k]), 0);
        CHECK(s.colors <= limits[k] && s.colors > limits[k] / 2);
        for (size_t i = 0; i < 256 * 256; i++)
            for (int c = 0; c < 3; c++)
                all += abs(s.palette[s.pixels[i]][c] - p.pixels[i * 3 + (size_t)c]);
        all /= 256.0 * 256 * 3;
        CHECK(all < before);
        before = all;
        sixel_done(&s);
    }
    CHECK(before < 16);
    picture_done(&p);
}

TEST(a_part_beyond_the_picture_is_clipped)
{
    picture p = made(5, 7, three_colors);
    AUTO_BUF out = {0};
    sixel s;
    CHECK_INT(sixel_init(&s, &p, 256), 0);
    sixel_write(&s, 5, 0, 1, 1, &out);
    CHECK_INT(out.len, 0);
    sixel_write(&s, 3, 6, 100, 100, &out);
    CHECK(str_starts(buf_cstr(&out), "\x1bP0;1;0q\"1;1;2;1#"));
    sixel_done(&s);
    picture_done(&p);
}

TEST(a_new_pixel_is_the_average_of_those_it_covers)
{
    uint8_t rgba[] = {255, 0, 0, 255, 0, 0, 255, 255, 0, 255, 0, 255, 9, 9, 9, 0};
    picture small, large, p = {2, 2, 4, rgba};
    CHECK_INT(scale_picture(&p, 1, 1, &small), 0);
    CHECK_INT(small.pixels[0], (255 + 0 + 0 + 255 + 2) / 4); // what is transparent is white
    CHECK_INT(scale_picture(&p, 4, 4, &large), 0);
    CHECK(memcmp(large.pixels, "\xff\0\0\xff\0\0\0\0\xff", 9) == 0);
    picture_done(&small);
    picture_done(&large);
}

// A bundle with the PNG of a picture.
static cJSON *bundle_of(const picture *p)
{
    err e = {0};
    AUTO_BUF png = {0}, text = {0};
    CHECK_OK(picture_png(p, 0, 0, p->width, p->height, &png, &e) == 0, e);
    base64_encode(&text, png.data, png.len);
    cJSON *bundle = cJSON_CreateObject();
    json_set_str(bundle, "image/png", buf_cstr(&text));
    return bundle;
}

static cJSON *bundle_sized(size_t width, size_t height)
{
    picture p = made(width, height, three_colors);
    cJSON *bundle = bundle_of(&p);
    picture_done(&p);
    return bundle;
}

static struct album_picture found(album *a, size_t width, size_t height, int columns)
{
    struct album_picture p;
    AUTO_JSON *bundle = bundle_sized(width, height);
    CHECK(album_find(a, bundle, columns, 0, &p));
    return p;
}

TEST(a_picture_takes_as_many_cells_as_it_has_pixels_for)
{
    album *a = album_new();
    album_tell(a, &(struct album_terminal){WAY_SIXEL, 10, 20, 80, 24, 0});
    struct album_picture p = found(a, 200, 100, 76);
    CHECK(p.columns == 20 && p.rows == 5 && p.id);
    CHECK_INT(album_pixels(a, p.id)->width, 200);
    p = found(a, 2000, 100, 76); // too wide
    CHECK(p.columns == 76 && p.rows == 2);
    p = found(a, 400, 4000, 76); // too high: two thirds of the screen
    CHECK(p.columns == 3 && p.rows == 16);
    p = found(a, 28, 28, 76); // a digit is enlarged
    CHECK(p.columns == 6 && p.rows == 3);
    album_tell(a, &(struct album_terminal){WAY_BLOCKS, 10, 20, 80, 24, 0});
    p = found(a, 28, 28, 76);
    CHECK(p.columns == 28 && p.rows == 14 && p.blocks->height == 28 && !p.id);
    album_free(a);
}

TEST(what_is_shown_is_kept_and_what_was_longest_ago_is_not)
{
    album *a = album_new();
    album_tell(a, &(struct album_terminal){WAY_KITTY, 10, 20, 80, 24, 0});
    uint32_t first = found(a, 100, 100, 76).id, second = found(a, 101, 100, 76).id;
    CHECK_INT(found(a, 100, 100, 76).id, first); // nothing is decoded again
    for (size_t i = 0; i < ALBUM_PLACES + 4; i++) {
        CHECK(found(a, 102 + i, 100, 76).id != second);
        album_use(a, first);
    }
    CHECK(album_pixels(a, first) && !album_pixels(a, second));
    uint32_t again = found(a, 101, 100, 76).id;
    CHECK(again != second);
    album_free(a);
}

TEST(what_is_no_picture_or_too_large_is_refused)
{
    struct album_picture p;
    static const char *const texts[] = {"", "!", "iVBORw0KGgo=", "/9j/", "R0lGODlhAQABAAAAACw="};
    album *a = album_new();
    album_tell(a, &(struct album_terminal){WAY_KITTY, 10, 20, 80, 24, 0});
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_JSON *bundle = cJSON_CreateObject();
        json_set_str(bundle, "image/png", texts[i]);
        CHECK(!album_find(a, bundle, 76, 0, &p));
    }
    // a header that says 60000 × 60000
    AUTO_JSON *bundle = cJSON_CreateObject();
    AUTO_BUF text = {0};
    base64_encode(&text, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60\x08\2\0\0\0", 29);
    json_set_str(bundle, "image/png", buf_cstr(&text));
    CHECK(!album_find(a, bundle, 76, 0, &p));
    CHECK(!album_find(NULL, bundle, 76, 0, &p) && album_version(NULL) == 0);
    album_free(a);
}

TEST(kittys_marks_are_those_of_its_list)
{
    uint32_t points[KITTY_POINTS];
    kitty_cell(2u << 24 | 17, 1, 0, points);
    CHECK(points[0] == 0x10EEEE && points[1] == 0x305 && points[2] == 0x30D && points[3] == 0x30E);
    kitty_cell(17, KITTY_NUMBERS - 1, 10, points);
    CHECK(points[1] == 0x34B && points[2] == 0x1D244 && !points[3]);
    kitty_cell(17, KITTY_NUMBERS, 0, points);
    CHECK(!points[2]);
}

int main(void)
{
    return tap_run();
}
