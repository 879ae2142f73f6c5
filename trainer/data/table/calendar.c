// SPDX-License-Identifier: MIT
// The algorithms count in years that start in March (Howard Hinnant, "chrono-compatible low-level
// date algorithms").
#include "trainer/data/table/calendar.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
#define X(name, text) text,
    DATE_PARTS(X)
#undef X
};

enum { ERA_DAYS = 146097, EPOCH = 719468 }; // days of 400 years, of 0000-03-01 to 1970-01-01

int date_part_parse(const char *text, date_part *part, err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], text) == 0) {
            *part = (date_part)i;
            return 0;
        }
    return err_set(e, ERR_USAGE,
        "a date has no part \"%s\" (known: Day, DayOfWeek, DayOfYear, Month, Week, Year)", text);
}

int64_t calendar_days(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400, year = y - era * 400;
    int64_t day = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * ERA_DAYS + year * 365 + year / 4 - year / 100 + day - EPOCH;
}

static void split(int64_t days, int64_t *y, int64_t *m, int64_t *d)
{
    int64_t z = days + EPOCH, era = (z >= 0 ? z : z - (ERA_DAYS - 1)) / ERA_DAYS;
    int64_t of_era = z - era * ERA_DAYS;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t day = of_era - (365 * year + year / 4 - year / 100), month = (5 * day + 2) / 153;
    *d = day - (153 * month + 2) / 5 + 1;
    *m = month < 10 ? month + 3 : month - 9;
    *y = year + era * 400 + (*m <= 2);
}

static int64_t weekday(int64_t days) // 1970-01-01 was a Thursday
{
    return ((days + 3) % 7 + 7) % 7 + 1;
}

static int64_t calendar_part(int64_t days, date_part part)
{
    int64_t y, m, d, other, skip;
    if (part == DATE_WEEKDAY)
        return weekday(days);
    split(days, &y, &m, &d);
    switch (part) {
    case DATE_YEAR:
        return y;
    case DATE_MONTH:
        return m;
    case DATE_DAY:
        return d;
    case DATE_YEARDAY:
        return days - calendar_days(y, 1, 1) + 1;
    default: // a week is in the year of its Thursday
        days += 4 - weekday(days);
        split(days, &other, &skip, &skip);
        return (days - calendar_days(other, 1, 1)) / 7 + 1;
    }
}

// Of a second since 1970-01-01.
static int64_t part_of_second(int64_t second, date_part part)
{
    enum { DAY = 86400 };
    int64_t of_day = (second % DAY + DAY) % DAY;
    switch (part) {
    case DATE_HOUR:
        return of_day / 3600;
    case DATE_MINUTE:
        return of_day / 60 % 60;
    case DATE_SECOND:
        return of_day % 60;
    default:
        return calendar_part((second - of_day) / DAY, part);
    }
}

tensor *calendar_parts(const tensor *times, bool seconds, date_part part, err *e)
{
    size_t n = tensor_rows(times);
    bool whole = tensor_is_integer(times);
    if (!seconds && part >= DATE_HOUR) {
        err_set(e, ERR_USAGE,
            "a date has no part \"%s\": of a datetime there are Hour, Minute and Second",
            names[part]);
        return NULL;
    }
    tensor *out = tensor_new(whole ? TENSOR_I64 : TENSOR_F32, 1, &n, e);
    double last = NAN;
    int64_t value = 0;
    for (size_t i = 0; out && i < n; i++) {
        double v = tensor_at(times, i);
        bool known = fabs(v) < 0x1p40; // and not nan
        if (known && v != last)        // consecutive rows often have the same day
            value = (seconds ? part_of_second : calendar_part)((int64_t)floor(v), part);
        last = known ? v : last;
        if (whole)
            ((int64_t *)out->data)[i] = known ? value : 0;
        else
            ((float *)out->data)[i] = known ? (float)value : NAN;
    }
    return out;
}
