// SPDX-License-Identifier: MIT
// The parts of a chart of metrics: smoothing, columns, bands, names, axes.
#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tap.h"
#include "tui/part/chart/axis.h"
#include "tui/part/chart/sampled.h"
#include "tui/part/chart/smooth.h"
#include "tui/view/metrics/naming.h"

#include <math.h>
#include <string.h>

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

// The values are those of TensorBoard's resmoothDataset: last ← w·last + (1 − w)·v, over 1 − wⁿ.
TEST(smoothing_is_not_drawn_to_0_at_the_beginning)
{
    struct smooth s = smooth_of(0.5);
    CHECK(near(smooth_next(&s, 4), 4));
    CHECK(near(smooth_next(&s, 1), 2));        // (0.25·4 + 0.5·1) / 0.75
    CHECK(near(smooth_next(&s, 1), 10 / 7.0)); // (0.5·1.5 + 0.5) / 0.875
    CHECK(isnan(smooth_next(&s, NAN)));        // it does not count
    CHECK(near(smooth_next(&s, 1), 18 / 15.0));
    s = smooth_of(0);
    CHECK(smooth_next(&s, 7) == 7);
    s = smooth_of(0.999);
    for (int i = 0; i < 1000; i++)
        CHECK(near(smooth_next(&s, 3), 3)); // what is constant stays so
}

static struct sampled sampled_of(size_t columns, size_t n, double (*f)(size_t i))
{
    struct sampled s;
    sampled_init(&s, columns, 0, 0);
    for (size_t i = 0; i < n; i++)
        sampled_add(&s, (double)i, f(i));
    return s;
}

static double spike(size_t i)
{
    return i == 77777 ? 9 : i == 5 ? -9 : sin((double)i / 1000);
}

TEST(no_spike_is_lost_and_few_points_are_drawn)
{
    struct sampled s = sampled_of(256, 100000, spike);
    double *x = mem_array(256 * SAMPLED_POINTS, sizeof *x),
           *y = mem_array(256 * SAMPLED_POINTS, sizeof *y), lo = INFINITY, hi = -INFINITY, from, to;
    size_t n = sampled_curve(&s, x, y), used = 0;
    for (size_t i = 0; i < n; i++) {
        lo = fmin(lo, y[i]);
        hi = fmax(hi, y[i]);
        CHECK(i == 0 || x[i] >= x[i - 1]);
    }
    for (size_t i = 0; i < s.n; i++)
        used += s.columns[i].n > 0;
    CHECK(lo == -9 && hi == 9);
    CHECK(used >= 128); // at most half of the columns are free
    CHECK(sampled_extent(&s, &from, &to) && from == 0 && to == 99999);
    sampled_done(&s);
    free(x);
    free(y);
}

static double square(size_t i)
{
    return (double)(i * i);
}

TEST(few_values_stay_as_they_are)
{
    struct sampled s = sampled_of(64, 5, square);
    double x[64 * SAMPLED_POINTS], y[64 * SAMPLED_POINTS];
    CHECK_INT(sampled_curve(&s, x, y), 5);
    for (size_t i = 0; i < 5; i++)
        CHECK(x[i] == (double)i && y[i] == square(i));
    sampled_add(&s, -3, 1); // before the first
    CHECK_INT(sampled_curve(&s, x, y), 6);
    CHECK(x[0] == -3 && y[0] == 1);
    sampled_add(&s, 2.5, NAN); // a gap
    sampled_add(&s, NAN, 1);   // has no place
    CHECK_INT(sampled_curve(&s, x, y), 7);
    sampled_done(&s);
    sampled_init(&s, 64, 10, 20); // a piece
    for (int i = 0; i < 100; i++)
        sampled_add(&s, i, i);
    CHECK_INT(sampled_curve(&s, x, y), 11);
    CHECK(x[0] == 10 && x[10] == 20);
    sampled_done(&s);
}

static double up(size_t i)
{
    return (double)i;
}
static double up_more(size_t i)
{
    return (double)i + 4;
}
static double up_most(size_t i)
{
    return (double)i + 8;
}

TEST(a_band_has_mean_ends_and_deviation)
{
    struct sampled one = sampled_of(64, 11, up), two = sampled_of(64, 11, up_more),
                   three = sampled_of(64, 5, up_most); // ends earlier
    const struct sampled *curves[] = {&one, &two, &three};
    double x[11], mean[11], low[11], high[11];
    sampled_band(curves, 3, 0, 10, false, 11, x, mean, low, high);
    CHECK(near(mean[2], 6) && near(low[2], 2) && near(high[2], 10));
    CHECK(near(mean[8], 10) && near(low[8], 8) && near(high[8], 12)); // of two
    sampled_band(curves, 3, 0, 10, true, 11, x, mean, low, high);
    CHECK(near(mean[2], 6) && near(low[2], 2) && near(high[2], 10)); // of 2, 6, 10 it is 4
    sampled_band(curves, 2, 0, 10, false, 3, x, mean, low, high);
    CHECK(near(x[1], 5) && near(mean[1], 7));
    sampled_band(curves, 2, 20, 30, false, 3, x, mean, low, high);
    CHECK(isnan(mean[1])); // beyond their ends
    sampled_done(&one);
    sampled_done(&two);
    sampled_done(&three);
}

TEST(outliers_do_not_count_for_the_range)
{
    struct sampled s = sampled_of(64, 60, up);
    const struct sampled *curves[] = {&s};
    double lo, hi;
    sampled_add(&s, 60, 1e6);
    CHECK(sampled_robust(curves, 1, 0, 60, &lo, &hi));
    CHECK(lo < 4 && hi < 70);
    CHECK(!sampled_robust(curves, 1, 100, 200, &lo, &hi));
    sampled_done(&s);
}

static cJSON *params(const char *words)
{
    return json_parse(words, strlen(words), NULL);
}

// What naming_of makes of them, with a comma between.
static const char *names_of(struct named *lines, size_t n)
{
    static buf all;
    char **names = naming_of(lines, n);
    buf_clear(&all);
    for (size_t i = 0; i < n; i++)
        buf_fmt(&all, "%s%s", i ? ", " : "", names[i]);
    strv_free(names);
    return buf_cstr(&all);
}

TEST(curves_are_called_by_what_differs)
{
    AUTO_JSON *a = params("{\"lr\":0.1,\"units\":64,\"seed\":1}");
    AUTO_JSON *b = params("{\"lr\":0.01,\"units\":64,\"seed\":1}");
    AUTO_JSON *c = params("{\"lr\":0.01,\"units\":64,\"seed\":2}");
    struct named lines[] = {{.run = "train-20260102-030405-1a2b", .metric = "loss", .params = a},
        {.run = "train-20260102-030405-3c4d", .metric = "loss", .params = b},
        {.run = "train-20260102-030405-5e6f", .metric = "loss", .params = c}};
    CHECK_STR(names_of(lines, 1), "loss");
    CHECK_STR(names_of(lines, 2), "lr=0.1, lr=0.01");
    CHECK_STR(names_of(lines, 3), "lr=0.1 seed=1, lr=0.01 seed=1, lr=0.01 seed=2");
    lines[1].params = a; // no parameter tells them apart: the ends of their names do
    CHECK_STR(names_of(lines, 2), "1a2b, 3c4d");
    lines[1].metric = "val_loss";
    CHECK_STR(names_of(lines, 2), "loss, val_loss");
    lines[0].branch = "rank 0";
    lines[1].branch = "rank 1";
    lines[1].metric = "loss";
    CHECK_STR(names_of(lines, 2), "rank 0, rank 1");
    struct named trials[] = {{.run = "r-0001", .child = "digits/1", .metric = "loss", .params = a},
        {.run = "r-0001", .child = "digits/2", .metric = "loss", .params = a},
        {.run = "r-0002", .child = "digits/2", .metric = "loss", .params = a}};
    CHECK_STR(names_of(trials, 2), "digits/1, digits/2");
    CHECK_STR(names_of(trials, 3), "digits/1, digits/2 0001, digits/2 0002");
}

TEST(repeats_differ_in_their_seed_alone)
{
    AUTO_JSON *a = params("{\"lr\":0.1,\"seed\":1}");
    AUTO_JSON *b = params("{\"lr\":0.1,\"seed\":2}");
    AUTO_JSON *c = params("{\"lr\":0.2,\"seed\":1}");
    AUTO_JSON *d = params("{\"lr\":0.1,\"model.seed\":3}");
    struct named lines[] = {{.metric = "loss", .params = a}, {.metric = "loss", .params = b},
        {.metric = "loss", .params = c}, {.metric = "loss", .params = d},
        {.metric = "accuracy", .params = a}};
    size_t group[5];
    naming_repeats(lines, 5, group);
    CHECK(group[0] == 0 && group[1] == 0 && group[2] == 2 && group[3] == 0 && group[4] == 4);
    lines[1].notebook = "/other.lua";
    naming_repeats(lines, 2, group);
    CHECK(group[1] == 1);
}

static const char *words_of(enum axis a, double v, double step)
{
    static buf words;
    struct plot p = {0};
    axis_words(a, &p);
    buf_clear(&words);
    p.words(v, step, &words);
    return buf_cstr(&words);
}

TEST(steps_and_times_are_short)
{
    CHECK_STR(words_of(AXIS_STEP, 20000, 5000), "20k");
    CHECK_STR(words_of(AXIS_STEP, 950, 50), "950");
    CHECK_STR(words_of(AXIS_STEP, 2500000, 500000), "2.5M");
    CHECK_STR(words_of(AXIS_RELATIVE, 45, 5), "45s");
    CHECK_STR(words_of(AXIS_RELATIVE, 90, 30), "1m30s");
    CHECK_STR(words_of(AXIS_RELATIVE, 5400, 1800), "1h30m");
    CHECK_STR(words_of(AXIS_RELATIVE, 90000, 3600), "1d01h");
    struct plot p = {0};
    double ticks[PLOT_TICKS];
    axis_words(AXIS_RELATIVE, &p);
    CHECK_INT(p.ticks(0, 600, 5, ticks), 6); // every two minutes
    CHECK(ticks[1] == 120);
    AUTO_BUF place = {0};
    axis_place(AXIS_STEP, 123456, &place);
    CHECK_STR(buf_cstr(&place), "step 123456");
}

int main(void)
{
    return tap_run();
}
