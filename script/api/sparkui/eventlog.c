// SPDX-License-Identifier: MIT
#include "script/api/sparkui/eventlog.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LINE_MOST = 64 << 20, // a longer line is no event that is used
    TASKS_MOST = 1 << 20, // of a stage that are measured
    ASK_EVERY = 64,       // lines between two looks whether to go on
};

static int64_t number(const cJSON *j, const char *name)
{
    int64_t n = json_int_or(j, name, 0);
    return n <= 0 ? 0 : n < SPARK_MOST ? n : SPARK_MOST;
}

// ---- application, executors

static void log_start(struct spark_state *s, const cJSON *e)
{
    spark_text(&s->version, json_str(e, "Spark Version"));
}

static void application_start(struct spark_state *s, const cJSON *e)
{
    spark_text(&s->app, json_str(e, "App ID"));
    spark_text(&s->name, json_str(e, "App Name"));
    s->begun = number(e, "Timestamp");
}

static void application_end(struct spark_state *s, const cJSON *e)
{
    spark_state_end(s, number(e, "Timestamp"));
}

static void executor_added(struct spark_state *s, const cJSON *e)
{
    const char *id = json_str(e, "Executor ID");
    const cJSON *info = json_get(e, "Executor Info");
    if (!id)
        return;
    struct spark_executor *x = spark_executor_at(s, id);
    spark_text(&x->host, json_str(info, "Host"));
    x->cores = number(info, "Total Cores");
    x->spill_known = true;
}

static void executor_removed(struct spark_state *s, const cJSON *e)
{
    const char *id = json_str(e, "Executor ID");
    if (!id)
        return;
    struct spark_executor *x = spark_executor_at(s, id);
    x->gone = true;
    x->active = 0;
    spark_text(&x->why, json_str(e, "Removed Reason"));
}

static void block_manager_added(struct spark_state *s, const cJSON *e)
{
    const cJSON *manager = json_get(e, "Block Manager ID");
    const char *id = json_str(manager, "Executor ID");
    if (!id)
        return;
    struct spark_executor *x = spark_executor_at(s, id);
    spark_text(&x->host, json_str(manager, "Host"));
    x->storage = number(e, "Maximum Memory");
    x->spill_known = true;
}

static void note_peak(struct spark_state *s, const char *id, const cJSON *metrics)
{
    if (!id)
        return;
    struct spark_executor *x = spark_executor_at(s, id);
    int64_t heap = number(metrics, "JVMHeapMemory"),
            stored = number(metrics, "OnHeapStorageMemory");
    x->peak = heap > x->peak ? heap : x->peak;
    x->stored = stored > x->stored ? stored : x->stored;
}

static void stage_executor_metrics(struct spark_state *s, const cJSON *e)
{
    note_peak(s, json_str(e, "Executor ID"), json_get(e, "Executor Metrics"));
}

static void executor_metrics_update(struct spark_state *s, const cJSON *e)
{
    const cJSON *update;
    cJSON_ArrayForEach(update, json_get(e, "Executor Metrics Updated"))
    {
        note_peak(s, json_str(e, "Executor ID"), json_get(update, "Executor Metrics"));
    }
}

// ---- jobs and stages

static void take_stage(struct spark_stage *g, const cJSON *info)
{
    spark_text(&g->name, json_str(info, "Stage Name"));
    g->tasks = number(info, "Number of Tasks");
    if (number(info, "Submission Time"))
        g->begun = number(info, "Submission Time");
}

static struct spark_stage *stage_of(struct spark_state *s, const cJSON *info)
{
    int64_t id = json_int_or(info, "Stage ID", -1);
    if (id < 0)
        return NULL;
    struct spark_stage *g = spark_stage_at(s, id, json_int_or(info, "Stage Attempt ID", 0));
    take_stage(g, info);
    return g;
}

static void job_start(struct spark_state *s, const cJSON *e)
{
    int64_t id = json_int_or(e, "Job ID", -1), query = -1;
    const cJSON *infos = json_get(e, "Stage Infos"), *info, *properties = json_get(e, "Properties");
    const char *words = json_str(properties, "spark.job.description");
    const char *execution = json_str(properties, "spark.sql.execution.id");
    if (id < 0)
        return;
    struct spark_job *j = spark_job_at(s, id);
    j->is = SPARK_ACTIVE;
    j->begun = number(e, "Submission Time");
    j->stages = cJSON_GetArraySize(infos);
    free(j->stage_ids);
    j->stage_ids = mem_array((size_t)j->stages + 1, sizeof *j->stage_ids);
    j->n_stage_ids = 0;
    // The last stage is the job's own: it is named after what the program called.
    int64_t last = -1;
    cJSON_ArrayForEach(info, infos)
    {
        struct spark_stage *g = stage_of(s, info);
        if (!g)
            continue;
        j->stage_ids[j->n_stage_ids++] = g->id;
        j->tasks += g->tasks;
        if (g->id > last && !words)
            spark_text(&j->name, g->name);
        last = g->id > last ? g->id : last;
    }
    spark_text(&j->name, words);
    if (execution && str_to_int(execution, &query)) {
        j->query = query;
        spark_query_at(s, query)->jobs++;
    }
}

static bool is_of(const struct spark_job *j, const struct spark_stage *g)
{
    for (size_t i = 0; i < j->n_stage_ids; i++)
        if (j->stage_ids[i] == g->id)
            return true;
    return false;
}

static void job_end(struct spark_state *s, const cJSON *e)
{
    int64_t id = json_int_or(e, "Job ID", -1);
    const cJSON *result = json_get(e, "Job Result");
    if (id < 0)
        return;
    struct spark_job *j = spark_job_at(s, id);
    j->is = str_eq(json_str(result, "Result"), "JobSucceeded") ? SPARK_COMPLETE : SPARK_FAILED;
    j->ended = number(e, "Completion Time");
    j->active = 0;
    spark_cause_of(&j->cause, json_path_str(result, "Exception.Message"));
    for (size_t i = 0; i < s->n_stages; i++)
        if (s->stages[i].is == SPARK_PENDING && is_of(j, &s->stages[i])) {
            s->stages[i].is = SPARK_SKIPPED;
            j->stages_skipped++;
            j->skipped += s->stages[i].tasks;
        }
}

static struct spark_job *job_of(struct spark_state *s, const struct spark_stage *g)
{
    for (size_t i = s->n_jobs; i-- > 0;)
        if (s->jobs[i].is == SPARK_ACTIVE && is_of(&s->jobs[i], g))
            return &s->jobs[i];
    return NULL;
}

static void stage_submitted(struct spark_state *s, const cJSON *e)
{
    struct spark_stage *g = stage_of(s, json_get(e, "Stage Info"));
    if (g)
        g->is = SPARK_ACTIVE;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = ((const struct spark_task *)a)->ms, y = ((const struct spark_task *)b)->ms;
    return (x > y) - (x < y);
}

static int by_read(const void *a, const void *b)
{
    int64_t x = ((const struct spark_task *)a)->read, y = ((const struct spark_task *)b)->read;
    return (x > y) - (x < y);
}

// As Spark's own quantile 0.5: the entry in the middle.
static void measure(struct spark_stage *g)
{
    size_t n = g->n_measured;
    if (!n)
        return;
    qsort(g->measured, n, sizeof *g->measured, by_time);
    g->spread.median_ms = g->measured[n / 2].ms;
    g->spread.max_ms = g->measured[n - 1].ms;
    g->spread.slowest_read = g->measured[n - 1].read;
    qsort(g->measured, n, sizeof *g->measured, by_read);
    g->spread.median_read = g->measured[n / 2].read;
    g->spread.max_read = g->measured[n - 1].read;
    g->spread.shuffle = g->shuffle_read >= g->input;
    free(STEAL(g->measured));
    g->n_measured = 0;
}

static void stage_completed(struct spark_state *s, const cJSON *e)
{
    const cJSON *info = json_get(e, "Stage Info");
    struct spark_stage *g = stage_of(s, info);
    const char *failure = json_str(info, "Failure Reason");
    if (!g)
        return;
    g->is = failure ? SPARK_FAILED : SPARK_COMPLETE;
    g->ended = number(info, "Completion Time");
    g->active = 0;
    spark_cause_of(&g->cause, failure);
    measure(g);
    struct spark_job *j = job_of(s, g);
    if (j && failure)
        j->stages_failed++;
    else if (j)
        j->stages_done++;
}

// ---- tasks

static struct spark_stage *stage_of_task(struct spark_state *s, const cJSON *e)
{
    int64_t id = json_int_or(e, "Stage ID", -1);
    return id < 0 ? NULL : spark_stage_at(s, id, json_int_or(e, "Stage Attempt ID", 0));
}

static void task_start(struct spark_state *s, const cJSON *e)
{
    struct spark_stage *g = stage_of_task(s, e);
    const char *on = json_path_str(e, "Task Info.Executor ID");
    struct spark_job *j = g ? job_of(s, g) : NULL;
    if (!g)
        return;
    g->active++;
    if (j)
        j->active++;
    if (on)
        spark_executor_at(s, on)->active++;
}

static void less(int64_t *n)
{
    *n -= *n > 0;
}

static void add_metrics(struct spark_stage *g, struct spark_executor *x, const cJSON *m)
{
    const cJSON *read = json_get(m, "Shuffle Read Metrics");
    int64_t shuffle = number(read, "Remote Bytes Read") + number(read, "Local Bytes Read");
    int64_t written = number(json_get(m, "Shuffle Write Metrics"), "Shuffle Bytes Written");
    int64_t input = number(json_get(m, "Input Metrics"), "Bytes Read");
    g->run_ms += number(m, "Executor Run Time");
    g->gc_ms += number(m, "JVM GC Time");
    g->memory_spilled += number(m, "Memory Bytes Spilled");
    g->disk_spilled += number(m, "Disk Bytes Spilled");
    g->shuffle_read += shuffle;
    g->shuffle_write += written;
    g->input += input;
    g->output += number(json_get(m, "Output Metrics"), "Bytes Written");
    if (!x)
        return;
    x->gc_ms += number(m, "JVM GC Time");
    x->shuffle_read += shuffle;
    x->shuffle_write += written;
    x->input += input;
    x->spilled += number(m, "Disk Bytes Spilled");
}

static void add_measure(struct spark_stage *g, const cJSON *m, int64_t ms)
{
    const cJSON *read = json_get(m, "Shuffle Read Metrics");
    if (g->n_measured == TASKS_MOST)
        return;
    if ((g->n_measured & (g->n_measured - 1)) == 0) // its size doubles
        g->measured =
            mem_resize(g->measured, g->n_measured ? g->n_measured * 2 : 1, sizeof *g->measured);
    g->measured[g->n_measured++] = (struct spark_task){
        .ms = ms,
        .read = number(read, "Remote Bytes Read") + number(read, "Local Bytes Read") +
                number(json_get(m, "Input Metrics"), "Bytes Read"),
    };
}

// "ExecutorLostFailure (executor 3 exited …)", an exception with its traceback, and others.
static void take_reason(struct spark_stage *g, const cJSON *reason)
{
    const char *words = json_str(reason, "Description"), *class = json_str(reason, "Class Name");
    AUTO_BUF text = {0};
    if (json_str(reason, "Loss Reason"))
        buf_fmt(&text, "executor %s was lost: %s", json_str_or(reason, "Executor ID", "?"),
            json_str(reason, "Loss Reason"));
    else if (json_str(reason, "Full Stack Trace"))
        buf_str(&text, json_str(reason, "Full Stack Trace"));
    else if (class)
        buf_fmt(&text, "%s: %s", class, words ? words : "");
    else
        buf_str(&text, json_str_or(reason, "Message", json_str_or(reason, "Reason", "")));
    spark_cause_of(&g->cause, buf_cstr(&text));
}

static void task_end(struct spark_state *s, const cJSON *e)
{
    struct spark_stage *g = stage_of_task(s, e);
    const cJSON *info = json_get(e, "Task Info"), *metrics = json_get(e, "Task Metrics");
    const cJSON *reason = json_get(e, "Task End Reason");
    const char *on = json_str(info, "Executor ID"), *how = json_str(reason, "Reason");
    if (!g)
        return;
    struct spark_executor *x = on ? spark_executor_at(s, on) : NULL;
    struct spark_job *j = job_of(s, g);
    int64_t ms = number(info, "Finish Time") - number(info, "Launch Time");
    bool good = str_eq(how, "Success"), killed = json_bool_or(info, "Killed", false);
    less(&g->active);
    *(good ? &g->done : killed ? &g->killed : &g->failed) += 1;
    add_metrics(g, x, metrics);
    if (good)
        add_measure(g, metrics, ms > 0 ? ms : 0);
    else if (!killed)
        take_reason(g, reason);
    if (j) {
        less(&j->active);
        *(good ? &j->done : &j->failed) += good || !killed;
    }
    if (x) {
        less(&x->active);
        *(good ? &x->done : &x->failed) += good || !killed;
        x->run_ms += ms > 0 ? ms : 0;
    }
}

// ---- queries

static void query_start(struct spark_state *s, const cJSON *e)
{
    int64_t id = json_int_or(e, "executionId", -1);
    if (id < 0)
        return;
    struct spark_query *q = spark_query_at(s, id);
    spark_text(&q->what, json_str(e, "description"));
    q->is = SPARK_ACTIVE;
    q->begun = number(e, "time");
}

static bool has_failed_job(const struct spark_state *s, int64_t query)
{
    for (size_t i = 0; i < s->n_jobs; i++)
        if (s->jobs[i].query == query && s->jobs[i].is == SPARK_FAILED)
            return true;
    return false;
}

static void query_end(struct spark_state *s, const cJSON *e)
{
    int64_t id = json_int_or(e, "executionId", -1);
    const char *failure = json_str(e, "errorMessage"); // "" when it went well
    if (id < 0)
        return;
    struct spark_query *q = spark_query_at(s, id);
    bool failed = (failure && *failure) || has_failed_job(s, id);
    q->is = failed ? SPARK_FAILED : SPARK_COMPLETE;
    q->ended = number(e, "time");
    spark_cause_of(&q->cause, failure);
}

// ---- lines and files

#define SQL "org.apache.spark.sql.execution.ui.SparkListenerSQL"
static const struct {
    const char *name;
    void (*take)(struct spark_state *s, const cJSON *event);
} events[] = {{"SparkListenerTaskEnd", task_end}, {"SparkListenerTaskStart", task_start},
    {"SparkListenerStageSubmitted", stage_submitted},
    {"SparkListenerStageCompleted", stage_completed}, {"SparkListenerJobStart", job_start},
    {"SparkListenerJobEnd", job_end}, {"SparkListenerExecutorAdded", executor_added},
    {"SparkListenerExecutorRemoved", executor_removed},
    {"SparkListenerBlockManagerAdded", block_manager_added},
    {"SparkListenerStageExecutorMetrics", stage_executor_metrics},
    {"SparkListenerExecutorMetricsUpdate", executor_metrics_update},
    {"SparkListenerLogStart", log_start}, {"SparkListenerApplicationStart", application_start},
    {"SparkListenerApplicationEnd", application_end}, {SQL "ExecutionStart", query_start},
    {SQL "ExecutionEnd", query_end}};

// Spark writes the name first: of events that are not used the rest is not read.
static size_t event_of(const char *line, size_t n)
{
    static const char begin[] = "{\"Event\":\"";
    size_t from = strlen(begin), i = 0;
    const char *end =
        n > from && memcmp(line, begin, from) == 0 ? memchr(line + from, '"', n - from) : NULL;
    size_t length = end ? (size_t)(end - line) - from : 0;
    while (i < ARRAY_LEN(events) && !(length && strlen(events[i].name) == length &&
                                        memcmp(events[i].name, line + from, length) == 0))
        i++;
    return i;
}

void spark_event_line(struct spark_state *s, const char *line, size_t n)
{
    size_t i = event_of(line, n);
    if (i == ARRAY_LEN(events))
        return;
    AUTO_JSON *event = json_parse(line, n, NULL);
    if (cJSON_IsObject(event))
        events[i].take(s, event);
}

struct reading {
    struct spark_state *state;
    bool (*goes_on)(void *arg);
    void (*line)(void *arg, const char *text, size_t n);
    void *arg;
    bool any; // an event of Spark was there
};

static int read_lines(struct reading *r, FILE *f, const char *path, err *e)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    for (size_t i = 1; (n = getline(&line, &room, f)) > 0; i++) {
        if (r->line)
            r->line(r->arg, line, (size_t)n);
        r->any |= str_starts(line, "{\"Event\":\"");
        if (n <= LINE_MOST)
            spark_event_line(r->state, line, (size_t)n);
        if (!r->any && i > ASK_EVERY)
            break;
        if (i % ASK_EVERY == 0 && r->goes_on && !r->goes_on(r->arg)) {
            free(line);
            return err_set(e, ERR_CANCELLED, "reading %s was interrupted", path);
        }
    }
    free(line);
    return 0;
}

static int read_file(struct reading *r, const char *path, err *e)
{
    static const char zstd[] = {0x28, (char)0xb5, 0x2f, (char)0xfd};
    char head[sizeof zstd] = {0};
    struct stat st;
    FILE *f = fopen(path, "re");
    if (!f)
        return err_errno(e, errno, "%s", path);
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode)) {
        fclose(f);
        return err_set(e, ERR_INVALID, "%s is no file", path);
    }
    bool packed =
        fread(head, 1, sizeof head, f) == sizeof head && memcmp(head, zstd, sizeof zstd) == 0;
    rewind(f);
    int done = packed
                   ? err_set(e, ERR_INVALID, "%s is compressed: `zstd -d` makes it readable", path)
                   : read_lines(r, f, path, e);
    fclose(f);
    return done;
}

// The number in "events_12_app-…"; -1: the file is no part of a log.
static int64_t part_of(const char *name)
{
    static const char begin[] = "events_";
    int64_t n = -1;
    if (!str_starts(name, begin))
        return -1;
    AUTO_FREE char *digits =
        mem_strndup(name + strlen(begin), strspn(name + strlen(begin), "0123456789"));
    return str_to_int(digits, &n) ? n : -1;
}

static int by_part(const struct dirent **a, const struct dirent **b)
{
    int64_t x = part_of((*a)->d_name), y = part_of((*b)->d_name);
    return (x > y) - (x < y);
}

static int is_part(const struct dirent *d)
{
    return part_of(d->d_name) >= 0;
}

static int read_folder(struct reading *r, const char *path, err *e)
{
    struct dirent **parts = NULL;
    int done = 0, n = scandir(path, &parts, is_part, by_part);
    if (n < 0)
        return err_errno(e, errno, "%s", path);
    for (int i = 0; i < n; i++) {
        AUTO_FREE char *part = path_join(path, parts[i]->d_name);
        if (done == 0)
            done = read_file(r, part, e);
        free(parts[i]);
    }
    free(parts);
    return done;
}

int spark_event_file(struct spark_state *s, const char *path, bool (*goes_on)(void *arg),
    void (*line)(void *arg, const char *text, size_t n), void *arg, err *e)
{
    struct reading r = {.state = s, .goes_on = goes_on, .line = line, .arg = arg};
    if ((path_is_dir(path) ? read_folder : read_file)(&r, path, e) < 0)
        return -1;
    return r.any ? 0 : err_set(e, ERR_INVALID, "%s is no event log of Spark", path);
}
