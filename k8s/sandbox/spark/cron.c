// SPDX-License-Identifier: MIT
#include "k8s/sandbox/spark/cron.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>
#include <strings.h>
#include <time.h>

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field {
    int least, most;
    const char *names; // of three letters each, from `least` on
} fields[FIELDS] = {
    [MINUTE] = {0, 59, ""},
    [HOUR] = {0, 23, ""},
    [DAY] = {1, 31, ""},
    [MONTH] = {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    [WEEKDAY] = {0, 6, "sunmontuewedthufrisat"},
};

static int read_number(const char *word, const struct field *f, int64_t *n, err *e)
{
    for (const char *name = f->names; *name; name += 3)
        if (strlen(word) == 3 && strncasecmp(word, name, 3) == 0) {
            *n = f->least + (name - f->names) / 3;
            return 0;
        }
    if (!str_to_int(word, n) || *n < 0)
        return err_set(e, ERR_INVALID, "failed to parse int from %s", word);
    return 0;
}

// "5", "1-5", "*": from and to; *star: it is a star. to is -1 where one number stands alone.
static int read_range(
    char *text, const struct field *f, int64_t *from, int64_t *to, bool *star, err *e)
{
    *star = str_eq(text, "*") || str_eq(text, "?");
    if (*star) {
        *from = f->least, *to = f->most;
        return 0;
    }
    char *dash = strchr(text, '-');
    if (dash)
        *dash = '\0';
    *to = -1;
    if (read_number(text, f, from, e) || (dash && read_number(dash + 1, f, to, e)))
        return -1;
    return 0;
}

// One part of a field ("1-5", "*/15", "fri") sets bits of *due.
static int read_part(const char *part, const struct field *f, uint64_t *due, bool *any, err *e)
{
    AUTO_FREE char *text = mem_strdup(part);
    int64_t from, to, step = 1;
    bool star;
    char *slash = strchr(text, '/');
    if (slash) {
        *slash = '\0';
        if (!str_to_int(slash + 1, &step) || step < 0)
            return err_set(e, ERR_INVALID, "failed to parse int from %s", slash + 1);
        if (step == 0)
            return err_set(e, ERR_INVALID, "step of range should be a positive number: %s", part);
    }
    if (read_range(text, f, &from, &to, &star, e))
        return -1;
    if (to < 0)
        to = slash ? f->most : from;
    if (from < f->least)
        return err_set(e, ERR_INVALID, "beginning of range (%d) below minimum (%d): %s", (int)from,
            f->least, part);
    if (to > f->most)
        return err_set(
            e, ERR_INVALID, "end of range (%d) above maximum (%d): %s", (int)to, f->most, part);
    if (from > to)
        return err_set(e, ERR_INVALID, "beginning of range (%d) beyond end of range (%d): %s",
            (int)from, (int)to, part);
    for (int64_t n = from;; n += step) {
        *due |= UINT64_C(1) << n;
        if (step > to - n) // a step may be any number
            break;
    }
    *any = *any || (star && step == 1);
    return 0;
}

static int read_field(const char *text, int which, struct cron *c, err *e)
{
    bool any = false;
    int failed = 0;
    char **parts = strv_split(text, ',');
    for (char **part = parts; *part && !failed; part++)
        failed = read_part(*part, &fields[which], &c->due[which], &any, e);
    strv_free(parts);
    if (which == DAY)
        c->any_day = any;
    if (which == WEEKDAY)
        c->any_weekday = any;
    return failed;
}

// "@every 90s", "@daily": *text becomes the five fields that the word stands for, or NULL.
static int read_word(struct cron *c, const char *schedule, const char **text, err *e)
{
    static const struct {
        const char *word, *fields;
    } words[] = {{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"}, {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_eq(words[i].word, schedule)) {
            *text = words[i].fields;
            return 0;
        }
    *text = NULL;
    if (!str_starts(schedule, "@every "))
        return err_set(e, ERR_INVALID, "unrecognized descriptor: %s", schedule);
    if (duration_parse(schedule + strlen("@every "), &c->every, e))
        return err_wrap(e, "failed to parse duration %s", schedule);
    c->every -= c->every % CLOCK_SEC; // as in robfig/cron: whole seconds, at least one
    if (c->every < CLOCK_SEC)
        c->every = CLOCK_SEC;
    return 0;
}

static int set_zone(struct cron *c, const char *zone, err *e)
{
    c->local = str_eq(zone, "Local");
    if (c->local || str_eq(zone, "UTC"))
        return 0;
    return err_set(
        e, ERR_INVALID, "Invalid timezone: the sandbox knows Local and UTC, not %s", zone);
}

// "CRON_TZ=UTC 0 3 * * *": *text becomes what follows the zone, which counts more than any other.
static int read_zone(struct cron *c, const char **text, err *e)
{
    if (!str_starts(*text, "TZ=") && !str_starts(*text, "CRON_TZ="))
        return 0;
    const char *from = strchr(*text, '=') + 1;
    size_t n = strcspn(from, " ");
    AUTO_FREE char *zone = mem_strndup(from, n);
    *text = from + n + strspn(from + n, " \t");
    return set_zone(c, n ? zone : "UTC", e);
}

int cron_parse(struct cron *c, const char *schedule, const char *zone, err *e)
{
    *c = (struct cron){0};
    const char *text = schedule;
    if (set_zone(c, *zone ? zone : "Local", e) || read_zone(c, &text, e))
        return -1;
    if (*text == '@' && read_word(c, text, &text, e))
        return -1;
    int count = 0, failed = 0;
    for (const char *at = text; at && *(at += strspn(at, " \t"));) {
        size_t n = strcspn(at, " \t");
        AUTO_FREE char *word = mem_strndup(at, n);
        if (count < FIELDS && !failed)
            failed = read_field(word, count, c, e);
        count++;
        at += n;
    }
    if (text && count != FIELDS)
        return err_set(e, ERR_INVALID, "expected exactly 5 fields, found %d: [%s]", count, text);
    return failed;
}

static struct tm parts_of(const struct cron *c, time_t t)
{
    struct tm parts;
    if (c->local)
        localtime_r(&t, &parts);
    else
        gmtime_r(&t, &parts);
    return parts;
}

static bool is_due(const struct cron *c, int which, int n)
{
    return c->due[which] >> n & 1;
}

static bool is_day(const struct cron *c, const struct tm *t)
{
    bool day = is_due(c, DAY, t->tm_mday), weekday = is_due(c, WEEKDAY, t->tm_wday);
    return c->any_day || c->any_weekday ? day && weekday : day || weekday;
}

// The beginning of the day after.
static time_t next_day(const struct cron *c, struct tm t)
{
    t.tm_mday++;
    t.tm_hour = t.tm_min = t.tm_sec = 0;
    t.tm_isdst = -1;
    return c->local ? mktime(&t) : timegm(&t);
}

int64_t cron_next(const struct cron *c, int64_t after)
{
    int64_t seconds = after / CLOCK_SEC;
    if (c->every)
        return clock_add(seconds * CLOCK_SEC, c->every);
    time_t t = (time_t)(seconds - seconds % 60 + 60), last = t + (time_t)5 * 366 * 86400;
    while (t < last) {
        struct tm parts = parts_of(c, t);
        if (!is_due(c, MONTH, parts.tm_mon + 1) || !is_day(c, &parts)) {
            time_t day = next_day(c, parts);
            t = day > t ? day : t + 3600; // daylight saving time skips this midnight
        } else if (!is_due(c, HOUR, parts.tm_hour)) {
            t += 3600 - parts.tm_min * 60;
        } else if (!is_due(c, MINUTE, parts.tm_min)) {
            t += 60;
        } else {
            return (int64_t)t * CLOCK_SEC;
        }
    }
    return 0;
}
