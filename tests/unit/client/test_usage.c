// SPDX-License-Identifier: MIT
// What pods and nodes use: as kubectl rounds it, in tables, and asked for again and again.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/watch/table.h"
#include "k8s/client/watch/usage.h"
#include "tests/support/fake.h"
#include "tests/support/tap.h"

#include <pthread.h>
#include <unistd.h>

// Each as `kubectl top` 1.34 prints it: processors rounded up, when all containers are added.
TEST(containers_are_added_and_then_rounded)
{
    static const struct {
        const char *item;
        int64_t milli_cpu, mib; // <0: it is none
    } cases[] = {
        {"{containers: [{usage: {cpu: '0', memory: '0'}}]}", 0, 0},
        {"{containers: [{usage: {cpu: 1n, memory: 1Ki}}]}", 1, 0},
        {"{containers: [{usage: {cpu: 400000n, memory: 1536Ki}}, {usage: {cpu: 500u, memory: "
         "'524288'}}]}",
            1, 2},
        {"{containers: [{usage: {cpu: 600000n, memory: 1M}}, {usage: {cpu: 600000n, memory: "
         "1M}}]}",
            2, 1},
        {"{containers: []}", 0, 0},
        {"{usage: {cpu: 1500m, memory: 2Gi}}", 1500, 2048},
        {"{usage: {cpu: x, memory: 2Gi}}", -1, 0},
        {"{usage: {cpu: '1'}}", -1, 0},
        {"{usage: {cpu: '-1', memory: '1'}}", -1, 0},
        {"{}", -1, 0},
        {"{containers: [{usage: {cpu: '9000000000', memory: '1'}}, {usage: {cpu: '9000000000', "
         "memory: '1'}}]}",
            -1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON *item = tap_yaml(cases[i].item);
        struct used used = {0};
        int result = usage_read(item, &used);
        CHECK_INT(result, cases[i].milli_cpu < 0 ? -1 : 0);
        CHECK_INT(used.milli_cpu, cases[i].milli_cpu < 0 ? 0 : cases[i].milli_cpu);
        CHECK_INT(used.bytes >> 20, cases[i].mib);
    }
}

static char *columns_of(const cJSON *table)
{
    AUTO_BUF names = {0};
    const cJSON *column;
    cJSON_ArrayForEach(column, json_get(table, "columns"))
    {
        buf_fmt(
            &names, "%s ", cJSON_IsString(column) ? column->valuestring : json_str(column, "name"));
    }
    return buf_take(&names);
}

static char *cells_of(const cJSON *row)
{
    return json_to_str(json_get(row, "cells"));
}

TEST(of_nodes_there_are_percents_too)
{
    AUTO_JSON *definitions =
        tap_yaml("[{name: Name}, {name: Status}, {name: Version, priority: 1}]");
    AUTO_JSON *cells = tap_yaml("[n, Ready, v1]");
    AUTO_JSON *node =
        tap_yaml("{kind: Node, metadata: {name: n, uid: u}, status: {allocatable: {cpu: "
                 "'2', memory: 1000Mi}}}");
    struct table_form form = {.definitions = definitions, .kind = "Node", .usage = true};
    AUTO_JSON *table = table_empty(&form), *row = table_row(&form, node, cells, 0);
    AUTO_FREE char *names = columns_of(table), *empty = cells_of(row);
    CHECK_STR(names, "NAME STATUS CPU %CPU MEM %MEM VERSION ");
    CHECK_STR(empty, "[\"n\",\"Ready\",\"\",\"\",\"\",\"\",\"v1\"]");
    usage_show(table, row, &(struct used){.milli_cpu = 399, .bytes = INT64_C(999) << 20});
    AUTO_FREE char *shown = cells_of(row);
    CHECK_STR(shown, "[\"n\",\"Ready\",\"399m\",\"19%\",\"999Mi\",\"99%\",\"v1\"]");
    usage_show(table, row, NULL);
    AUTO_FREE char *hidden = cells_of(row);
    CHECK_STR(hidden, empty);
}

TEST(pods_have_percents_of_requests_and_limits)
{
    AUTO_JSON *definitions = tap_yaml("[{name: Name}]"), *cells = tap_yaml("[p]");
    AUTO_JSON *pod = tap_yaml(
        "{metadata: {name: p, uid: u}, spec: {initContainers: [{name: once, resources: {requests: "
        "{cpu: '8', memory: 8Gi}}}, {name: side, restartPolicy: Always, resources: {requests: "
        "{cpu: "
        "100m}}}], containers: [{name: a, resources: {requests: {cpu: 100m, memory: 100Mi}, "
        "limits: "
        "{memory: 200Mi}}}, {name: b, resources: {requests: {memory: 100Mi}}}]}}");
    struct table_form form = {
        .definitions = definitions, .kind = "Pod", .usage = true, .usage_always = true};
    AUTO_JSON *table = table_empty(&form), *row = table_row(&form, pod, cells, 0);
    AUTO_FREE char *columns = json_to_str(json_get(table, "columns"));
    CHECK(!strstr(columns, "\"late\"")); // all stand as the others do
    usage_show(table, row, &(struct used){.milli_cpu = 399, .bytes = INT64_C(151) << 20});
    AUTO_FREE char *shown = cells_of(row);
    CHECK_STR(shown, "[\"p\",\"399m\",\"199%\",\"n/a\",\"151Mi\",\"75%\",\"75%\",\"\"]");
    usage_show(table, row, NULL);
    AUTO_FREE char *hidden = cells_of(row);
    CHECK_STR(hidden, "[\"p\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]");
}

TEST(pods_have_theirs_before_what_is_wrong_and_others_have_none)
{
    AUTO_JSON *definitions = tap_yaml("[{name: Name}, {name: IP, priority: 1}]");
    AUTO_JSON *cells = tap_yaml("[p, 10.0.0.1]"), *pod = tap_yaml("{metadata: {name: p, uid: u}}");
    struct table_form form = {.definitions = definitions, .kind = "Pod", .usage = true};
    AUTO_JSON *table = table_empty(&form), *row = table_row(&form, pod, cells, 0);
    AUTO_FREE char *names = columns_of(table);
    CHECK_STR(names, "NAME CPU %CPU/R %CPU/L MEM %MEM/R %MEM/L WHY IP ");
    usage_show(table, row, &(struct used){.milli_cpu = 3, .bytes = 7 << 20});
    AUTO_FREE char *shown = cells_of(row);
    // Its object was not read, so nobody knows what it asks for.
    CHECK_STR(shown, "[\"p\",\"3m\",\"\",\"\",\"7Mi\",\"\",\"\",\"\",\"10.0.0.1\"]");
    form.usage = false;
    AUTO_JSON *plain = table_empty(&form), *other = table_row(&form, pod, cells, 0);
    AUTO_FREE char *fewer = columns_of(plain);
    CHECK_STR(fewer, "NAME WHY IP ");
    usage_show(plain, other, &(struct used){.milli_cpu = 3});
    AUTO_FREE char *same = cells_of(other);
    CHECK_STR(same, "[\"p\",\"\",\"10.0.0.1\"]");
}

// What a usage tells, on the loop's thread.
struct story {
    pthread_mutex_t lock;
    buf text;
    struct fake *fake;
    struct usage_spec spec;
    usage *usage;
    bool ended;
};

static void tell(struct story *s, const char *text)
{
    pthread_mutex_lock(&s->lock);
    buf_str(&s->text, text);
    pthread_mutex_unlock(&s->lock);
}

static void on_changed(void *arg, const char *uid, const struct used *used)
{
    AUTO_FREE char *words = used ? str_fmt("%s=%lldm,%lldMi ", uid, (long long)used->milli_cpu,
                                       (long long)(used->bytes >> 20))
                                 : str_fmt("%s=? ", uid);
    tell(arg, words);
}

static void on_refused(void *arg, const err *why)
{
    tell(arg, why->text);
}

static void begin(void *arg)
{
    static const struct usage_ops ops = {.changed = on_changed, .refused = on_refused};
    struct story *s = arg;
    s->usage = usage_open(s->fake->client, &s->spec, &ops, s);
    static const char *const names[] = {"a", "b", "c", "unmeasured"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        usage_follow(s->usage, s->spec.ns, names[i], names[i]);
    usage_forget(s->usage, s->spec.ns, "c");
    usage_begin(s->usage);
}

static void end(void *arg)
{
    struct story *s = arg;
    usage_close(s->usage);
    s->ended = true;
}

static void check_told(const char *ns, size_t most, const char *want)
{
    struct story s = {.fake = fake_open(false), .spec = {.ns = ns, .every_ms = 50, .most = most}};
    pthread_mutex_init(&s.lock, NULL);
    CHECK(client_resource(s.fake->client, &s.fake->patience, "pods", &s.fake->e));
    s.spec.resource = usage_of(s.fake->client, client_known(s.fake->client, "v1", "Pod"));
    CHECK(s.spec.resource);
    CHECK(!usage_of(s.fake->client, client_known(s.fake->client, "apps/v1", "Deployment")));
    CHECK(!usage_of(s.fake->client, s.spec.resource));
    loop_post(s.fake->loop, begin, &s);
    bool told = false;
    for (int i = 0; i < 1000 && !told; i++) {
        usleep(10000);
        pthread_mutex_lock(&s.lock);
        told = strstr(buf_cstr(&s.text), want) != NULL;
        pthread_mutex_unlock(&s.lock);
    }
    loop_post(s.fake->loop, end, &s);
    fake_close(s.fake);
    if (!told)
        CHECK_STR(buf_cstr(&s.text), want);
    buf_done(&s.text);
}

TEST(those_that_are_followed_are_told_of_when_they_use_something_else)
{
    check_told("u-busy", 0, "a=2m,19Mi b=2m,19Mi a=3m,19Mi b=3m,19Mi a=4m,19Mi b=? a=5m,19Mi ");
}

TEST(some_at_a_time_take_turns)
{
    check_told("u-turns", 1, "a=2m,19Mi b=3m,19Mi a=4m,19Mi b=? a=");
}

TEST(a_server_that_is_away_is_asked_again)
{
    check_told("u-away", 0, "a=3m,19Mi b=3m,19Mi a=4m,19Mi b=? ");
}

TEST(a_refusal_is_told_once)
{
    check_told("u-barred", 0, "pods.metrics.k8s.io is forbidden");
    AUTO_BUF text = {0};
    struct fake *f = fake_open(false);
    CHECK_OK(client_text(f->client, &f->patience, "/_counts", &text, &f->e) == 0, f->e);
    fake_close(f);
    CHECK(strstr(buf_cstr(&text), "usage u-barred"));
}

int main(void)
{
    int result = tap_run();
    fake_end();
    return result;
}
