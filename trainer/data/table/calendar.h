// SPDX-License-Identifier: MIT
// Days of the proleptic Gregorian calendar, counted from 1970-01-01, as parts of a date.
#pragma once
#include "trainer/tensor/tensor.h"

// Weeks are those of ISO 8601: they begin on a Monday, and week 1 has the year's first Thursday.
#define DATE_PARTS(X)                                                                              \
    X(YEAR, "Year")                                                                                \
    X(MONTH, "Month")       /* 1 … 12 */                                                         \
    X(DAY, "Day")           /* 1 … 31 */                                                         \
    X(WEEK, "Week")         /* 1 … 53 */                                                         \
    X(WEEKDAY, "DayOfWeek") /* 1 is Monday, 7 Sunday */                                            \
    X(YEARDAY, "DayOfYear") /* 1 … 366 */                                                        \
    X(HOUR, "Hour")         /* of times alone: 0 … 23 */                                         \
    X(MINUTE, "Minute")                                                                            \
    X(SECOND, "Second")

typedef enum date_part {
#define X(name, text) DATE_##name,
    DATE_PARTS(X)
#undef X
} date_part;

int64_t calendar_days(int64_t year, int64_t month, int64_t day);
int date_part_parse(const char *text, date_part *part, err *e);
// This part of each day, or with `seconds` of each second since 1970-01-01: I64, or F32 with nan
// where it is missing.
tensor *calendar_parts(const tensor *times, bool seconds, date_part part, err *e);
