// SPDX-License-Identifier: MIT
#include "trainer/serve/counts.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>

// Upper ends of the latency's buckets, in milliseconds; the last bucket has none.
static const double latency_ms[] = {
    0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000};
enum { LATENCIES = ARRAY_LEN(latency_ms) + 1, CODES = 8, OK = 200 };

struct model_counts {
    const char *name;
    struct {
        unsigned code; // 0: none yet
        uint64_t n;
    } answers[CODES];
    uint64_t latency[LATENCIES], batches, batched, rows;
    int64_t ns, ns_of_failures, last_ms; // when the last one was answered, since 1970
};

struct counts {
    pthread_mutex_t lock;
    uint64_t lost_records;
    size_t n;
    struct model_counts of[];
};

counts *counts_new(const char *const *models, size_t n)
{
    counts *c = mem_alloc(sizeof *c + n * sizeof *c->of);
    c->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    c->n = n;
    for (size_t i = 0; i < n; i++)
        c->of[i].name = models[i];
    return c;
}

void counts_free(counts *c)
{
    if (!c)
        return;
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void counts_answer(counts *c, size_t i, unsigned code, int64_t ns)
{
    struct model_counts *m = &c->of[i];
    size_t k = 0, bucket = 0;
    double ms = (double)ns / (double)CLOCK_MS;
    while (bucket < ARRAY_LEN(latency_ms) && ms > latency_ms[bucket])
        bucket++;
    pthread_mutex_lock(&c->lock);
    while (k < CODES - 1 && m->answers[k].code && m->answers[k].code != code)
        k++;
    m->answers[k].code = code;
    m->answers[k].n++;
    m->latency[bucket]++;
    m->ns += ns;
    m->ns_of_failures += code == OK ? 0 : ns;
    m->last_ms = clock_wall() / CLOCK_MS;
    pthread_mutex_unlock(&c->lock);
}

void counts_batch(counts *c, size_t i, size_t requests, size_t rows)
{
    pthread_mutex_lock(&c->lock);
    c->of[i].batches++;
    c->of[i].batched += requests;
    c->of[i].rows += rows;
    pthread_mutex_unlock(&c->lock);
}

void counts_lost_record(counts *c)
{
    pthread_mutex_lock(&c->lock);
    c->lost_records++;
    pthread_mutex_unlock(&c->lock);
}

static void put_label(buf *out, const char *name)
{
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            buf_char(out, '\\');
        buf_char(out, *name);
    }
}

static void put_about(buf *out, const char *name, const char *kind, const char *help)
{
    buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

// NAME{model="…"MORE} VALUE
static void put_count(
    buf *out, const char *name, const struct model_counts *m, const char *more, uint64_t value)
{
    buf_fmt(out, "%s{model=\"", name);
    put_label(out, m->name);
    buf_fmt(out, "\"%s} %llu\n", more, (unsigned long long)value);
}

static void put_latency(buf *out, const struct model_counts *m)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < LATENCIES; k++) {
        char more[48] = ",le=\"+Inf\"";
        sum += m->latency[k];
        if (k < ARRAY_LEN(latency_ms))
            snprintf(more, sizeof more, ",le=\"%g\"", latency_ms[k] / 1000);
        put_count(out, "firesteel_request_duration_seconds_bucket", m, more, sum);
    }
    buf_str(out, "firesteel_request_duration_seconds_sum{model=\"");
    put_label(out, m->name);
    buf_fmt(out, "\"} %.9g\n", (double)m->ns / (double)CLOCK_SEC);
    put_count(out, "firesteel_request_duration_seconds_count", m, "", sum);
}

static void put_answers(buf *out, const struct model_counts *m)
{
    for (size_t k = 0; k < CODES && m->answers[k].code; k++) {
        char more[24];
        snprintf(more, sizeof more, ",code=\"%u\"", m->answers[k].code);
        put_count(out, "firesteel_requests_total", m, more, m->answers[k].n);
    }
}

void counts_print(counts *c, const struct counts_now *now, buf *out)
{
    pthread_mutex_lock(&c->lock);
    put_about(out, "firesteel_requests_total", "counter",
        "Predictions that were asked for, by the answer's status.");
    for (size_t i = 0; i < c->n; i++)
        put_answers(out, &c->of[i]);
    put_about(out, "firesteel_request_duration_seconds", "histogram",
        "From the head of a request to its answer.");
    for (size_t i = 0; i < c->n; i++)
        put_latency(out, &c->of[i]);
    put_about(out, "firesteel_batches_total", "counter", "Predictions that were computed.");
    for (size_t i = 0; i < c->n; i++)
        put_count(out, "firesteel_batches_total", &c->of[i], "", c->of[i].batches);
    put_about(out, "firesteel_batched_requests_total", "counter", "Requests in them.");
    for (size_t i = 0; i < c->n; i++)
        put_count(out, "firesteel_batched_requests_total", &c->of[i], "", c->of[i].batched);
    put_about(out, "firesteel_rows_total", "counter", "Rows in them.");
    for (size_t i = 0; i < c->n; i++)
        put_count(out, "firesteel_rows_total", &c->of[i], "", c->of[i].rows);
    put_about(out, "firesteel_requests_waiting", "gauge", "Predictions under way and waiting.");
    buf_fmt(out, "firesteel_requests_waiting %d\n", now->waiting);
    put_about(out, "firesteel_held_bytes", "gauge", "Bodies and answers in memory.");
    buf_fmt(out, "firesteel_held_bytes %zu\n", now->held);
    put_about(out, "firesteel_connections", "gauge", "Connections that are open.");
    buf_fmt(out, "firesteel_connections %zu\n", now->connections);
    put_about(out, "firesteel_connections_most", "gauge", "Connections that may be open.");
    buf_fmt(out, "firesteel_connections_most %zu\n", now->most);
    put_about(out, "firesteel_connections_shown_out_total", "counter",
        "Connections that were closed because they were slow.");
    buf_fmt(
        out, "firesteel_connections_shown_out_total %llu\n", (unsigned long long)now->shown_out);
    put_about(
        out, "firesteel_lost_records_total", "counter", "Requests that could not be recorded.");
    buf_fmt(out, "firesteel_lost_records_total %llu\n", (unsigned long long)c->lost_records);
    pthread_mutex_unlock(&c->lock);
}

static void set_times(cJSON *of, const char *name, uint64_t n, int64_t ns)
{
    cJSON *j = json_object_at(of, name);
    json_set_int(j, "count", (int64_t)n);
    json_set_int(j, "ns", ns);
}

static cJSON *stats_of(const struct model_counts *m)
{
    cJSON *j = cJSON_CreateObject(), *times = json_object_at(j, "inference_stats");
    uint64_t good = 0, bad = 0;
    for (size_t k = 0; k < CODES && m->answers[k].code; k++)
        *(m->answers[k].code == OK ? &good : &bad) += m->answers[k].n;
    json_set_str(j, "name", m->name);
    json_set_str(j, "version", "1");
    json_set_int(j, "last_inference", m->last_ms);
    json_set_int(j, "inference_count", (int64_t)m->rows);
    json_set_int(j, "execution_count", (int64_t)m->batches);
    set_times(times, "success", good, m->ns - m->ns_of_failures);
    set_times(times, "fail", bad, m->ns_of_failures);
    json_array_at(j, "batch_stats");
    return j;
}

void counts_stats(counts *c, size_t from, size_t to, buf *out)
{
    AUTO_JSON *all = cJSON_CreateObject();
    cJSON *list = json_array_at(all, "model_stats");
    pthread_mutex_lock(&c->lock);
    for (size_t i = from; i < to; i++)
        cJSON_AddItemToArray(list, stats_of(&c->of[i]));
    pthread_mutex_unlock(&c->lock);
    json_print(out, all);
}
