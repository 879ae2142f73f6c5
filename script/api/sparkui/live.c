// SPDX-License-Identifier: MIT
#include "script/api/sparkui/live.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/request.h"
#include "k8s/client/connect/status.h"
#include "script/api/sparkui/rest.h"
#include "script/api/sparkui/tables.h"

#include <string.h>

enum {
    FIRST_MS = 250,        // between the requests of the first round
    AWAY_MOST_MS = 30000,  // between two tries of a driver that does not answer
    GONE_AFTER = 4,        // tries after which a driver that had answered has ended
    IDLE_MS = 10000,       // of an answer
    ANSWER_MAX = 64 << 20, // bytes
};

struct spark_live {
    loop *loop;
    struct spark_source source;
    struct spark_limits limits;
    int every_ms;
    display *(*show)(void *arg, cJSON *data);
    void (*refused)(void *arg, const err *why);
    void *arg;
    bool own, over, told;
    bool busy, unwanted; // busy: a display is being fed; unwanted: frees itself afterwards
    struct spark_state state;
    struct spark_rest rest;
    display *shown[SPARK_TABLE_COUNT];
    char *last[SPARK_TABLE_COUNT]; // what each shows, as text
    loop_timer *timer;
    http_stream *stream;
    operation *operation;
    int failures; // in a row
};

bool spark_is_driver(const cJSON *pod)
{
    return str_eq(json_str(json_path(pod, "metadata.labels"), "spark-role"), "driver");
}

int spark_ui_port(const cJSON *pod)
{
    const cJSON *container, *port;
    cJSON_ArrayForEach(container, json_path(pod, "spec.containers"))
    {
        cJSON_ArrayForEach(port, json_get(container, "ports"))
        {
            if (str_eq(json_str(port, "name"), "spark-ui"))
                return (int)json_int_or(port, "containerPort", SPARK_UI_PORT);
        }
    }
    return SPARK_UI_PORT;
}

char *spark_source_path(const struct spark_source *from, const char *path)
{
    AUTO_BUF out = {0};
    if (from->url) {
        size_t n = strlen(from->url);
        while (n && from->url[n - 1] == '/')
            n--;
        buf_add(&out, from->url, n);
    } else {
        buf_str(&out, "/api/v1/namespaces/");
        url_escape(&out, from->ns);
        buf_str(&out, "/pods/");
        url_escape(&out, from->pod);
        buf_fmt(&out, ":%d/proxy", from->port ? from->port : SPARK_UI_PORT);
    }
    buf_fmt(&out, "/api/v1%s", path);
    return buf_take(&out);
}

// ---- showing

static void on_end(void *arg);
static void again(spark_live *l);

static bool is_empty(const struct spark_state *s, enum spark_table which, const cJSON *findings)
{
    return (which == SPARK_TABLE_FINDINGS && !cJSON_GetArraySize(findings)) ||
           (which == SPARK_TABLE_QUERIES && !s->n_queries) ||
           (which == SPARK_TABLE_EXECUTORS && !s->n_executors) ||
           (which == SPARK_TABLE_JOBS && !s->n_jobs);
}

static display *open_display(spark_live *l, enum spark_table which, cJSON *data)
{
    display *d = which == SPARK_TABLE_STAGES ? l->show(l->arg, data)
                                             : display_beside(l->shown[SPARK_TABLE_STAGES], data);
    if (d)
        display_on_end(d, on_end, NULL, l);
    return d;
}

static void show_one(spark_live *l, enum spark_table which, cJSON *data)
{
    AUTO_FREE char *text = json_to_str(data);
    if (str_eq(text, l->last[which])) {
        cJSON_Delete(data);
        return;
    }
    free(l->last[which]);
    l->last[which] = STEAL(text);
    if (l->shown[which])
        display_replace(l->shown[which], data);
    else
        l->shown[which] = open_display(l, which, data);
}

// A display may end the whole at once: then it frees itself when the caller calls `settle`.
static void show(spark_live *l, const struct spark_state *s, const char *note)
{
    AUTO_JSON *findings = spark_findings(s, &l->limits);
    int64_t now_ms = clock_wall() / CLOCK_MS;
    l->busy = true;
    for (int i = 0; i < SPARK_TABLE_COUNT && !l->over; i++)
        if ((l->shown[i] || !is_empty(s, (enum spark_table)i, findings)) &&
            (i == 0 || l->shown[SPARK_TABLE_STAGES]))
            show_one(l, (enum spark_table)i,
                spark_bundle(s, (enum spark_table)i, findings, i ? NULL : note, now_ms));
    l->busy = false;
}

static void stop(spark_live *l)
{
    http_stream_close(STEAL(l->stream));
    operation_cancel(STEAL(l->operation));
    loop_timer_stop(l->timer);
}

static void close_displays(spark_live *l)
{
    l->over = true;
    stop(l);
    for (int i = SPARK_TABLE_COUNT; i-- > 0;) {
        display *d = STEAL(l->shown[i]);
        if (d)
            display_close(d, NULL);
    }
}

static void release(spark_live *l)
{
    close_displays(l);
    loop_timer_free(l->timer);
    for (int i = 0; i < SPARK_TABLE_COUNT; i++)
        free(l->last[i]);
    spark_state_done(&l->state);
    free((char *)l->source.url);
    free((char *)l->source.ns);
    free((char *)l->source.pod);
    free(l);
}

// The run ends, or the cell begins again.
static void on_end(void *arg)
{
    spark_live *l = arg;
    close_displays(l);
    l->unwanted |= l->own;
    if (l->unwanted && !l->busy)
        release(l);
}

// After `show`: goes on, unless the run has ended meanwhile.
static void settle(spark_live *l)
{
    if (l->unwanted)
        release(l);
    else if (!l->over)
        again(l);
}

// ---- asking

static void again(spark_live *l)
{
    int64_t ms = l->every_ms;
    if (l->failures)
        ms = ms << (l->failures < 5 ? l->failures : 5);
    else if (!l->rest.has[SPARK_ASK_SQL])
        ms = FIRST_MS < ms ? FIRST_MS : ms;
    loop_timer_start(l->timer, (uint64_t)(ms < AWAY_MOST_MS ? ms : AWAY_MOST_MS), 0);
}

static void refuse(spark_live *l, const err *why)
{
    if (!l->told && l->refused)
        l->refused(l->arg, why);
    l->told = true;
}

// The driver answers no more: its application has ended, since the proxy is not what fails.
static void is_gone(spark_live *l)
{
    spark_state_end(&l->state, clock_wall() / CLOCK_MS);
    if (l->shown[SPARK_TABLE_STAGES])
        show(l, &l->state, NULL);
    on_end(l);
}

static void failed(spark_live *l, const err *why)
{
    l->failures++;
    if (l->rest.has[SPARK_ASK_JOBS] && l->failures >= GONE_AFTER) {
        is_gone(l);
        return;
    }
    if (l->shown[SPARK_TABLE_STAGES] && l->failures == GONE_AFTER - 1)
        show(l, &l->state, why->text);
    settle(l);
}

static void take(spark_live *l, struct http_response *r)
{
    AUTO_JSON *answer = json_parse(r->body.data ? r->body.data : "", r->body.len, NULL);
    if (!answer) { // a page of something else, or a UI that is being started
        err why = {0};
        err_set(&why, ERR_INVALID, "the driver's answer is not Spark's");
        failed(l, &why);
        return;
    }
    l->failures = 0;
    l->rest.now_ms = clock_wall() / CLOCK_MS;
    spark_rest_take(&l->rest, answer);
    if (l->rest.has[SPARK_ASK_JOBS])
        show(l, &l->state, NULL);
    settle(l);
}

static bool is_refusal(int status)
{
    return status == 401 || status == 403;
}

static void on_done(void *arg, struct http_response *r, const err *e)
{
    spark_live *l = arg;
    err why = *e;
    l->stream = NULL;
    l->operation = NULL;
    if (e->code == ERR_NONE && r->status / 100 == 2) {
        take(l, r);
        return;
    }
    if (e->code == ERR_NONE && l->source.client)
        status_error(r, "ask the driver of Spark", client_who(l->source.client), &why);
    else if (e->code == ERR_NONE)
        err_set(&why, ERR_FAILED, "the driver answers with status %d", r->status);
    if (e->code == ERR_NONE && is_refusal(r->status))
        refuse(l, &why);
    bool known = l->rest.has[SPARK_ASK_APPS] && e->code == ERR_NONE && r->status == 404;
    if (!known || l->rest.asked == SPARK_ASK_LIST || l->rest.asked == SPARK_ASK_JOBS) {
        failed(l, &why);
        return;
    }
    spark_rest_refused(&l->rest, r->status);
    again(l);
}

static const struct http_stream_ops answers = {.done = on_done};

static void ask(spark_live *l)
{
    AUTO_BUF path = {0};
    err why = {0};
    spark_rest_next(&l->rest, &path);
    AUTO_FREE char *whole = spark_source_path(&l->source, buf_cstr(&path));
    if (!l->source.url) {
        l->operation = operation_start(l->source.client,
            &(struct request){.path = whole,
                .pool = HTTP_POOL_REQUESTS,
                .idle_timeout_ms = IDLE_MS,
                .limit = ANSWER_MAX,
                .repeatable = true,
                .what = "ask the driver of Spark"},
            &answers, l);
        return;
    }
    l->stream = http_stream_open(l->source.http,
        &(struct http_request){.url = whole,
            .pool = HTTP_POOL_REQUESTS,
            .connect_timeout_ms = IDLE_MS,
            .idle_timeout_ms = IDLE_MS,
            .limit = ANSWER_MAX},
        &answers, l, &why);
    if (!l->stream)
        failed(l, &why);
}

static void tick(void *arg)
{
    spark_live *l = arg;
    const display *first = l->shown[SPARK_TABLE_STAGES];
    if (first && !display_is_looked_at(first))
        loop_timer_start(l->timer, (uint64_t)l->every_ms, 0);
    else
        ask(l);
}

spark_live *spark_live_open(loop *loop_, const struct spark_live_spec *spec)
{
    spark_live *l = mem_alloc(sizeof *l);
    *l = (spark_live){.loop = loop_,
        .source = spec->source,
        .limits = spec->limits,
        .every_ms = spec->every_ms > 0 ? spec->every_ms : SPARK_UI_EVERY_MS,
        .show = spec->show,
        .refused = spec->refused,
        .arg = spec->arg,
        .own = spec->own};
    l->source.url = mem_strdup(spec->source.url);
    l->source.ns = mem_strdup(spec->source.ns);
    l->source.pod = mem_strdup(spec->source.pod);
    spark_rest_init(&l->rest, &l->state);
    l->timer = loop_timer_new(loop_, tick, l);
    loop_timer_start(l->timer, 0, 0);
    return l;
}

void spark_live_end(spark_live *l, const struct spark_state *final, const char *note)
{
    if (l->over)
        return;
    stop(l);
    if (!final)
        spark_state_end(&l->state, clock_wall() / CLOCK_MS);
    if (final || l->rest.has[SPARK_ASK_JOBS])
        show(l, final ? final : &l->state, note);
    close_displays(l);
}

const struct spark_state *spark_live_state(const spark_live *l)
{
    return &l->state;
}

void spark_live_free(spark_live *l)
{
    if (l)
        release(l);
}
