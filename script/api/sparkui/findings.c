// SPDX-License-Identifier: MIT
#include "script/api/sparkui/findings.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

enum { MOST = 30, FEWEST_TASKS = 3 };

struct spark_limits spark_limits_of(const cJSON *given)
{
    struct spark_limits l = {
#define X(name, otherwise, words) .name = otherwise,
        SPARK_LIMITS(X)
#undef X
    };
#define X(name, otherwise, words) json_number(json_get(given, #name), &l.name);
    SPARK_LIMITS(X)
#undef X
    return l;
}

void spark_bytes(buf *out, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1000 && unit + 1 < ARRAY_LEN(units)) {
        value /= 1024;
        unit++;
    }
    buf_fmt(out, unit && value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void add(
    cJSON *all, const char *kind, const struct spark_stage *g, const char *what, const char *next)
{
    cJSON *finding = cJSON_CreateObject();
    json_set_str(finding, "kind", kind);
    json_set_str(finding, "what", what);
    json_set_str(finding, "next", next && *next ? next : NULL);
    if (g)
        json_set_int(finding, "stage", g->id);
    cJSON_AddItemToArray(all, finding);
}

static void name_stage(const struct spark_stage *g, buf *out)
{
    buf_fmt(out, "stage %lld", (long long)g->id);
    if (g->attempt)
        buf_fmt(out, " (attempt %lld)", (long long)g->attempt + 1);
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

// ---- skew

static void add_duration(buf *out, int64_t ms)
{
    duration_format(out, (ms < SPARK_MOST ? ms : SPARK_MOST) * CLOCK_MS);
}

static int64_t slowest_read(const struct spark_spread *d)
{
    // Of REST only the two maxima are known: then the same task is assumed.
    return d->slowest_read >= 0 ? d->slowest_read : d->max_read;
}

static void add_reads(const struct spark_spread *d, buf *what)
{
    buf_str(what, "it read ");
    spark_bytes(what, slowest_read(d));
    buf_str(what, " and the median ");
    spark_bytes(what, d->median_read);
}

// Did the task that took longest read so much more than the others that this is why? Rows cost
// unlike time, so a quarter of the ratio, and twice the median at least, will do.
static void add_skew_reason(const struct spark_spread *d, double times, buf *what, buf *next)
{
    double more = (double)slowest_read(d) / (double)(d->median_read > 0 ? d->median_read : 1);
    if (more >= 2 && more >= times / 4) {
        buf_fmt(what, ": skew %s, ", d->shuffle ? "by key" : "of the input");
        add_reads(d, what);
        buf_str(next,
            d->shuffle
                ? "let spark.sql.adaptive.skewJoin.enabled split it, add a random part to the "
                  "key, or handle the frequent keys apart"
                : "split the largest files, or repartition after reading");
        return;
    }
    buf_str(what, "; ");
    if (more >= 2) {
        add_reads(d, what);
        buf_str(what, ", which alone does not explain it");
    } else {
        buf_str(what, "it read no more than others");
    }
    buf_str(next, "look at its executor (a slow or busy node), or at what its rows make it "
                  "compute; spark.speculation = true runs such a task a second time");
}

// What grows while one looks is told in steps, so that it is told anew only now and then.
static double step_below(double value)
{
    static const double digits[] = {5, 2, 1};
    double ten = 1;
    while (ten * 10 <= value)
        ten *= 10;
    for (size_t i = 0; i < ARRAY_LEN(digits); i++)
        if (digits[i] * ten <= value)
            return digits[i] * ten;
    return value;
}

static void find_running(const struct spark_stage *g, double times, cJSON *all)
{
    AUTO_BUF what = {0};
    name_stage(g, &what);
    buf_fmt(&what, ": one task of %lld runs for more than %.0f times the median (",
        (long long)g->tasks, step_below(times));
    add_duration(&what, g->spread.median_ms);
    buf_char(&what, ')');
    add(all, "skew", g, buf_cstr(&what), "what it reads is known when it has ended");
}

static void find_skew(const struct spark_stage *g, const struct spark_limits *l, cJSON *all)
{
    const struct spark_spread *d = &g->spread;
    double median = d->median_ms > 0 ? (double)d->median_ms : 1;
    bool runs = g->running_ms > d->max_ms;
    double longest = runs ? (double)g->running_ms : (double)d->max_ms, times = longest / median;
    if (d->max_ms <= 0 || g->tasks < FEWEST_TASKS || times < l->skew ||
        longest < l->skew_seconds * 1000)
        return;
    if (runs) {
        find_running(g, times, all);
        return;
    }
    AUTO_BUF what = {0}, next = {0};
    name_stage(g, &what);
    buf_fmt(&what, ": one task of %lld took %.0f times the median (", (long long)g->tasks, times);
    add_duration(&what, d->max_ms);
    buf_str(&what, ", not ");
    add_duration(&what, d->median_ms);
    buf_char(&what, ')');
    add_skew_reason(d, times, &what, &next);
    add(all, "skew", g, buf_cstr(&what), buf_cstr(&next));
}

// ---- failures

static void find_failures(const struct spark_stage *g, const struct spark_limits *l, cJSON *all)
{
    bool failed = g->is == SPARK_FAILED;
    if (!failed && (g->failed == 0 || (double)g->failed < l->failed_tasks))
        return;
    AUTO_BUF what = {0};
    name_stage(g, &what);
    buf_str(&what, failed ? " failed" : "");
    if (g->failed)
        buf_fmt(&what, ": %lld task%s failed%s", (long long)g->failed, plural(g->failed),
            g->is == SPARK_COMPLETE ? " and ran again" : "");
    if (g->cause)
        buf_fmt(&what, ": %s", g->cause);
    add(all, failed ? "failed_stage" : "failed_tasks", g, buf_cstr(&what),
        failed ? "" : "it costs time; after spark.task.maxFailures of one task the job fails");
}

// ---- the whole application

static void find_spill(const struct spark_state *s, const struct spark_limits *l, cJSON *all)
{
    const struct spark_stage *most = NULL;
    int64_t sum = 0;
    bool runs = false;
    for (size_t i = 0; i < s->n_stages; i++) {
        const struct spark_stage *g = &s->stages[i];
        sum += g->disk_spilled;
        runs |= g->disk_spilled > 0 && g->is == SPARK_ACTIVE;
        if (g->disk_spilled > 0 && (!most || g->disk_spilled > most->disk_spilled))
            most = g;
    }
    if (!most || (double)sum < l->spill)
        return;
    AUTO_BUF what = {0};
    if (runs) {
        buf_str(&what, "executors spill more than ");
        spark_bytes(&what, (int64_t)step_below((double)sum));
    } else {
        buf_str(&what, "executors spilled ");
        spark_bytes(&what, sum);
    }
    buf_str(&what, " to disk");
    if (!runs && most->disk_spilled < sum) {
        buf_str(&what, ", ");
        spark_bytes(&what, most->disk_spilled);
        buf_str(&what, " of it");
    }
    buf_str(&what, " in ");
    name_stage(most, &what);
    add(all, "spill", most, buf_cstr(&what),
        "give executors more memory (executor_memory), or make partitions smaller "
        "(spark.sql.shuffle.partitions, repartition)");
}

static void find_gc(const struct spark_state *s, const struct spark_limits *l, cJSON *all)
{
    int64_t run = 0, gc = 0;
    for (size_t i = 0; i < s->n_stages; i++) {
        run += s->stages[i].run_ms;
        gc += s->stages[i].gc_ms;
    }
    if (run <= 0 || (double)gc < l->gc * (double)run || (double)gc < l->gc_seconds * 1000)
        return;
    AUTO_BUF what = {0};
    double part = 100.0 * (double)gc / (double)run;
    if (s->ended) {
        buf_fmt(&what, "garbage collection took %.0f%% of the tasks' time (", part);
        add_duration(&what, gc);
        buf_char(&what, ')');
    } else {
        buf_fmt(&what, "garbage collection takes more than %.0f%% of the tasks' time",
            step_below(part));
    }
    add(all, "gc", NULL, buf_cstr(&what),
        "give executors more memory or fewer cores, cache less, or use fewer objects of Java");
}

// An executor that was not needed any more, or ended with its application, was not lost.
static bool was_lost(const struct spark_executor *x)
{
    static const char *const orderly[] = {"idle", "Driver requested", "Driver commanded",
        "shutdown", "decommission", "Application finished", "SparkContext"};
    for (size_t i = 0; x->why && i < ARRAY_LEN(orderly); i++)
        if (strcasestr(x->why, orderly[i]))
            return false;
    return x->gone && x->why;
}

static void find_lost(const struct spark_state *s, cJSON *all)
{
    for (size_t i = 0; i < s->n_executors; i++) {
        const struct spark_executor *x = &s->executors[i];
        if (!was_lost(x))
            continue;
        AUTO_FREE char *what =
            str_fmt("executor %s was lost: %s", x->id, str_short_line(x->why, 200).text);
        add(all, "lost", NULL, what,
            "its tasks run again elsewhere; exit code 137 means that it "
            "needed more memory than it may have (memoryOverhead)");
    }
}

cJSON *spark_findings(const struct spark_state *s, const struct spark_limits *limits)
{
    cJSON *all = cJSON_CreateArray();
    for (size_t i = s->n_stages; i-- > 0;)
        if (s->stages[i].is == SPARK_FAILED)
            find_failures(&s->stages[i], limits, all);
    find_lost(s, all);
    for (size_t i = s->n_stages; i-- > 0;)
        find_skew(&s->stages[i], limits, all);
    find_spill(s, limits, all);
    find_gc(s, limits, all);
    for (size_t i = s->n_stages; i-- > 0;)
        if (s->stages[i].is != SPARK_FAILED)
            find_failures(&s->stages[i], limits, all);
    while (cJSON_GetArraySize(all) > MOST)
        cJSON_DeleteItemFromArray(all, MOST);
    return all;
}
