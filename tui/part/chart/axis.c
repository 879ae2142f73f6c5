// SPDX-License-Identifier: MIT
#include "tui/part/chart/axis.h"

#include "base/mem.h"

#include <math.h>
#include <time.h>

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

const char *axis_name(enum axis a)
{
    static const char *const names[] = {
#define X(symbol, name, brief) [AXIS_##symbol] = (name),
        AXES(X)
#undef X
    };
    return names[a];
}

const char *axis_brief(enum axis a)
{
    static const char *const names[] = {
#define X(symbol, name, brief) [AXIS_##symbol] = (brief),
        AXES(X)
#undef X
    };
    return names[a];
}

static void count_words(double v, double step, buf *out)
{
    static const struct {
        double of;
        const char *mark;
    } units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (fabs(v) >= units[i].of && fmod(v, units[i].of / 10) == 0 &&
            (units[i].of > 1e3 || fabs(v) >= 1e4 || fmod(v, units[i].of) == 0)) {
            buf_fmt(out, "%.6g%s", v / units[i].of, units[i].mark);
            return;
        }
    buf_fmt(out, "%.6g", v);
}

// Round times, with `zero` (seconds) where the day begins.
static size_t time_ticks(double lo, double hi, int most, double zero, double out[PLOT_TICKS])
{
    static const int steps[] = {1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE,
        15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY,
        7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY};
    if (most < 1 || !(hi > lo))
        return 0;
    if (hi - lo < 2) // parts of a second
        return plot_ticks(lo, hi, most, false, out);
    size_t k = 0, n = 0;
    while (k + 1 < ARRAY_LEN(steps) && (hi - lo) / steps[k] > most)
        k++;
    for (double i = ceil((lo - zero) / steps[k]); zero + i * steps[k] <= hi && n < PLOT_TICKS; i++)
        out[n++] = zero + i * steps[k];
    return n;
}

static size_t since_ticks(double lo, double hi, int most, double out[PLOT_TICKS])
{
    return time_ticks(lo, hi, most, 0, out);
}

static size_t wall_ticks(double lo, double hi, int most, double out[PLOT_TICKS])
{
    time_t at = (time_t)lo;
    struct tm tm;
    localtime_r(&at, &tm);
    return time_ticks(lo, hi, most, -(double)tm.tm_gmtoff, out);
}

static void since_words(double v, double step, buf *out)
{
    double whole = fabs(v);
    if (whole < MINUTE)
        buf_fmt(out, step < 1 ? "%.2gs" : "%.0fs", v);
    else if (whole < HOUR)
        buf_fmt(out, step >= MINUTE ? "%.0fm" : "%.0fm%02.0fs", floor(v / MINUTE), fmod(v, MINUTE));
    else if (whole < DAY)
        buf_fmt(out, step >= HOUR ? "%.0fh" : "%.0fh%02.0fm", floor(v / HOUR),
            floor(fmod(v, HOUR) / MINUTE));
    else
        buf_fmt(out, step >= DAY ? "%.0fd" : "%.0fd%02.0fh", floor(v / DAY),
            floor(fmod(v, DAY) / HOUR));
}

static void wall_words(double v, double step, buf *out)
{
    time_t at = (time_t)floor(v + 1e-6);
    struct tm tm;
    char words[32];
    localtime_r(&at, &tm);
    strftime(words, sizeof words,
        step >= DAY      ? "%m-%d"
        : step >= MINUTE ? "%H:%M"
                         : "%H:%M:%S",
        &tm);
    buf_str(out, words);
}

void axis_words(enum axis a, struct plot *p)
{
    p->x_name = axis_brief(a);
    p->whole = a == AXIS_STEP || a == AXIS_EPOCH;
    p->words = a == AXIS_RELATIVE ? since_words : a == AXIS_WALL ? wall_words : count_words;
    p->ticks = a == AXIS_RELATIVE ? since_ticks : a == AXIS_WALL ? wall_ticks : NULL;
}

void axis_place(enum axis a, double x, buf *out)
{
    if (a == AXIS_RELATIVE) {
        since_words(x, x < 10 ? 0.1 : 1, out);
        return;
    }
    if (a == AXIS_WALL)
        wall_words(x, 1, out);
    else
        buf_fmt(out, "%s %.10g", axis_name(a), x);
}
