// SPDX-License-Identifier: MIT
#include "tests/support/tap.h"
#include "tui/grid/grid.h"

static const char *row(const grid *g, int y)
{
    static buf text;
    buf_clear(&text);
    grid_row_text(g, y, &text);
    return buf_cstr(&text);
}

static int put(grid *g, int x, int y, const char *s)
{
    return grid_put(g, grid_area(g), x, y, s, strlen(s), (style){0});
}

TEST(text_is_clipped_on_both_sides)
{
    grid *g = grid_new(6, 2);
    CHECK_INT(put(g, -2, 0, "abcdefghij"), 10);
    CHECK_STR(row(g, 0), "cdefgh");
    grid_put(g, (rect){2, 1, 2, 1}, 0, 1, "abcdef", 6, (style){0});
    CHECK_STR(row(g, 1), "  cd");
    CHECK_INT(put(g, 0, 7, "out"), 3);
    grid_free(g);
}

TEST(wide_characters_are_whole_or_blank)
{
    grid *g = grid_new(5, 1);
    put(g, 0, 0, "a漢b");
    CHECK_STR(row(g, 0), "a漢b");
    CHECK_INT(grid_at(g, 1, 0)->width, 2);
    CHECK_INT(grid_at(g, 2, 0)->width, 0);
    put(g, 2, 0, "x"); // over the tail
    CHECK_STR(row(g, 0), "a xb");
    put(g, 0, 0, "a漢b");
    put(g, 1, 0, "y"); // over the head
    CHECK_STR(row(g, 0), "ay b");
    put(g, 4, 0, "漢"); // half outside
    CHECK_STR(row(g, 0), "ay b");
    put(g, -1, 0, "漢z");
    CHECK_STR(row(g, 0), " z b");
    put(g, 0, 0, "漢字x");
    put(g, 1, 0, "漢"); // over two halves
    CHECK_STR(row(g, 0), " 漢 x");
    grid_free(g);
}

TEST(marks_join_their_base_and_joiners_are_dropped)
{
    grid *g = grid_new(8, 1);
    CHECK_INT(put(g, 0, 0, "e\xcc\x81x"), 2);
    CHECK_INT(grid_at(g, 0, 0)->points[1], 0x301);
    CHECK_STR(row(g, 0), "e\xcc\x81x");
    put(g, 0, 0,
        "a\xe2\x80\xae"
        "b"); // right-to-left override
    CHECK_STR(row(g, 0), "ab");
    put(g, 0, 0, "e\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85."); // more marks than a cell holds
    CHECK_INT(grid_at(g, 1, 0)->points[0], '.');
    grid_free(g);
}

// The columns of a cluster are the same on every terminal, because none gets what it could join.
TEST(a_cluster_has_the_cells_of_its_code_points)
{
    grid *g = grid_new(12, 1);
    CHECK_INT(put(g, 0, 0, "\U0001F468\u200D\U0001F469\u200D\U0001F467x"), 7);
    CHECK_STR(row(g, 0), "\U0001F468\U0001F469\U0001F467x");
    grid_clear(g);
    CHECK_INT(put(g, 0, 0, "\U0001F44D\U0001F3FDx"), 5); // a skin tone is blank
    CHECK_STR(row(g, 0), "\U0001F44D  x");
    CHECK_INT(put(g, 0, 0, "- \U0001F3FD"), 4); // on its own it is seen
    CHECK_INT(grid_at(g, 2, 0)->points[0], 0x1F3FD);
    grid_clear(g);
    CHECK_INT(put(g, 0, 0, "\u1100\u1161\u11A8x"), 3);
    CHECK_INT(grid_at(g, 0, 0)->points[2], 0x11A8);
    CHECK_INT(put(g, 0, 0, "\u0915\u094D\u0937\u093Fx"), 4);
    CHECK_STR(row(g, 0), "\u0915\u094D\u0937\u093Fx");
    grid_free(g);
}

TEST(no_control_byte_gets_into_a_cell)
{
    grid *g = grid_new(20, 1);
    for (int c = 1; c < 0x20; c++) {
        char text[] = {'a', (char)c, 'b', '\0'};
        put(g, 0, 0, text);
        CHECK(grid_at(g, 1, 0)->points[0] == (c == '\t' ? ' ' : 0xFFFD));
    }
    grid_clear(g);
    put(g, 0, 0,
        "\xc2\x9b"
        "31m\x7f");
    CHECK_STR(row(g, 0), "\xef\xbf\xbd"
                         "31m\xef\xbf\xbd");
    grid_free(g);
}

TEST(tabs_go_to_columns_of_eight)
{
    grid *g = grid_new(12, 1);
    CHECK_INT(put(g, 1, 0, "a\tb"), 9);
    CHECK_STR(row(g, 0), " a       b");
    grid_free(g);
}

TEST(too_long_ends_in_an_ellipsis)
{
    grid *g = grid_new(10, 3);
    CHECK_INT(grid_put_short(g, grid_area(g), 0, 0, 5, "abcdefgh", 8, (style){0}), 5);
    CHECK_STR(row(g, 0), "abcd…");
    CHECK_INT(grid_put_short(g, grid_area(g), 0, 1, 5, "漢字漢", 9, (style){0}), 5);
    CHECK_STR(row(g, 1), "漢字…");
    CHECK_INT(grid_put_short(g, grid_area(g), 0, 2, 5, "abcde", 5, (style){0}), 5);
    CHECK_STR(row(g, 2), "abcde");
    grid_free(g);
}

TEST(a_box_has_its_title)
{
    grid *g = grid_new(12, 3);
    grid_box(g, grid_area(g), (style){0}, "a long title");
    CHECK_STR(row(g, 0), "┌─ a lon… ─┐");
    CHECK_STR(row(g, 1), "│          │");
    CHECK_STR(row(g, 2), "└──────────┘");
    grid_free(g);
}

static void note(void *arg, int x, int y, int n)
{
    buf_fmt(arg, "%d,%d+%d ", x, y, n);
}

TEST(the_difference_is_runs_of_whole_characters)
{
    grid *was = grid_new(10, 2), *now = grid_new(10, 2);
    AUTO_BUF runs = {0};
    put(was, 0, 0, "hello");
    put(now, 0, 0, "hexxo");
    put(now, 4, 1, "漢");
    grid_diff(was, now, note, &runs);
    CHECK_STR(buf_cstr(&runs), "2,0+2 4,1+2 ");
    buf_clear(&runs);
    grid_diff(now, now, note, &runs);
    CHECK_STR(buf_cstr(&runs), "");
    grid_copy(was, now);
    grid_restyle(now, (rect){5, 1, 1, 1}, (style){.attrs = ATTR_REVERSE}); // the tail alone
    grid_diff(was, now, note, &runs);
    CHECK_STR(buf_cstr(&runs), "4,1+2 ");
    buf_clear(&runs);
    grid_resize(was, 3, 3);
    grid_diff(was, now, note, &runs);
    CHECK_STR(buf_cstr(&runs), "0,0+10 0,1+10 ");
    grid_free(was);
    grid_free(now);
}

TEST(styles_lie_over_each_other)
{
    style s = style_over((style){COLOR_INDEX(1), COLOR_INDEX(2), ATTR_BOLD},
        (style){COLOR_NONE, COLOR_INDEX(4), ATTR_UNDERLINE});
    CHECK(s.fg == COLOR_INDEX(1) && s.bg == COLOR_INDEX(4));
    CHECK_INT(s.attrs, ATTR_BOLD | ATTR_UNDERLINE);
}

TEST(colours_come_down_to_the_nearest)
{
    CHECK_INT(color_to_256(COLOR_RGB(255, 0, 0)), COLOR_INDEX(196));
    CHECK_INT(color_to_256(COLOR_RGB(128, 128, 128)), COLOR_INDEX(244));
    CHECK_INT(color_to_256(COLOR_INDEX(77)), COLOR_INDEX(77));
    CHECK_INT(color_to_16(COLOR_RGB(250, 5, 5)), COLOR_INDEX(9));
    CHECK_INT(color_to_16(COLOR_INDEX(196)), COLOR_INDEX(9));
    CHECK_INT(color_to_16(COLOR_NONE), COLOR_NONE);
    CHECK_INT(color_to_16(COLOR_INDEX(3)), COLOR_INDEX(3));
}

TEST(a_cursor_outside_is_hidden)
{
    grid *g = grid_new(4, 4);
    int x, y;
    CHECK(!grid_cursor(g, &x, &y));
    grid_set_cursor(g, 3, 3);
    CHECK(grid_cursor(g, &x, &y) && x == 3 && y == 3);
    grid_set_cursor(g, 4, 0);
    CHECK(!grid_cursor(g, &x, &y));
    grid_free(g);
}

TEST(a_picture_fills_cells_and_no_text_does)
{
    grid *g = grid_new(6, 3);
    AUTO_BUF row = {0};
    grid_put(g, grid_area(g), 0, 0, "abcdef", 6, (style){0});
    grid_put_picture(g, (rect){0, 0, 5, 2}, (rect){2, -1, 10, 10}, 7);
    struct grid_part part = grid_part_of(grid_at(g, 4, 1));
    CHECK(part.picture == 7 && part.column == 2 && part.row == 2);
    CHECK(!grid_part_of(grid_at(g, 5, 0)).picture && !grid_part_of(grid_at(g, 2, 2)).picture);
    grid_row_text(g, 0, &row);
    CHECK_STR(buf_cstr(&row), "ab   f");
    style was = grid_at(g, 3, 0)->style;
    grid_restyle(g, grid_area(g), (style){.attrs = ATTR_DIM});
    CHECK(style_equal(grid_at(g, 3, 0)->style, was));
    const char *text = "\U0010EEEE\u0305\u0305";
    grid_put(g, grid_area(g), 0, 2, text, strlen(text), (style){0});
    CHECK(!grid_part_of(grid_at(g, 0, 2)).picture && grid_at(g, 0, 2)->points[0] == 0xFFFD);
    grid_put(g, grid_area(g), 2, 0, "x", 1, (style){0}); // it covers the picture there
    CHECK(!grid_part_of(grid_at(g, 2, 0)).picture && grid_part_of(grid_at(g, 3, 0)).picture);
    grid_free(g);
}

int main(void)
{
    return tap_run();
}
