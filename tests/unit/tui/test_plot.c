// SPDX-License-Identifier: MIT
#include "tests/support/tap.h"
#include "tui/grid/plot.h"

#include <math.h>
#include <string.h>

static const char *rows(const grid *g)
{
    static buf text;
    buf_clear(&text);
    for (int y = 0; y < grid_area(g).h; y++) {
        AUTO_BUF row = {0};
        grid_row_text(g, y, &row);
        buf_fmt(&text, "%s\n", buf_cstr(&row));
    }
    return buf_cstr(&text);
}

TEST(a_falling_line_in_braille_and_ascii)
{
    const double values[] = {3, 2, 1, 0};
    struct series s = {.values = values, .n = 4};
    grid *g = grid_new(2, 1);
    plot_curves(g, grid_area(g), &s, 1, 0, 3, false);
    CHECK_STR(rows(g), "⠑⢄\n"); // dots 1 and 5, then 3 and 8
    grid_resize(g, 4, 4);
    plot_curves(g, grid_area(g), &s, 1, 0, 3, true);
    CHECK_STR(rows(g), "*\n *\n  *\n   *\n");
    grid_free(g);
}

TEST(a_spike_among_many_values_is_seen)
{
    double values[1000] = {0};
    values[501] = 1;
    struct series s = {.values = values, .n = 1000};
    grid *g = grid_new(10, 2);
    plot_curves(g, grid_area(g), &s, 1, 0, 1, true);
    CHECK_HAS(rows(g), "*");
    CHECK(rows(g)[0] != '\n');
    grid_free(g);
}

TEST(what_is_not_finite_leaves_a_gap)
{
    const double values[] = {1, NAN, INFINITY, 1};
    struct series s = {.values = values, .n = 4};
    double lo, hi;
    CHECK(plot_range(&s, 1, &lo, &hi));
    CHECK(lo < 1 && hi > 1); // flat, so widened
    grid *g = grid_new(4, 1);
    plot_curves(g, grid_area(g), &s, 1, lo, hi, true);
    CHECK_STR(rows(g), "*  *\n");
    struct series none = {.values = values + 1, .n = 2};
    CHECK(!plot_range(&none, 1, &lo, &hi));
    grid_free(g);
}

TEST(no_number_of_an_axis_gives_way_to_its_name)
{
    const double loss[] = {5, 4, 3, 2, 1}, epochs[] = {1, 2, 3, 4, 5};
    struct series s = {.values = loss, .n = 5, .x = epochs};
    struct plot p = {.series = &s, .n = 1, .x_name = "epoch", .whole = true};
    grid *g = grid_new(36, 12);
    plot_chart(g, grid_area(g), &p);
    CHECK_HAS(rows(g), " epoch  1      2      3     4      5\n");
    grid_free(g);
}

TEST(a_chart_has_axes_and_legend)
{
    const double loss[] = {0.9, 0.3, 0.123}, epochs[] = {3, 4, 5};
    struct series s = {.values = loss, .n = 3, .name = "loss"};
    struct plot p = {.series = &s, .n = 1};
    grid *g = grid_new(40, 5);
    plot_chart(g, grid_area(g), &p);
    CHECK_HAS(rows(g), "── loss 0.123");
    CHECK_HAS(rows(g), "   0.9 ┤"); // no room for round numbers: what there is
    CHECK_HAS(rows(g), " 0.123 ┤");
    CHECK(!strstr(rows(g), "epoch"));
    grid_resize(g, 40, 12);
    grid_clear(g);
    s.x = epochs;
    p.x_name = "epoch";
    p.whole = true;
    plot_chart(g, grid_area(g), &p);
    CHECK_HAS(rows(g), "   0.4 ┤");
    CHECK_HAS(rows(g), "   0.6 ┤");
    CHECK_HAS(rows(g), "       3               4        epoch 5\n");
    p.x_name = "a name for which there is hardly any room";
    plot_chart(g, grid_area(g), &p); // then the number gives way
    CHECK_HAS(rows(g), "       or which there is hardly any room");
    p.x_name = "epoch";
    grid_resize(g, 5, 2);
    grid_clear(g);
    plot_chart(g, grid_area(g), &p); // too small for axes
    CHECK(!strstr(rows(g), "│") && !strstr(rows(g), "┤"));
    grid_resize(g, 0, 0);
    plot_chart(g, grid_area(g), &p);
    grid_free(g);
}

TEST(points_are_not_joined)
{
    const double values[] = {0, 3, NAN, 0};
    struct series s = {.values = values, .n = 4};
    struct plot p = {.series = &s, .n = 1, .points = true, .ascii = true};
    grid *g = grid_new(7, 2); // too small for axes
    plot_chart(g, grid_area(g), &p);
    CHECK_STR(rows(g), "  *\n*     *\n");
    p.points = false;
    grid_clear(g);
    plot_chart(g, grid_area(g), &p);
    CHECK(!strstr(rows(g), "  *\n*     *\n"));
    p.points = true;
    p.ascii = false;
    grid_resize(g, 2, 1);
    grid_clear(g);
    plot_chart(g, grid_area(g), &p); // 2×2 dots each
    CHECK_STR(rows(g), "⣼⣧\n");
    grid_free(g);
}

TEST(intervals_stand_at_their_values)
{
    const double values[] = {2, 1, 2}, low[] = {0, NAN, 1}, high[] = {3, 9, 2};
    struct series s = {.values = values, .n = 3, .low = low, .high = high};
    struct plot p = {.series = &s, .n = 1, .points = true, .ascii = true};
    grid *g = grid_new(5, 2);        // too small for axes
    plot_chart(g, grid_area(g), &p); // the scale reaches from 0 to 9: what has one end alone counts
    CHECK_STR(rows(g), "\n* * *\n");
    s.high = (const double[]){3, NAN, 2};
    grid_resize(g, 5, 4);
    grid_clear(g);
    plot_chart(g, grid_area(g), &p); // from 0 to 3
    CHECK_STR(rows(g), "*\n*   *\n* * *\n*\n");
    grid_free(g);
}

TEST(ticks_are_round_numbers)
{
    double out[PLOT_TICKS];
    CHECK_INT(plot_ticks(0.061, 0.36, 3, false, out), 3);
    CHECK(out[0] > 0.0999 && out[0] < 0.1001 && out[2] > 0.2999 && out[2] < 0.3001);
    CHECK_INT(plot_ticks(1, 5, 8, true, out), 5); // no half epochs
    CHECK(out[0] == 1 && out[4] == 5);
    CHECK_INT(plot_ticks(-1, 1, 2, false, out), 3);
    CHECK(out[1] == 0 && !signbit(out[1]));
    CHECK_INT(plot_ticks(5, 5, 3, false, out), 0);
    CHECK_INT(plot_ticks(0, INFINITY, 3, false, out), 0);
    CHECK(plot_ticks(0, 1e300, 15, false, out) <= PLOT_TICKS);
}

TEST(names_are_whole_when_there_is_room_and_short_when_there_is_not)
{
    const double v[] = {0.5, 0.98125};
    struct series s[] = {
        {.values = v, .n = 2, .name = "accuracy"}, {.values = v, .n = 2, .name = "val_accuracy"}};
    struct plot p = {.series = s, .n = 2};
    grid *g = grid_new(60, 6);
    plot_chart(g, grid_area(g), &p);
    CHECK_HAS(rows(g), "── accuracy 0.9812  ── val_accuracy 0.9812");
    grid_resize(g, 34, 6);
    grid_clear(g);
    plot_chart(g, grid_area(g), &p);
    CHECK_HAS(rows(g), "─ acc 0.9812  ─ val_acc 0.9812");
    grid_free(g);
}

TEST(a_cursor_reads_and_a_logarithm_spreads)
{
    const double v[] = {1000, 100, 10, 1, 0};
    struct series s = {.values = v, .n = 5, .name = "loss"};
    double at = 2;
    struct plot p = {.series = &s, .n = 1, .log = true, .at = &at, .ascii = true};
    grid *g = grid_new(13, 6);
    plot_chart(g, grid_area(g), &p);
    CHECK_HAS(rows(g), "- loss 10");
    CHECK_HAS(rows(g), "  1000 +*"); // each power of ten a row, and a gap for what has none
    CHECK_HAS(rows(g), "     1 +  │*");
    const double near[] = {0.2, 0.05};
    struct series within = {.values = near, .n = 2};
    grid_resize(g, 13, 12);
    grid_clear(g);
    plot_chart(
        g, grid_area(g), &(struct plot){.series = &within, .n = 1, .log = true, .ascii = true});
    CHECK_HAS(rows(g), "  0.15 +"); // between two powers: any round numbers, each with its digits
    CHECK_HAS(rows(g), "  0.20 +");
    grid_resize(g, 13, 6);
    p.log = false;
    p.from = 2;
    p.to = 3;
    grid_clear(g);
    plot_chart(g, grid_area(g), &p);
    CHECK_HAS(rows(g), "    10 +*"); // the range of what is shown
    grid_free(g);
}

TEST(progress_is_never_full_before_the_end)
{
    grid *g = grid_new(4, 1);
    plot_progress(g, grid_area(g), 0, 0, 4, 0.5, (style){0}, false);
    CHECK_STR(rows(g), "██──\n");
    plot_progress(g, grid_area(g), 0, 0, 4, 0.999, (style){0}, false);
    CHECK_STR(rows(g), "███▉\n");
    plot_progress(g, grid_area(g), 0, 0, 4, 7, (style){0}, false);
    CHECK_STR(rows(g), "████\n");
    plot_progress(g, grid_area(g), 0, 0, 4, 0.6, (style){0}, true);
    CHECK_STR(rows(g), "##--\n");
    plot_progress(g, grid_area(g), 0, 0, 4, NAN, (style){0}, true);
    CHECK_STR(rows(g), "----\n");
    grid_free(g);
}

int main(void)
{
    return tap_run();
}
