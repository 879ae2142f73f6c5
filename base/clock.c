// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * CLOCK_SEC + t.tv_nsec;
}

int64_t clock_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_mono(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_thread(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_of_seconds(double seconds)
{
    double ns = seconds * (double)CLOCK_SEC;
    if (isnan(ns))
        return 0;
    if (ns >= (double)INT64_MAX)
        return INT64_MAX;
    return ns <= (double)INT64_MIN ? INT64_MIN : (int64_t)ns;
}

int64_t clock_add(int64_t ns, int64_t more)
{
    int64_t sum;
    if (__builtin_add_overflow(ns, more, &sum))
        return more < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

// Writes n digits and returns where they end.
static char *put_digits(char *out, int value, int n)
{
    for (int i = n; i-- > 0; value /= 10)
        out[i] = (char)('0' + value % 10);
    return out + n;
}

void clock_rfc3339(buf *out, int64_t wall_ns, enum clock_precision precision)
{
    int64_t fraction = wall_ns % CLOCK_SEC;
    time_t seconds = (time_t)(wall_ns / CLOCK_SEC);
    if (fraction < 0) {
        fraction += CLOCK_SEC;
        seconds--;
    }
    struct tm tm;
    gmtime_r(&seconds, &tm);
    const int values[] = {
        tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec};
    char text[sizeof "YYYY-MM-DDTHH:MM:SS.NNNNNNNNNZ"], *end = text;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        end = put_digits(end, values[i], i ? 2 : 4);
        if (i < 5)
            *end++ = "--T::"[i];
    }
    if (precision != CLOCK_SECONDS)
        *end++ = '.';
    if (precision == CLOCK_MICROS)
        end = put_digits(end, (int)(fraction / 1000), 6);
    else if (precision == CLOCK_NANOS)
        end = put_digits(end, (int)fraction, 9);
    *end++ = 'Z';
    buf_add(out, text, (size_t)(end - text));
}

// Reads exactly n digits; false when there are fewer.
static bool digits(const char **p, int n, int *value)
{
    *value = 0;
    for (; n; n--, (*p)++) {
        if (!isdigit((unsigned char)**p))
            return false;
        *value = *value * 10 + (**p - '0');
    }
    return true;
}

static bool literal(const char **p, const char *any_of)
{
    if (!**p || !strchr(any_of, **p))
        return false;
    (*p)++;
    return true;
}

static bool parse_offset(const char **p, int *seconds)
{
    *seconds = 0;
    if (literal(p, "Zz"))
        return true;
    int sign = **p == '-' ? -1 : 1, hours, minutes;
    if (!literal(p, "+-") || !digits(p, 2, &hours) || !literal(p, ":") || !digits(p, 2, &minutes))
        return false;
    *seconds = sign * (hours * 3600 + minutes * 60);
    return hours < 24 && minutes < 60;
}

// Days from 1 January 1970 in the Gregorian calendar. Here a year begins in March, so the leap day
// is its last day.
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400, of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year + day - 1 - 719468;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

int clock_parse_rfc3339(const char *text, int64_t *wall_ns, err *e)
{
    const char *p = text;
    struct tm tm = {0};
    int offset, nanos = 0;
    bool ok = digits(&p, 4, &tm.tm_year) && literal(&p, "-") && digits(&p, 2, &tm.tm_mon) &&
              literal(&p, "-") && digits(&p, 2, &tm.tm_mday) && literal(&p, "Tt ") &&
              digits(&p, 2, &tm.tm_hour) && literal(&p, ":") && digits(&p, 2, &tm.tm_min) &&
              literal(&p, ":") && digits(&p, 2, &tm.tm_sec);
    if (ok && literal(&p, ".")) {
        ok = isdigit((unsigned char)*p);
        for (int scale = 100000000; isdigit((unsigned char)*p); scale /= 10, p++)
            nanos += (*p - '0') * scale;
    }
    ok = ok && parse_offset(&p, &offset) && !*p && tm.tm_mon >= 1 && tm.tm_mon <= 12 &&
         tm.tm_mday >= 1 && tm.tm_mday <= days_in(tm.tm_year, tm.tm_mon) && tm.tm_hour < 24 &&
         tm.tm_min < 60 && tm.tm_sec <= 60;
    if (!ok)
        return err_set(
            e, ERR_INVALID, "not a time as RFC 3339 writes it: \"%s\"", str_short(text, 64).text);
    int64_t ns, days = days_of(tm.tm_year, tm.tm_mon, tm.tm_mday);
    int64_t s = days * 86400 + tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec;
    if (__builtin_mul_overflow(s - offset, CLOCK_SEC, &ns) ||
        __builtin_add_overflow(ns, nanos, wall_ns))
        return err_set(e, ERR_INVALID, "\"%s\" is out of range: 1678 to 2261 is not",
            str_short(text, 64).text);
    return 0;
}

static const struct {
    const char *name;
    double ns;
} units[] = {
    {"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};

// The unit that p starts with; the longest one wins ("ms" before "m").
static size_t unit_at(const char *p, double *ns)
{
    size_t best = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i].name);
        if (n > best && strncmp(p, units[i].name, n) == 0) {
            best = n;
            *ns = units[i].ns;
        }
    }
    return best;
}

int duration_parse(const char *text, int64_t *ns, err *e)
{
    double total = 0;
    const char *p = text;
    if (!*p)
        return err_set(e, ERR_USAGE, "an empty duration: write \"30s\" or \"10m\"");
    if (strcmp(p, "0") == 0) { // nothing, in any unit
        *ns = 0;
        return 0;
    }
    while (*p) {
        char *end;
        double unit = 0;
        double value = isdigit((unsigned char)*p) || *p == '.' ? strtod(p, &end) : -1;
        if (value < 0)
            return err_set(e, ERR_USAGE, "not a duration: \"%s\"; write \"30s\" or \"10m\"",
                str_short(text, 64).text);
        size_t n = unit_at(end, &unit);
        if (!n)
            return err_set(e, ERR_USAGE,
                "the duration \"%s\" has no unit that is known: write "
                "\"30s\" or \"10m\"",
                str_short(text, 64).text);
        total += value * unit;
        p = end + n;
    }
    if (!(total < 9e18))
        return err_set(e, ERR_USAGE, "the duration \"%s\" is too long", str_short(text, 64).text);
    *ns = (int64_t)total;
    return 0;
}

void duration_format(buf *out, int64_t ns)
{
    int64_t ms = ns / CLOCK_MS;
    if (ms < 1000)
        buf_fmt(out, "%dms", (int)ms);
    else if (ms < 60000)
        buf_fmt(out, "%d.%ds", (int)(ms / 1000), (int)(ms % 1000 / 100));
    else if (ms < 3600000)
        buf_fmt(out, "%dm%02ds", (int)(ms / 60000), (int)(ms / 1000 % 60));
    else
        buf_fmt(out, "%dh%02dm", (int)(ms / 3600000), (int)(ms / 60000 % 60));
}

// "<a><unit><b><smaller>", without a zero second part.
static void two_parts(buf *out, int64_t a, char unit, int64_t b, char smaller)
{
    buf_fmt(out, "%d%c", (int)a, unit);
    if (b)
        buf_fmt(out, "%d%c", (int)b, smaller);
}

void duration_age(buf *out, int64_t ns)
{
    int64_t s = ns / CLOCK_SEC, m = s / 60, h = m / 60, d = h / 24;
    if (s < -1)
        buf_str(out, "<invalid>");
    else if (s < 0)
        buf_str(out, "0s");
    else if (s < 120)
        two_parts(out, s, 's', 0, 's');
    else if (m < 10)
        two_parts(out, m, 'm', s % 60, 's');
    else if (m < 180)
        two_parts(out, m, 'm', 0, 's');
    else if (h < 8)
        two_parts(out, h, 'h', m % 60, 'm');
    else if (h < 48)
        two_parts(out, h, 'h', 0, 'm');
    else if (d < 8)
        two_parts(out, d, 'd', h % 24, 'h');
    else if (d < 2 * 365)
        two_parts(out, d, 'd', 0, 'h');
    else if (d < 8 * 365)
        two_parts(out, d / 365, 'y', d % 365, 'd');
    else
        two_parts(out, d / 365, 'y', 0, 'd');
}

void duration_ago(buf *out, int64_t ns)
{
    static const struct {
        int64_t seconds;
        const char *one, *many;
    } ages[] = {{365 * 86400, "year", "years"}, {30 * 86400, "month", "months"},
        {86400, "day", "days"}, {3600, "hour", "hours"}, {60, "min", "min"}};
    int64_t seconds = ns / CLOCK_SEC;
    for (size_t i = 0; i < sizeof ages / sizeof *ages; i++)
        if (seconds >= ages[i].seconds) {
            long long n = seconds / ages[i].seconds;
            buf_fmt(out, "%lld %s ago", n, n == 1 ? ages[i].one : ages[i].many);
            return;
        }
    buf_str(out, "just now");
}
