// SPDX-License-Identifier: MIT
// Which way to show pictures a terminal's answers lead to, and what is sent when. The terminal
// itself is in tests/screen/pictures.py.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tap.h"
#include "tui/picture/kitty.h"
#include "tui/term/pictured.h"

#include <string.h>

struct answers {
    const char *name;
    bool kitty, sixels;
    int cell;
};

static struct pictured opened(const struct term_options *o, int colors, bool utf8)
{
    struct pictured p;
    struct extras x = extras_of(o, true, false);
    pictured_init(&p, o, &x, colors, utf8);
    pictured_screen(&p, 80, 24, 0, 0);
    return p;
}

static void says(struct pictured *p, struct term_event ev)
{
    bool changed;
    CHECK(pictured_take(p, &ev, &changed));
}

static enum picture_way way_of(const struct term_options *options, int colors, struct answers a)
{
    struct term_options o = *options;
    album *pictures = o.album = album_new();
    struct pictured p = opened(&o, colors, true);
    struct term_event name = {.kind = EVENT_NAME};
    str_fit(name.name, sizeof name.name, a.name ? a.name : "");
    if (a.name)
        says(&p, name);
    if (a.kitty)
        says(&p, (struct term_event){.kind = EVENT_KITTY, .on = true});
    if (a.cell)
        says(&p, (struct term_event){.kind = EVENT_CELL_SIZE, .w = a.cell, .h = a.cell * 2});
    says(&p, (struct term_event){.kind = EVENT_DEVICE, .on = a.sixels});
    p.waited = 1; // it was asked long ago
    pictured_late(&p, INT64_MAX);
    enum picture_way way = album_terminal(pictures)->way;
    pictured_done(&p);
    album_free(pictures);
    return way;
}

TEST(answers_say_how_pictures_are_shown)
{
    const struct term_options plain = {.type = "xterm-256color"},
                              tmux = {.type = "tmux-256color", .tmux = true},
                              screen = {.type = "screen-256color", .screen = true};
    CHECK_INT(way_of(&plain, 256, (struct answers){"kitty(0.36)", true, false, 10}), WAY_KITTY);
    CHECK_INT(way_of(&plain, 256, (struct answers){"Konsole 24", true, true, 10}), WAY_KITTY);
    CHECK_INT(way_of(&plain, 256, (struct answers){"WezTerm 2024", true, true, 10}), WAY_ITERM2);
    CHECK_INT(way_of(&plain, 256, (struct answers){"XTerm(390)", false, true, 10}), WAY_SIXEL);
    CHECK_INT(
        way_of(&plain, 256, (struct answers){NULL, false, true, 0}), WAY_BLOCKS); // how large?
    CHECK_INT(way_of(&plain, 256, (struct answers){"VTE(7600)", false, false, 10}), WAY_BLOCKS);
    CHECK_INT(way_of(&plain, 8, (struct answers){NULL, false, false, 0}), WAY_NONE);
    CHECK_INT(way_of(&tmux, 256, (struct answers){"tmux 3.4", true, false, 10}), WAY_KITTY);
    CHECK_INT(way_of(&tmux, 256, (struct answers){"tmux 3.4", false, true, 10}), WAY_SIXEL);
    CHECK_INT(way_of(&tmux, 256, (struct answers){"tmux 3.3a", false, false, 10}), WAY_BLOCKS);
    CHECK_INT(way_of(&screen, 256, (struct answers){NULL, false, false, 0}), WAY_BLOCKS);
    const struct term_options forced = {.type = "xterm", .pictures = WAY_SIXEL};
    CHECK_INT(way_of(&forced, 8, (struct answers){NULL, false, false, 0}), WAY_SIXEL);
}

TEST(in_tmux_kittys_protocol_passes_through_with_numbers_of_its_own)
{
    const struct term_options o = {.type = "tmux-256color", .tmux = true};
    struct extras x = extras_of(&o, true, false);
    AUTO_BUF out = {0};
    extras_ask_pictures(&x, &out);
    CHECK_HAS(buf_cstr(&out), "\x1bPtmux;\x1b\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\x1b\\\x1b\\");
    struct pictured p = opened(&o, 256, true);
    CHECK(pictured_number(&p, 1) >> 24 && (pictured_number(&p, 1) & 0xFFFFFF) == 17);
    pictured_done(&p);
}

// A picture of 4 × 3 cells in the lower left corner of a screen with 24 rows.
TEST(the_last_row_has_no_pixels)
{
    err e = {0};
    picture black = {60, 40, 3, mem_array(60 * 40, 3)};
    AUTO_BUF png = {0}, text = {0}, out = {0};
    CHECK_OK(picture_png(&black, 0, 0, 40, 60, &png, &e) == 0, e);
    base64_encode(&text, png.data, png.len);
    AUTO_JSON *bundle = cJSON_CreateObject();
    json_set_str(bundle, "image/png", buf_cstr(&text));
    const struct term_options o = {.type = "xterm", .album = album_new(), .pictures = WAY_SIXEL};
    struct pictured p = opened(&o, 256, true);
    struct album_picture one;
    CHECK(album_find(o.album, bundle, 80, 0, &one) && one.columns == 4 && one.rows == 3);
    grid *g = grid_new(80, 24), *before = grid_new(80, 24);
    album_draw(&one, g, grid_area(g), 0, 21);
    for (int y = 21; y < 24; y++)
        for (int x = 0; x < 4; x++)
            pictured_touch(&p, x, y, grid_at(before, x, y), grid_at(g, x, y), 1);
    pictured_show(&p, g, 2, &out);
    CHECK(out.len == 0 && pictured_wait_ms(&p, 2) > 0); // it may still move
    pictured_show(&p, g, CLOCK_SEC, &out);
    CHECK_HAS(buf_cstr(&out), "\x1b[22;1H\x1bP0;1;0q\"1;1;40;40#"); // two rows of 20 pixels
    buf_clear(&out);
    pictured_show(&p, g, 2 * CLOCK_SEC, &out);
    CHECK(out.len == 0 && pictured_wait_ms(&p, 2 * CLOCK_SEC) == -1);
    pictured_done(&p);
    album_free(o.album);
    picture_done(&black);
    grid_free(before);
    grid_free(g);
}

int main(void)
{
    return tap_run();
}
