// SPDX-License-Identifier: MIT
#include "tests/support/tap.h"
#include "tui/grid/plot.h"

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

TEST(a_chart_has_axis_and_legend)
{
    const double loss[] = {0.9, 0.3, 0.123};
    struct series s = {.values = loss, .n = 3, .name = "loss"};
    grid *g = grid_new(40, 5);
    plot_chart(g, grid_area(g), &s, 1, false);
    CHECK_HAS(rows(g), "── loss 0.123");
    CHECK_HAS(rows(g), "   0.9 │");
    CHECK_HAS(rows(g), " 0.123 │");
    grid_resize(g, 5, 2);
    plot_chart(g, grid_area(g), &s, 1, false); // too small for an axis
    CHECK(!strstr(rows(g), "│"));
    grid_resize(g, 0, 0);
    plot_chart(g, grid_area(g), &s, 1, false);
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

TEST(a_sparkline_shows_the_newest)
{
    const double values[] = {9, 0, 7, 3.5};
    grid *g = grid_new(5, 1);
    plot_sparkline(g, grid_area(g), 0, 0, 3, values, 4, (style){0}, false);
    CHECK_STR(rows(g), "▁█▄\n");
    grid_clear(g);
    plot_sparkline(g, grid_area(g), 0, 0, 5, values, 4, (style){0}, false);
    CHECK_STR(rows(g), " █▁▆▄\n");
    grid_free(g);
}

int main(void)
{
    return tap_run();
}
