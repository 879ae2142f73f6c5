// SPDX-License-Identifier: MIT
#include "base/buf.h"
#include "base/clock.h"
#include "k8s/sandbox/spark/cron.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <time.h>

// The first time after `after`, as text; "never", or the error.
static const char *next_in(const char *schedule, const char *zone, const char *after)
{
    static char text[sizeof(err)];
    struct cron c;
    err e = {0};
    int64_t from;
    AUTO_BUF out = {0};
    CHECK(clock_parse_rfc3339(after, &from, &e) == 0);
    if (cron_parse(&c, schedule, zone, &e)) {
        snprintf(text, sizeof text, "%s", e.text);
        return text;
    }
    int64_t next = cron_next(&c, from);
    if (next)
        clock_rfc3339(&out, next, CLOCK_SECONDS);
    snprintf(text, sizeof text, "%s", next ? buf_cstr(&out) : "never");
    return text;
}

static const char *next(const char *schedule, const char *after)
{
    return next_in(schedule, "UTC", after);
}

TEST(fields)
{
    CHECK_STR(next("* * * * *", "2026-01-31T23:59:59Z"), "2026-02-01T00:00:00Z");
    CHECK_STR(next("0 3 * * *", "2026-03-01T03:00:00Z"), "2026-03-02T03:00:00Z");
    CHECK_STR(next("*/15 9-17 * * mon-FRI", "2026-01-02T17:45:00Z"), "2026-01-05T09:00:00Z");
    CHECK_STR(next("5/20 0 1 jan,jul *", "2026-01-01T00:45:00Z"), "2026-07-01T00:05:00Z");
    CHECK_STR(next("0 0 29 2 *", "2026-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
    CHECK_STR(next("0 0 31 2 *", "2026-01-01T00:00:00Z"), "never");
}

TEST(a_day_and_a_weekday_are_one_or_the_other)
{
    CHECK_STR(next("0 0 13 * fri", "2026-01-03T00:00:00Z"), "2026-01-09T00:00:00Z"); // a Friday
    CHECK_STR(next("0 0 13 * fri", "2026-01-09T00:00:00Z"), "2026-01-13T00:00:00Z"); // a Tuesday
    CHECK_STR(next("0 0 13 * ?", "2026-01-03T00:00:00Z"), "2026-01-13T00:00:00Z");
}

TEST(words)
{
    CHECK_STR(next("@daily", "2026-01-01T00:00:00Z"), "2026-01-02T00:00:00Z");
    CHECK_STR(next("@weekly", "2026-01-01T00:00:00Z"), "2026-01-04T00:00:00Z");
    CHECK_STR(next("@every 90s", "2026-01-01T00:00:00Z"), "2026-01-01T00:01:30Z");
    CHECK_STR(next("@every 10ms", "2026-01-01T00:00:00Z"), "2026-01-01T00:00:01Z");
}

TEST(local_time_and_its_changes)
{
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    CHECK_STR(next_in("0 3 * * *", "Local", "2026-01-01T00:00:00Z"), "2026-01-01T02:00:00Z");
    CHECK_STR(next_in("0 3 * * *", "", "2026-07-01T00:00:00Z"), "2026-07-01T01:00:00Z");
    // 29 March 2026 has no 02:30
    CHECK_STR(next_in("30 2 * * *", "Local", "2026-03-28T12:00:00Z"), "2026-03-30T00:30:00Z");
}

TEST(a_schedule_may_name_its_zone)
{
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    const char *now = "2026-01-01T00:00:00Z";
    CHECK_STR(next_in("CRON_TZ=UTC 0 3 * * *", "Local", now), "2026-01-01T03:00:00Z");
    CHECK_STR(next_in("TZ=Local  0 3 * * *", "UTC", now), "2026-01-01T02:00:00Z");
    CHECK_STR(next_in("TZ= 0 3 * * *", "", now), "2026-01-01T03:00:00Z");
    CHECK_STR(next_in("TZ=UTC @daily", "Local", now), "2026-01-02T00:00:00Z");
    CHECK_STR(next("TZ=Mars/Base * * * * *", now),
        "Invalid timezone: the sandbox knows Local and UTC, not Mars/Base");
    CHECK_STR(next_in("TZ=UTC * * * * *", "Mars/Base", now),
        "Invalid timezone: the sandbox knows Local and UTC, not Mars/Base");
    CHECK_STR(next("TZ=UTC TZ=UTC * * * * *", now),
        "expected exactly 5 fields, found 6: [TZ=UTC * * * * *]");
    CHECK_STR(next("CRON_TZ=UTC", now), "expected exactly 5 fields, found 0: []");
}

TEST(errors)
{
    const char *now = "2026-01-01T00:00:00Z";
    CHECK_STR(next("1 2 3", now), "expected exactly 5 fields, found 3: [1 2 3]");
    CHECK_STR(next("61 * * * *", now), "end of range (61) above maximum (59): 61");
    CHECK_STR(next("* * 0 * *", now), "beginning of range (0) below minimum (1): 0");
    CHECK_STR(next("5-1 * * * *", now), "beginning of range (5) beyond end of range (1): 5-1");
    CHECK_STR(next("*/0 * * * *", now), "step of range should be a positive number: */0");
    CHECK_STR(next("* * * * sunday", now), "failed to parse int from sunday");
    CHECK_STR(next("1- * * * *", now), "failed to parse int from ");
    CHECK_STR(next("0 0 */9223372036854775807 * *", now), "2026-02-01T00:00:00Z");
    CHECK_STR(next("@often", now), "unrecognized descriptor: @often");
    CHECK_STR(next_in("@daily", "Europe/Berlin", now),
        "Invalid timezone: the sandbox knows Local and UTC, not Europe/Berlin");
}

int main(void)
{
    return tap_run();
}
