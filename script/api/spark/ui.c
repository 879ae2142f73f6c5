// SPDX-License-Identifier: MIT
// spark.ui and spark.inside: what an application does inside, as live tables below the cell, and as
// records. It is named by the address of its web page, by its event log, by its driver's pod, or by
// an object whose pods have the driver among them.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/k8s/k8s.h"
#include "script/api/sparkui/eventlog.h"
#include "script/api/sparkui/live.h"
#include "script/api/sparkui/rest.h"
#include "script/api/sparkui/tables.h"

enum { ASKS_MOST = 60, ANSWER_MAX = 64 << 20 };
#define ANSWER_WITHIN (15 * CLOCK_SEC)

// An application that runs. Strings are borrowed from the arguments, or kept in `pod`.
struct subject {
    struct spark_source source;
    struct patience patience;
    char *pod;
};

// ---- the driver's pod

static const cJSON *driver_among(const cJSON *pods)
{
    const cJSON *pod, *found = NULL;
    cJSON_ArrayForEach(pod, pods)
    {
        bool runs = str_eq(json_path_str(pod, "status.phase"), "Running");
        if (spark_is_driver(pod) && (runs || !found))
            found = pod;
    }
    return found;
}

static cJSON *find_driver(struct target *t, const cJSON *object, err *e)
{
    ERR_GUARD(e);
    struct pods_of pods = {0};
    if (k8s_pods_of(object, true, &pods, e) != 0)
        return NULL;
    AUTO_JSON *items = pods.labels ? k8s_items(t, &t->patience, "v1", "Pod", t->ns,
                                         &(struct list_query){.labels = pods.labels}, e)
                                   : NULL;
    k8s_pods_done(&pods);
    const cJSON *driver = driver_among(items);
    if (!driver && e->code == ERR_NONE)
        err_set(e, ERR_NOT_FOUND, "%s %s has no pod of a driver of Spark (spark-role=driver)",
            t->resource->singular, t->name);
    return driver ? cJSON_Duplicate(driver, true) : NULL;
}

static int take_pod(struct subject *s, const struct target *t, const cJSON *pod, err *e)
{
    const char *phase = json_path_str(pod, "status.phase");
    const char *name = json_path_str(pod, "metadata.name");
    if (!str_eq(phase, "Running"))
        return err_set(e, ERR_UNAVAILABLE,
            "the driver %s does not run (%s): its event log tells what it did, if the application "
            "kept one: spark.ui { eventlog = \"FILE\" }",
            name, phase ? phase : "no phase");
    s->pod = mem_strdup(name);
    s->source = (struct spark_source){
        .client = t->client, .ns = t->ns, .pod = s->pod, .port = spark_ui_port(pod)};
    s->patience = t->patience;
    return 0;
}

static int find_pod(call *c, const cJSON *args, struct subject *s, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = client_get(t.client, &t.patience, t.resource, t.ns, t.name, e);
    if (!object)
        return -1;
    bool is_pod = str_eq(t.resource->kind, "Pod") && !*t.resource->group;
    AUTO_JSON *driver = is_pod ? STEAL(object) : find_driver(&t, object, e);
    return driver ? take_pod(s, &t, driver, e) : -1;
}

static int find_subject(call *c, const cJSON *args, struct subject *s, err *e)
{
    *s = (struct subject){0};
    if (!json_str(args, "url"))
        return find_pod(c, args, s, e);
    s->source = (struct spark_source){.http = bind_http(c, e), .url = json_str(args, "url")};
    return s->source.http ? 0 : -1;
}

// ---- one look

static int ask_url(call *c, const char *url, buf *body, int *status, err *e)
{
    struct http_response r = {0};
    int done = http_do(bind_http(c, NULL), call_canceller(c), clock_mono() + ANSWER_WITHIN,
        &(struct http_request){.url = url, .limit = ANSWER_MAX}, &r, e);
    *status = r.status;
    buf_add(body, r.body.data, r.body.len);
    http_response_done(&r);
    if (done == 0 && *status / 100 != 2)
        done = err_set(e, *status == 404 ? ERR_NOT_FOUND : ERR_FAILED, "%s answers with status %d",
            str_short(url, 200).text, *status);
    return done;
}

static cJSON *ask(call *c, struct subject *s, const char *path, int *status, err *e)
{
    ERR_GUARD(e);
    AUTO_BUF body = {0};
    AUTO_FREE char *whole = spark_source_path(&s->source, path);
    int done = s->source.url ? ask_url(c, whole, &body, status, e)
                             : client_text(s->source.client, &s->patience, whole, &body, e);
    if (done < 0 && e->code == ERR_NOT_FOUND)
        *status = 404;
    if (done < 0)
        return NULL;
    cJSON *answer = json_parse(body.data ? body.data : "", body.len, NULL);
    if (!answer)
        err_set(e, ERR_INVALID, "what answers there is not Spark's REST API");
    return answer;
}

static int look(call *c, const cJSON *args, struct spark_state *state, err *e)
{
    struct subject s;
    struct spark_rest rest;
    int done = find_subject(c, args, &s, e);
    spark_rest_init(&rest, state);
    for (int i = 0; done == 0 && i < ASKS_MOST && !spark_rest_is_whole(&rest); i++) {
        AUTO_BUF path = {0};
        err why = {0};
        int status = 0;
        spark_rest_next(&rest, &path);
        AUTO_JSON *answer = ask(c, &s, buf_cstr(&path), &status, &why);
        rest.now_ms = clock_wall() / CLOCK_MS;
        if (answer)
            spark_rest_take(&rest, answer);
        else if (status == 404 && rest.has[SPARK_ASK_APPS] && rest.asked != SPARK_ASK_JOBS)
            spark_rest_refused(&rest, status);
        else
            done = err_set(e, why.code, "%s", why.text);
        if (answer && !state->app)
            done = err_set(e, ERR_UNAVAILABLE, "the driver has no application yet");
    }
    free(s.pod);
    return done;
}

static bool goes_on(void *arg)
{
    return call_goes_on(arg);
}

static int read_log(call *c, const cJSON *args, struct spark_state *state, err *e)
{
    AUTO_FREE char *path = path_join(call_cwd(c), json_str_or(args, "eventlog", ""));
    return spark_event_file(state, path, goes_on, NULL, c, e);
}

// {url | eventlog | an object's reference, limits…} -> spark_json
static int inside(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct spark_state state = {0};
    int done = (json_str(args, "eventlog") ? read_log : look)(c, args, &state, e);
    if (done == 0) {
        struct spark_limits limits = spark_limits_of(json_get(args, "limits"));
        AUTO_JSON *findings = spark_findings(&state, &limits);
        *result = spark_json(&state, findings, clock_wall() / CLOCK_MS);
    }
    spark_state_done(&state);
    return done < 0 ? err_wrap(e, "spark.inside") : 0;
}

// ---- live

// What a live display needs of its call, which it outlives: the first display, made beforehand.
static display *take_display(void *arg, cJSON *data)
{
    display *d = arg;
    display_replace(d, data);
    return d;
}

static cJSON *bundle_of(const char *text)
{
    cJSON *data = cJSON_CreateObject();
    json_set_str(data, "text/plain", text);
    return data;
}

static void refused(void *arg, const err *why)
{
    display_replace(arg, bundle_of(why->text));
}

struct opening {
    struct spark_live_spec spec;
    loop *loop;
};

static void open_live(loop_pending *pending, void *arg)
{
    const struct opening *o = arg;
    spark_live_open(o->loop, &o->spec);
    loop_call_finish(pending);
}

static void cannot_cancel(loop_pending *pending, void *arg)
{
}

static void say_display(call *c, const display *d, cJSON **result)
{
    if (!call_is_action(c))
        return;
    *result = cJSON_CreateObject();
    json_set_int(*result, "display", display_id(d));
}

static int show_live(call *c, const cJSON *args, cJSON **result, err *e)
{
    static const struct loop_call_ops ops = {.start = open_live, .cancel = cannot_cancel};
    struct subject s;
    if (find_subject(c, args, &s, e) < 0)
        return err_wrap(e, "spark.ui");
    display *d = call_display(c, bundle_of("Spark: the driver is asked"), true);
    struct opening o = {.loop = call_loop(c),
        .spec = {.source = s.source,
            .limits = spark_limits_of(json_get(args, "limits")),
            .every_ms = (int)json_int_or(args, "every", SPARK_UI_EVERY_MS),
            .show = take_display,
            .refused = refused,
            .arg = d,
            .own = true}};
    int done = loop_call(o.loop, NULL, &ops, &o, 0, e);
    say_display(c, d, result);
    free(s.pod);
    return done;
}

static int show_log(call *c, const cJSON *args, err *e)
{
    struct spark_state state = {0};
    int done = read_log(c, args, &state, e);
    if (done == 0) {
        struct spark_limits limits = spark_limits_of(json_get(args, "limits"));
        AUTO_JSON *findings = spark_findings(&state, &limits);
        for (int i = 0; i < SPARK_TABLE_COUNT; i++)
            if (i != SPARK_TABLE_FINDINGS || findings->child)
                call_display(c,
                    spark_bundle(&state, (enum spark_table)i, findings, NULL,
                        (state.ended ? state.ended : clock_wall() / CLOCK_MS)),
                    false);
    }
    spark_state_done(&state);
    return done < 0 ? err_wrap(e, "spark.ui") : 0;
}

static int ui(call *c, const cJSON *args, cJSON **result, err *e)
{
    return json_str(args, "eventlog") ? show_log(c, args, e) : show_live(c, args, result, e);
}

const struct binding spark_ui_bindings[] = {
    {.name = "spark.ui", .effect = EFFECT_PURE, .start = ui},
    {.name = "spark.inside", .effect = EFFECT_PURE, .start = inside},
    {0},
};
