// SPDX-License-Identifier: MIT
#include "script/api/sparkui/rest.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/net/http.h"

#include <string.h>

enum {
    BULK = 3,          // of more ended stages than these, all are asked for at once
    BULK_MOST = 100,   // but not of more than these
    BY_EXECUTOR = 200, // stages with more tasks are not asked what each executor spilled
    LIST_EVERY = 30,   // steps between two lists of all stages
};
#define SUMMARY "withSummaries=true&quantiles=0.5,1.0"

static const enum spark_ask round_of[] = {SPARK_ASK_ACTIVE, SPARK_ASK_JOBS, SPARK_ASK_ACTIVE,
    SPARK_ASK_EXECUTORS, SPARK_ASK_ACTIVE, SPARK_ASK_SQL};

void spark_rest_init(struct spark_rest *r, struct spark_state *state)
{
    *r = (struct spark_rest){.state = state, .ran_stage = -1};
}

// ---- what is asked next

static bool has_ended(const struct spark_stage *g)
{
    return g->is == SPARK_COMPLETE || g->is == SPARK_FAILED;
}

// What each executor spilled is told with the details of one stage alone.
static bool has_spill(const struct spark_stage *g)
{
    return g->disk_spilled > 0 && g->tasks <= BY_EXECUTOR;
}

static bool wants_settling(const struct spark_stage *g)
{
    return has_ended(g) && !g->settled;
}

static const struct spark_stage *youngest(
    const struct spark_state *s, bool (*wanted)(const struct spark_stage *g))
{
    for (size_t i = s->n_stages; i-- > 0;)
        if (wanted(&s->stages[i]))
            return &s->stages[i];
    return NULL;
}

static size_t unsettled(const struct spark_state *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_stages; i++)
        n += wants_settling(&s->stages[i]) && !has_spill(&s->stages[i]);
    return n;
}

static bool is_looked_for(const struct spark_stage *g)
{
    return g->looked_for;
}

static bool has_new_failures(const struct spark_stage *g)
{
    return g->failed > g->asked_failed;
}

// Of a stage that is nearly done, what still runs may be what it waits for.
static bool is_nearly_done(const struct spark_stage *g)
{
    return g->is == SPARK_ACTIVE && g->active > 0 && g->done >= g->active &&
           g->done * 2 >= g->tasks;
}

static enum spark_ask about(struct spark_rest *r, enum spark_ask ask, const struct spark_stage *g)
{
    r->stage = g->id;
    r->attempt = g->attempt;
    return ask;
}

static enum spark_ask choose(struct spark_rest *r)
{
    static const enum spark_ask first[] = {
        SPARK_ASK_APPS, SPARK_ASK_LIST, SPARK_ASK_JOBS, SPARK_ASK_EXECUTORS, SPARK_ASK_SQL};
    const struct spark_state *s = r->state;
    const struct spark_stage *g;
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        if (!r->has[first[i]])
            return first[i];
    r->since_list++;
    size_t open = unsettled(s);
    if (open > BULK && open <= BULK_MOST)
        return SPARK_ASK_SETTLE;
    bool even = r->since_list % 2 == 0; // what is active gets every second request
    if (even && (g = youngest(s, is_looked_for)))
        return about(r, SPARK_ASK_STAGE, g);
    if (even && (g = youngest(s, has_new_failures)))
        return about(r, SPARK_ASK_FAILED, g);
    if (even && (g = youngest(s, wants_settling)))
        return about(r, SPARK_ASK_STAGE, g);
    if (even && (g = youngest(s, is_nearly_done)) && r->ran_stage != g->id) {
        r->ran_stage = g->id;
        return about(r, SPARK_ASK_RUNNING, g);
    }
    if (r->list_again && r->since_list >= LIST_EVERY)
        return SPARK_ASK_LIST;
    enum spark_ask ask = round_of[r->step++ % ARRAY_LEN(round_of)];
    if (r->step % ARRAY_LEN(round_of) == 0)
        r->ran_stage = -1;
    return ask == SPARK_ASK_SQL && r->no_sql ? SPARK_ASK_ACTIVE : ask;
}

void spark_rest_next(struct spark_rest *r, buf *path)
{
    r->asked = choose(r);
    buf_str(path, "/applications");
    if (r->asked == SPARK_ASK_APPS)
        return;
    buf_char(path, '/');
    url_escape(path, r->state->app ? r->state->app : ""); // a driver may say anything
    long long stage = (long long)r->stage, attempt = (long long)r->attempt;
    switch (r->asked) {
    case SPARK_ASK_APPS:
        break;
    case SPARK_ASK_LIST:
        buf_str(path, "/stages");
        break;
    case SPARK_ASK_SETTLE:
        buf_str(path, "/stages?" SUMMARY);
        break;
    case SPARK_ASK_ACTIVE:
        buf_str(path, "/stages?status=active&" SUMMARY);
        break;
    case SPARK_ASK_STAGE:
        buf_fmt(path, "/stages/%lld/%lld?details=%s&" SUMMARY, stage, attempt,
            has_spill(spark_stage_at(r->state, r->stage, r->attempt)) ? "true" : "false");
        break;
    case SPARK_ASK_FAILED:
        buf_fmt(path, "/stages/%lld/%lld/taskList?status=failed&length=1", stage, attempt);
        break;
    case SPARK_ASK_RUNNING:
        buf_fmt(path, "/stages/%lld/%lld/taskList?status=running&length=50", stage, attempt);
        break;
    case SPARK_ASK_JOBS:
        buf_str(path, "/jobs");
        break;
    case SPARK_ASK_EXECUTORS:
        buf_str(path, "/allexecutors");
        break;
    case SPARK_ASK_SQL:
        buf_str(path, "/sql?details=false&planDescription=false&offset=0&length=1000");
        break;
    }
}

// ---- what is answered

// "2026-01-02T03:04:05.678GMT" in wall ms; 0: there is none. The end of what runs is before 1970.
static int64_t time_of(const cJSON *j, const char *name)
{
    int64_t ns = 0;
    AUTO_FREE char *text = mem_strdup(json_str(j, name));
    size_t n = text ? strlen(text) : 0;
    if (n < 4 || !str_ends(text, "GMT"))
        return 0;
    memcpy(text + n - 3, "Z", 2);
    return clock_parse_rfc3339(text, &ns, NULL) == 0 && ns > 0 ? ns / CLOCK_MS : 0;
}

static int64_t count_of(const cJSON *j, const char *name)
{
    int64_t n = json_int_or(j, name, 0);
    return n <= 0 ? 0 : n < SPARK_MOST_ADDED ? n : SPARK_MOST_ADDED;
}

static enum spark_is state_named(const char *name, enum spark_is otherwise)
{
    static const struct {
        const char *name;
        enum spark_is is;
    } names[] = {{"PENDING", SPARK_PENDING}, {"ACTIVE", SPARK_ACTIVE}, {"RUNNING", SPARK_ACTIVE},
        {"COMPLETE", SPARK_COMPLETE}, {"SUCCEEDED", SPARK_COMPLETE}, {"COMPLETED", SPARK_COMPLETE},
        {"FAILED", SPARK_FAILED}, {"SKIPPED", SPARK_SKIPPED}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(names[i].name, name))
            return names[i].is;
    return otherwise;
}

// One of the quantiles that were asked for: 0 the median, 1 the greatest.
static int64_t quantile(const cJSON *list, int i)
{
    double value = 0;
    return json_number(cJSON_GetArrayItem(list, i), &value) && value > 0 &&
                   value < (double)SPARK_MOST
               ? (int64_t)value
               : 0;
}

static void take_spread(struct spark_stage *g, const cJSON *item)
{
    const cJSON *d = json_get(item, "taskMetricsDistributions");
    const cJSON *times = json_get(d, "duration");
    if (!cJSON_IsArray(times)) // before Spark 3.1
        times = json_get(d, "executorRunTime");
    if (!cJSON_IsArray(times))
        return;
    const cJSON *shuffle = json_path(d, "shuffleReadMetrics.readBytes");
    const cJSON *input = json_path(d, "inputMetrics.bytesRead");
    bool by_shuffle = quantile(shuffle, 1) >= quantile(input, 1);
    const cJSON *read = by_shuffle ? shuffle : input;
    g->spread = (struct spark_spread){.median_ms = quantile(times, 0),
        .max_ms = quantile(times, 1),
        .median_read = quantile(read, 0),
        .max_read = quantile(read, 1),
        .shuffle = by_shuffle,
        .slowest_read = -1};
}

// What executors spilled is told with a stage's details, once.
static void take_spill(struct spark_rest *r, const struct spark_stage *g, const cJSON *item)
{
    const cJSON *x;
    if (g->settled)
        return;
    cJSON_ArrayForEach(x, json_get(item, "executorSummary"))
    {
        struct spark_executor *of = spark_executor_at(r->state, x->string);
        of->spilled += count_of(x, "diskBytesSpilled");
        of->spill_known = true;
    }
}

static void take_stage(struct spark_rest *r, const cJSON *item)
{
    int64_t id = json_int_or(item, "stageId", -1);
    if (id < 0)
        return;
    struct spark_stage *g = spark_stage_at(r->state, id, json_int_or(item, "attemptId", 0));
    spark_text(&g->name, json_str(item, "name"));
    g->is = state_named(json_str(item, "status"), g->is);
    g->tasks = count_of(item, "numTasks");
    g->active = count_of(item, "numActiveTasks");
    g->done = count_of(item, "numCompleteTasks");
    g->failed = count_of(item, "numFailedTasks");
    g->killed = count_of(item, "numKilledTasks");
    g->begun = time_of(item, "submissionTime");
    g->ended = time_of(item, "completionTime");
    g->run_ms = count_of(item, "executorRunTime");
    g->gc_ms = count_of(item, "jvmGcTime");
    g->input = count_of(item, "inputBytes");
    g->output = count_of(item, "outputBytes");
    g->shuffle_read = count_of(item, "shuffleReadBytes");
    g->shuffle_write = count_of(item, "shuffleWriteBytes");
    g->memory_spilled = count_of(item, "memoryBytesSpilled");
    g->disk_spilled = count_of(item, "diskBytesSpilled");
    spark_cause_of(&g->cause, json_str(item, "failureReason"));
    take_spread(g, item);
    take_spill(r, g, item);
    bool whole = r->asked == SPARK_ASK_STAGE || (r->asked == SPARK_ASK_SETTLE && !has_spill(g));
    g->settled |= whole && has_ended(g);
    g->running_ms = g->is == SPARK_ACTIVE ? g->running_ms : 0;
    g->looked_for = false;
}

// The driver lists the youngest first; here they stand as they came.
static void each_backwards(
    struct spark_rest *r, const cJSON *list, void (*take)(struct spark_rest *r, const cJSON *item))
{
    const cJSON *first = cJSON_IsArray(list) ? list->child : NULL;
    const cJSON *item = first ? first->prev : NULL;
    while (item) {
        take(r, item);
        item = item == first ? NULL : item->prev;
    }
}

static bool is_listed(const cJSON *list, const struct spark_stage *g)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (json_int_or(item, "stageId", -1) == g->id &&
            json_int_or(item, "attemptId", 0) == g->attempt)
            return true;
    }
    return false;
}

static void look_for_ended(struct spark_rest *r, const cJSON *active)
{
    for (size_t i = 0; i < r->state->n_stages; i++) {
        struct spark_stage *g = &r->state->stages[i];
        g->looked_for |= g->is == SPARK_ACTIVE && !is_listed(active, g);
    }
}

static void take_running(struct spark_rest *r, const cJSON *list)
{
    struct spark_stage *g = spark_stage_at(r->state, r->stage, r->attempt);
    int64_t longest = 0;
    const cJSON *task;
    cJSON_ArrayForEach(task, list)
    {
        // The driver counts it anew only every ten seconds, with a heartbeat.
        int64_t ms = count_of(task, "duration"), begun = time_of(task, "launchTime");
        if (begun && r->now_ms - begun > ms)
            ms = r->now_ms - begun;
        longest = ms > longest ? ms : longest;
    }
    g->running_ms = longest;
}

static void take_failed(struct spark_rest *r, const cJSON *list)
{
    struct spark_stage *g = spark_stage_at(r->state, r->stage, r->attempt);
    g->asked_failed = g->failed;
    if (g->is != SPARK_FAILED || !g->cause)
        spark_cause_of(&g->cause, json_str(cJSON_GetArrayItem(list, 0), "errorMessage"));
}

static bool knows_stage(const struct spark_state *s, int64_t id)
{
    for (size_t i = s->n_stages; i-- > 0;)
        if (s->stages[i].id == id)
            return true;
    return false;
}

// Stages that came and went between two requests; and those that a job that has ended did without.
static void take_stages_of(struct spark_rest *r, const struct spark_job *j)
{
    for (size_t i = 0; i < j->n_stage_ids; i++)
        r->list_again |= !knows_stage(r->state, j->stage_ids[i]);
    for (size_t i = 0; j->ended && i < r->state->n_stages; i++)
        for (size_t k = 0; k < j->n_stage_ids; k++)
            if (r->state->stages[i].id == j->stage_ids[k] &&
                r->state->stages[i].is == SPARK_PENDING)
                r->state->stages[i].is = SPARK_SKIPPED;
}

static void take_job(struct spark_rest *r, const cJSON *item)
{
    int64_t id = json_int_or(item, "jobId", -1);
    if (id < 0)
        return;
    struct spark_job *j = spark_job_at(r->state, id);
    const cJSON *ids = json_get(item, "stageIds");
    const char *words = json_str(item, "description");
    spark_text(&j->name, words ? words : json_str(item, "name"));
    j->is = state_named(json_str(item, "status"), j->is);
    j->begun = time_of(item, "submissionTime");
    j->ended = time_of(item, "completionTime");
    j->tasks = count_of(item, "numTasks");
    j->active = count_of(item, "numActiveTasks");
    j->done = count_of(item, "numCompletedTasks");
    j->skipped = count_of(item, "numSkippedTasks");
    j->failed = count_of(item, "numFailedTasks");
    j->stages_done = count_of(item, "numCompletedStages");
    j->stages_skipped = count_of(item, "numSkippedStages");
    j->stages_failed = count_of(item, "numFailedStages");
    j->stages = cJSON_GetArraySize(ids);
    free(j->stage_ids);
    j->stage_ids = mem_array((size_t)j->stages + 1, sizeof *j->stage_ids);
    j->n_stage_ids = 0;
    const cJSON *stage;
    cJSON_ArrayForEach(stage, ids)
    {
        j->n_stage_ids += json_int(stage, &j->stage_ids[j->n_stage_ids]);
    }
    take_stages_of(r, j);
}

static void take_executor(struct spark_rest *r, const cJSON *item)
{
    const char *id = json_str(item, "id");
    if (!id)
        return;
    struct spark_executor *x = spark_executor_at(r->state, id);
    spark_text(&x->host, json_str(item, "hostPort"));
    if (x->host)
        x->host[strcspn(x->host, ":")] = '\0';
    x->gone = !json_bool_or(item, "isActive", true);
    spark_text(&x->why, json_str(item, "removeReason"));
    x->cores = count_of(item, "totalCores");
    x->active = count_of(item, "activeTasks");
    x->done = count_of(item, "completedTasks");
    x->failed = count_of(item, "failedTasks");
    x->run_ms = count_of(item, "totalDuration");
    x->gc_ms = count_of(item, "totalGCTime");
    x->shuffle_read = count_of(item, "totalShuffleRead");
    x->shuffle_write = count_of(item, "totalShuffleWrite");
    x->input = count_of(item, "totalInputBytes");
    x->stored = count_of(item, "memoryUsed");
    x->storage = count_of(item, "maxMemory");
    x->peak = count_of(json_get(item, "peakMemoryMetrics"), "JVMHeapMemory");
}

static int64_t note_jobs(struct spark_rest *r, int64_t query, const cJSON *ids)
{
    const cJSON *id;
    int64_t n = 0, number;
    cJSON_ArrayForEach(id, ids)
    {
        if (!json_int(id, &number))
            continue;
        n++;
        for (size_t i = r->state->n_jobs; i-- > 0;)
            if (r->state->jobs[i].id == number)
                r->state->jobs[i].query = query;
    }
    return n;
}

static void take_query(struct spark_rest *r, const cJSON *item)
{
    int64_t id = json_int_or(item, "id", -1);
    if (id < 0)
        return;
    struct spark_query *q = spark_query_at(r->state, id);
    spark_text(&q->what, json_str(item, "description"));
    q->is = state_named(json_str(item, "status"), q->is);
    q->begun = time_of(item, "submissionTime");
    q->ended = q->is == SPARK_ACTIVE ? 0 : q->begun + count_of(item, "duration");
    q->jobs = note_jobs(r, id, json_get(item, "runningJobIds")) +
              note_jobs(r, id, json_get(item, "successJobIds")) +
              note_jobs(r, id, json_get(item, "failedJobIds"));
    spark_text(&q->cause, json_str(item, "errorMessage")); // Spark 4
}

static void take_app(struct spark_state *s, const cJSON *item)
{
    const cJSON *attempts = json_get(item, "attempts"), *last = cJSON_GetArrayItem(attempts, 0);
    spark_text(&s->app, json_str(item, "id"));
    spark_text(&s->name, json_str(item, "name"));
    spark_text(&s->version, json_str(last, "appSparkVersion"));
    s->begun = time_of(last, "startTime");
    if (json_bool_or(last, "completed", false))
        s->ended = time_of(last, "endTime");
}

void spark_rest_take(struct spark_rest *r, const cJSON *answer)
{
    const cJSON *item;
    r->has[r->asked] = r->asked != SPARK_ASK_APPS || json_str(cJSON_GetArrayItem(answer, 0), "id");
    switch (r->asked) {
    case SPARK_ASK_APPS:
        take_app(r->state, cJSON_GetArrayItem(answer, 0));
        break;
    case SPARK_ASK_LIST:
        r->list_again = false;
        r->since_list = 0;
        each_backwards(r, answer, take_stage);
        break;
    case SPARK_ASK_SETTLE:
        each_backwards(r, answer, take_stage);
        break;
    case SPARK_ASK_ACTIVE:
        each_backwards(r, answer, take_stage);
        look_for_ended(r, answer);
        break;
    case SPARK_ASK_STAGE:
        if (cJSON_IsArray(answer)) // /stages/ID lists attempts
            answer = cJSON_GetArrayItem(answer, 0);
        take_stage(r, answer);
        break;
    case SPARK_ASK_FAILED:
        take_failed(r, answer);
        break;
    case SPARK_ASK_RUNNING:
        take_running(r, answer);
        break;
    case SPARK_ASK_JOBS:
        each_backwards(r, answer, take_job);
        break;
    case SPARK_ASK_EXECUTORS:
        each_backwards(r, answer, take_executor);
        break;
    case SPARK_ASK_SQL:
        cJSON_ArrayForEach(item, answer) // the oldest first, unlike the others
        {
            take_query(r, item);
        }
        break;
    }
}

void spark_rest_refused(struct spark_rest *r, int status)
{
    if (r->asked == SPARK_ASK_SQL) {
        r->no_sql = r->has[SPARK_ASK_SQL] = true;
        return;
    }
    if (r->asked != SPARK_ASK_STAGE && r->asked != SPARK_ASK_FAILED &&
        r->asked != SPARK_ASK_RUNNING)
        return;
    struct spark_stage *g = spark_stage_at(r->state, r->stage, r->attempt);
    if (g->looked_for) // the driver has forgotten it: it has ended
        g->is = SPARK_COMPLETE;
    g->looked_for = false;
    g->settled = true;
    g->asked_failed = g->failed;
}

bool spark_rest_is_whole(const struct spark_rest *r)
{
    if (!r->has[SPARK_ASK_APPS] || !r->has[SPARK_ASK_LIST] || !r->has[SPARK_ASK_JOBS] ||
        !r->has[SPARK_ASK_EXECUTORS] || !r->has[SPARK_ASK_SQL])
        return false;
    return !youngest(r->state, is_looked_for) && !youngest(r->state, has_new_failures) &&
           !youngest(r->state, wants_settling);
}
