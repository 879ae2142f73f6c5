// SPDX-License-Identifier: MIT
// hvd.elsewhere: runs a function that a cell has packed where an engine's plan says
// (script/api/hvd/hvd.lua has the contract).
//
//   plan ──> Secret (function, secret), then its objects          all marked as this call's
//   driver's log ──> output · marked lines: progress, the results · Spark's information: a folded
//   log each LOOK: driver's pod, why pods wait, the object that tells of a failure results, an
//   error, an interrupt ──> all objects are removed, the last one first
#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/logs/tail.h"
#include "k8s/client/state/state.h"
#include "k8s/manifest/manifest.h"
#include "k8s/manifest/restricted.h"
#include "script/api/core/kept.h"
#include "script/api/core/notes.h"
#include "script/api/hvd/result.h"
#include "script/api/k8s/k8s.h"
#include "script/api/spark/lines.h"
#include "script/api/trainer/reports.h"
#include "script/kernel/effects/binding.h"

#include <string.h>
#include <sys/random.h>

// In texts of the plan: the job's name, and what saved models are to say of where they came from.
#define PLACE_JOB   "@job@"
#define PLACE_NOTES "@notes@"

enum { SECRET_BYTES = 32, FUNCTION_MOST = 1000 * 1000 };
static const int64_t LOOK = CLOCK_SEC / 4, SLOW_LOOK = 2 * CLOCK_SEC;
static const int64_t DRIVER_FIRST = 2 * CLOCK_SEC, BRIEF = CLOCK_SEC / 20;
static const int64_t LAST_LINES = 5 * CLOCK_SEC; // for the log of a driver that has ended

struct job {
    call *call;
    const cJSON *args, *plan;
    struct target pods;
    char *name, *ns, *driver, *all_pods; // selectors
    cJSON *objects;                      // manifests, the Secret first
    int made;                            // how many of them are there
    struct reports reports;
    struct hvd_result told;
    struct kept output;
    struct spark_lines lines; // of a driver that Spark has started
    display *log;             // all that it prints; NULL: it has no lines of Spark
    bool began;               // the driver has said something
    bool log_ended;           // nothing more comes
    tail *tail;
    loop_pending *waiting;
    int64_t begun, ended, looked; // clock_mono() ns; ended: 0 while the driver's pod lives
    bool driver_failed;
    bool pulls;       // a node pulls an image for one of its pods
    int64_t has_been; // ns that have gone by with that: they do not count
    buf why;          // why a pod does not start, as it was said last
    err failure;
};

// ---- the objects

static char *filled_in(const char *text, const char *place, const char *with)
{
    AUTO_BUF out = {0};
    for (const char *at; (at = strstr(text, place)); text = at + strlen(place)) {
        buf_add(&out, text, (size_t)(at - text));
        buf_str(&out, with);
    }
    buf_str(&out, text);
    return mem_strdup(buf_cstr(&out));
}

// The same tree with `with` wherever the plan has the placeholder.
static void fill_in(cJSON *tree, const char *place, const char *with)
{
    for (cJSON *item = tree->child; item; item = item->next) {
        if (!cJSON_IsString(item) || !strstr(item->valuestring, place)) {
            fill_in(item, place, with);
            continue;
        }
        AUTO_FREE char *text = filled_in(item->valuestring, place, with);
        cJSON_SetValuestring(item, text);
    }
}

static char *job_name(call *c)
{
    char hex[SHA256_HEX];
    const char *mark = call_mark(c);
    sha256_hex(mark, strlen(mark), hex);
    return str_fmt("hvd-%.8s", hex);
}

static int make_secret(struct job *j, cJSON **secret, err *e)
{
    uint8_t bytes[SECRET_BYTES];
    AUTO_BUF hex = {0};
    const char *packed = json_str_or(j->args, "packed", "");
    size_t n = strlen(packed) / 4 * 3;
    if (n > FUNCTION_MOST)
        return err_set(e, ERR_LIMIT,
            "hvd.run: the function with its arguments has %zu kB, and a Secret holds %d: put what "
            "is large into the image or a volume",
            n / 1000, FUNCTION_MOST / 1000);
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_set(e, ERR_IO, "there is no randomness for the job's secret");
    for (size_t i = 0; i < sizeof bytes; i++)
        buf_fmt(&hex, "%02x", bytes[i]);
    call_secret(j->call, buf_cstr(&hex));
    *secret = cJSON_CreateObject();
    json_set_str(*secret, "apiVersion", "v1");
    json_set_str(*secret, "kind", "Secret");
    json_set_str(json_object_at(*secret, "metadata"), "name", j->name);
    json_set_str(json_object_at(*secret, "data"), "function", packed);
    json_set_str(json_object_at(*secret, "stringData"), "secret", buf_cstr(&hex));
    return 0;
}

static int prepare(struct job *j, err *e)
{
    cJSON *secret = NULL;
    const cJSON *object;
    if (make_secret(j, &secret, e))
        return -1;
    j->objects = cJSON_CreateArray();
    cJSON_AddItemToArray(j->objects, secret);
    cJSON_ArrayForEach(object, json_get(j->plan, "objects"))
    {
        cJSON_AddItemToArray(j->objects, cJSON_Duplicate(object, true));
    }
    AUTO_FREE char *notes = notes_of_function(j->call, json_str_or(j->args, "packed", ""));
    fill_in(j->objects, PLACE_JOB, j->name);
    fill_in(j->objects, PLACE_NOTES, notes ? notes : "");
    bool restricted = k8s_is_restricted(&j->pods, j->ns);
    cJSON *o;
    cJSON_ArrayForEach(o, j->objects)
    {
        if (restricted)
            manifest_restrict(o);
        cJSON *m = json_object_at(o, "metadata");
        manifest_label(o, call_run(j->call), true);
        k8s_mark(j->call, m);
        if (!json_str(m, "namespace"))
            json_set_str(m, "namespace", j->ns);
    }
    return 0;
}

static cJSON *record_of(struct job *j, err *e)
{
    const cJSON *identity = client_identity(j->pods.client, &j->pods.patience, e), *o;
    if (!identity)
        return NULL;
    cJSON *record = cJSON_CreateObject(), *list = json_array_at(record, "objects");
    json_set_str(record, "kind", "hvd job");
    json_set_str(record, "name", j->name);
    json_set_str(record, "namespace", j->ns);
    json_set(record, "cluster", cJSON_Duplicate(identity, true));
    cJSON_ArrayForEach(o, j->objects)
    {
        cJSON *ref = cJSON_CreateObject();
        json_set_str(ref, "apiVersion", json_str(o, "apiVersion"));
        json_set_str(ref, "kind", json_str(o, "kind"));
        json_set_str(ref, "name", json_path_str(o, "metadata.name"));
        cJSON_AddItemToArray(list, ref);
    }
    return record;
}

static int target_of(struct job *j, const cJSON *object, struct target *t, err *e)
{
    *t = j->pods;
    t->resource = client_resource_of(j->pods.client, &j->pods.patience,
        json_str(object, "apiVersion"), json_str(object, "kind"), e);
    t->name = json_path_str(object, "metadata.name");
    return t->resource ? 0 : -1;
}

// Executors ask for the driver by its Service's name, and DNS servers keep for five seconds and
// more that there is none. So the driver's pod has an address before there are executors, unless
// it takes long: it may be pulling the image that they will pull.
static void await_driver(struct job *j)
{
    int64_t until = clock_mono() + DRIVER_FIRST;
    bool there = false;
    while (
        !there && clock_mono() < until && !canceller_sleep(call_canceller(j->call), BRIEF, NULL)) {
        struct patience quick = k8s_quick(&j->pods);
        AUTO_JSON *pods = k8s_items(
            &j->pods, &quick, "v1", "Pod", j->ns, &(struct list_query){.labels = j->driver}, NULL);
        there = json_path_str(cJSON_GetArrayItem(pods, 0), "status.podIP") != NULL;
    }
}

static int make_objects(struct job *j, err *e)
{
    cJSON *o;
    int main = (int)json_int_or(j->plan, "main", 0);
    cJSON_ArrayForEach(o, j->objects)
    {
        struct target t;
        if (j->made == main + 1)
            await_driver(j);
        if (target_of(j, o, &t, e))
            return -1;
        AUTO_JSON *made = client_create(t.client, &t.patience, t.resource, o, false, e);
        j->made++; // also when the answer was lost
        if (!made)
            return err_wrap(e, "hvd.run: cannot make %s %s", t.resource->kind, t.name);
        k8s_meter(j->call, &t, made);
    }
    return 0;
}

static int remove_one(struct target *t, const struct patience *p, err *e)
{
    err why = {0};
    if (client_delete(t->client, p, t->resource, t->ns, t->name,
            &(struct delete_options){.grace_seconds = -1}, &why) == 0 ||
        why.code == ERR_NOT_FOUND)
        return 0;
    return err_set(e, why.code, "%s", why.text);
}

// Whatever the call's canceller says; what stays is in the ledger, for clean.
static bool remove_objects(struct job *j)
{
    struct patience own = {.deadline = clock_mono() + 15 * CLOCK_SEC, .retry_ns = 5 * CLOCK_SEC};
    bool gone = true;
    while (j->made > 0) {
        struct target t;
        err why = {0};
        const cJSON *o = cJSON_GetArrayItem(j->objects, --j->made);
        t = j->pods;
        t.resource = client_resource_of(
            t.client, &own, json_str(o, "apiVersion"), json_str(o, "kind"), &why);
        t.name = json_path_str(o, "metadata.name");
        if (t.resource && remove_one(&t, &own, &why) == 0)
            continue;
        gone = false;
        AUTO_FREE char *line =
            str_fmt("%s %s cannot be deleted: %s; firesteel clean does it later\n",
                json_str(o, "kind"), t.name, why.text);
        call_output(j->call, "stderr", line, strlen(line));
    }
    return gone;
}

// Nothing is left for clean: of a job that has failed nothing at all, else its results.
static void settle(struct job *j, bool done)
{
    AUTO_JSON *nothing = cJSON_CreateNull();
    if (done)
        call_ledger_tidied(j->call);
    else
        call_ledger_partial(j->call, nothing, NULL);
}

// ---- the driver's log, on the loop's thread

static void finish(struct job *j)
{
    if (j->waiting)
        loop_call_finish(STEAL(j->waiting));
}

static void on_event(void *arg, const cJSON *event)
{
    struct job *j = arg;
    hvd_result_event(&j->told, event);
    if (j->told.whole || j->told.damage.code)
        finish(j);
}

static void show_line(struct job *j, const char *stream, const char *text, size_t n)
{
    kept_add(&j->output, text, n);
    call_output(j->call, stream, text, n);
}

static void on_spark_line(void *arg, const struct spark_line *line)
{
    struct job *j = arg;
    display_text(j->log, line->text, line->n);
    if (!line->folded)
        show_line(j, "stdout", line->text, line->n);
}

static void on_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct job *j = arg;
    AUTO_JSON *event = kind == LOG_LINE ? training_line(text, n) : NULL;
    j->began = true;
    if (event) {
        reports_event(&j->reports, event);
        return;
    }
    AUTO_BUF line = {0};
    buf_add(&line, text, n);
    buf_char(&line, '\n');
    if (kind == LOG_LINE && j->log)
        spark_lines_feed(&j->lines, line.data, line.len, on_spark_line, j);
    else
        show_line(j, kind == LOG_LINE ? "stdout" : "stderr", line.data, line.len);
}

static void on_done(void *arg, const err *e)
{
    struct job *j = arg;
    j->tail = NULL;
    j->log_ended = true;
    if (e->code && !j->failure.code)
        j->failure = *e;
    finish(j);
}

static const struct tail_ops callbacks = {.line = on_line, .done = on_done};

static void follow(loop_pending *pending, void *arg)
{
    struct job *j = arg;
    j->waiting = pending;
    err e = {0};
    j->tail = tail_open(j->pods.client,
        &(struct tail_spec){.ns = j->ns, .labels = j->driver, .follow = true, .tail = -1},
        &callbacks, j, &e);
    if (!j->tail)
        on_done(j, &e);
}

static void stop(void *arg)
{
    struct job *j = arg;
    tail_close(STEAL(j->tail));
    finish(j);
}

static void cancel(loop_pending *pending, void *arg)
{
    stop(arg);
}

static void drain(void *arg)
{
    struct job *j = arg;
    if (j->tail)
        tail_finish(j->tail);
}

// ---- looks, on the call's thread

// Do these labels have all that a selector "a=b,c=d" wants?
static bool is_selected(const cJSON *labels, const char *selector)
{
    bool all = true;
    char **parts = strv_split(selector, ',');
    for (char **part = parts; *part; part++) {
        char *value = strchr(*part, '=');
        if (value)
            *value++ = '\0';
        all &= value && str_eq(json_str(labels, *part), value);
    }
    strv_free(parts);
    return all;
}

static void fail(struct job *j, const err *why)
{
    if (!j->failure.code)
        j->failure = *why;
    loop_post(call_loop(j->call), stop, j);
}

// Says once why an object of the job does not go on; false: nobody knows.
static bool say_why(struct job *j, struct target t, const cJSON *object)
{
    struct why why = {0};
    t.name = json_path_str(object, "metadata.name");
    bool found = k8s_find_why(&t, object, &why);
    j->pulls |= found && why.pulls;
    if (found && !str_eq(buf_cstr(&why.what), buf_cstr(&j->why))) {
        AUTO_BUF text = {0};
        k8s_say_why(&why, &text);
        call_output(j->call, "stderr", text.data, text.len);
        buf_clear(&j->why);
        buf_str(&j->why, buf_cstr(&why.what));
    }
    why_done(&why);
    return found;
}

// The driver's pod has ended: what it said last is awaited.
static void see_driver(struct job *j, const cJSON *pod)
{
    const char *phase = json_path_str(pod, "status.phase");
    bool failed = str_eq(phase, "Failed");
    if (!failed && !str_eq(phase, "Succeeded"))
        return;
    j->driver_failed = failed;
    if (!j->ended) {
        j->ended = clock_mono();
        loop_post(call_loop(j->call), drain, j);
    } else if (clock_mono() - j->ended > LAST_LINES) {
        loop_post(call_loop(j->call), stop, j);
    }
}

// Pods that have not started: the first one that tells why.
static void see_waiting(struct job *j, cJSON *pods)
{
    cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        json_set_str(pod, "kind", "Pod"); // items of a list do not say it
        if (str_eq(json_path_str(pod, "status.phase"), "Pending") && say_why(j, j->pods, pod))
            return;
    }
}

// Operators tell in their own object what they refuse, and that no driver will come. held: it has
// no pods yet, as while a queue holds it.
static void see_main(struct job *j, bool held)
{
    err e = {0};
    struct target t;
    int main = (int)json_int_or(j->plan, "main", 0);
    const cJSON *object = main > 0 ? cJSON_GetArrayItem(j->objects, main) : NULL;
    if (!object || target_of(j, object, &t, &e))
        return;
    struct patience quick = k8s_quick(&t);
    AUTO_JSON *there = client_get(t.client, &quick, t.resource, t.ns, t.name, &e);
    if (!there && e.code == ERR_NOT_FOUND) {
        err_set(&e, ERR_FAILED, "hvd.run: %s %s was deleted", t.resource->kind, t.name);
        fail(j, &e);
        return;
    }
    if (there && held)
        say_why(j, t, there);
    struct state s = there ? state_of(there) : (struct state){0};
    if (s.outcome != OUTCOME_BAD || j->ended)
        return;
    err_set(&e, ERR_FAILED, "hvd.run: %s %s is %s%s%s", t.resource->kind, t.name, s.text,
        s.cause ? ": " : "", s.cause ? str_short(s.cause, 600).text : "");
    fail(j, &e);
}

static void see_timeout(struct job *j)
{
    err e = {0};
    const cJSON *limit = json_get(j->args, "start_timeout");
    double seconds = cJSON_IsNumber(limit) ? limit->valuedouble : 600;
    int64_t pulled = j->has_been < K8S_PULL_MOST ? j->has_been : K8S_PULL_MOST;
    if (j->began || clock_mono() - j->begun - pulled < clock_of_seconds(seconds))
        return;
    err_set(&e, ERR_TIMEOUT,
        "Timed out waiting for the driver to start, after %g s%s%s. Please check that you have "
        "enough "
        "resources to run all Horovod processes. You may need to increase the start_timeout "
        "parameter if your resources are allocated on-demand.",
        seconds, j->why.len ? ": " : "", buf_cstr(&j->why));
    fail(j, &e);
}

static void look(void *arg)
{
    struct job *j = arg;
    struct patience quick = k8s_quick(&j->pods);
    AUTO_JSON *pods = k8s_items(
        &j->pods, &quick, "v1", "Pod", j->ns, &(struct list_query){.labels = j->all_pods}, NULL);
    bool slow = clock_mono() - j->looked >= SLOW_LOOK, driver = false;
    cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        if (!is_selected(json_path(pod, "metadata.labels"), j->driver))
            continue;
        driver = true;
        see_driver(j, pod);
    }
    if (slow) {
        int64_t now = clock_mono();
        j->has_been += j->pulls ? now - j->looked : 0;
        j->pulls = false;
        j->looked = now;
        see_waiting(j, pods);
        if (!driver || !j->began)
            see_main(j, pods && !pods->child);
    }
    see_timeout(j);
}

// ---- the call

static int open_job(struct job *j, err *e)
{
    AUTO_JSON *about = cJSON_CreateObject();
    json_set_str(about, "apiVersion", "v1");
    json_set_str(about, "kind", "Pod");
    if (k8s_target(j->call, about, false, &j->pods, e))
        return -1;
    const char *ns = json_str(j->args, "namespace");
    j->ns = mem_strdup(ns ? ns : client_config(j->pods.client)->namespace_);
    j->pods.ns = j->ns;
    j->name = job_name(j->call);
    j->driver = filled_in(json_str_or(j->plan, "driver", ""), PLACE_JOB, j->name);
    j->all_pods = filled_in(json_str_or(j->plan, "pods", ""), PLACE_JOB, j->name);
    if (prepare(j, e))
        return -1;
    const char *log = json_str(j->plan, "log");
    if (log && !(j->log = call_log(j->call, log, true, e)))
        return -1;
    AUTO_JSON *record = record_of(j, e);
    return record ? call_ledger_partial(j->call, record, e) : -1;
}

static void close_job(struct job *j)
{
    char *texts[] = {j->name, j->ns, j->driver, j->all_pods};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free(texts[i]);
    AUTO_BUF rest = {0};
    kept_take(&j->output, &rest);
    spark_lines_done(&j->lines);
    cJSON_Delete(j->objects);
    reports_done(&j->reports);
    hvd_result_done(&j->told);
    buf_done(&j->why);
}

// Why the driver's pod has failed, when it said nothing itself.
static void explain_driver(struct job *j, err *e)
{
    AUTO_BUF reason = {0};
    AUTO_JSON *pods = k8s_items(&j->pods, &j->pods.patience, "v1", "Pod", j->ns,
        &(struct list_query){.labels = j->driver}, NULL);
    cJSON *pod = pods ? pods->child : NULL;
    struct target t = j->pods;
    if (pod) {
        json_set_str(pod, "kind", "Pod");
        t.name = json_path_str(pod, "metadata.name");
        k8s_explain(j->call, &t, pod, &reason);
    }
    err_set(e, ERR_FAILED, "hvd.run: the driver has failed%s%s", reason.len ? ": " : "",
        str_short(buf_cstr(&reason), 800).text);
}

static int judge(struct job *j, const char *output, err *e)
{
    if (j->told.whole)
        return 0;
    AUTO_FREE char *words = reports_last_words(output);
    if (words)
        return err_set(e, ERR_FAILED, "hvd.run: %s", words);
    if (j->failure.code)
        return err_set(e, j->failure.code, "%s", j->failure.text);
    if (j->driver_failed) {
        explain_driver(j, e);
        return -1;
    }
    return hvd_result_check(&j->told, e);
}

static int run(struct job *j, cJSON **result, err *e)
{
    static const struct loop_call_ops ops = {
        .start = follow, .cancel = cancel, .meanwhile = look, .every = LOOK};
    AUTO_BUF output = {0};
    j->begun = j->looked = clock_mono();
    if (make_objects(j, e))
        return -1;
    int done = loop_call(call_loop(j->call), call_canceller(j->call), &ops, j, 0, e);
    double seconds = (double)(clock_mono() - j->begun) / (double)CLOCK_SEC;
    uint64_t left_out = kept_take(&j->output, &output);
    if (done || judge(j, buf_cstr(&output), e))
        return -1;
    *result = record_of(j, e);
    if (!*result)
        return -1;
    AUTO_FREE char *packed = hvd_result_text(&j->told);
    json_set_str(*result, "packed", packed);
    call_said(*result, "output", buf_cstr(&output), left_out);
    json_set(*result, "seconds", cJSON_CreateNumber(seconds));
    const training *t = j->reports.training;
    json_set(*result, "metrics", cJSON_Duplicate(training_metrics(t), true));
    json_set(*result, "history", cJSON_Duplicate(training_history(t), true));
    return 0;
}

static void leave(loop_pending *pending, void *arg)
{
    struct job *j = arg;
    tail_close(STEAL(j->tail));
    if (j->log)
        display_close(j->log, NULL);
    loop_call_finish(pending);
}

static void cannot_cancel(loop_pending *pending, void *arg)
{
}

// What was posted for this job has run after this.
static void leave_log(struct job *j)
{
    static const struct loop_call_ops ops = {.start = leave, .cancel = cannot_cancel};
    loop_call(call_loop(j->call), NULL, &ops, j, 0, NULL);
}

static int start(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct job j = {.call = c, .args = args, .plan = json_get(args, "plan")};
    j.output.most = KEPT_DATA;
    j.reports =
        (struct reports){.call = c, .training = training_new(), .other = on_event, .arg = &j};
    int done = open_job(&j, e);
    if (done == 0) {
        done = run(&j, result, e);
        leave_log(&j);
        reports_close(&j.reports);
        if (remove_objects(&j))
            settle(&j, done == 0);
    }
    close_job(&j);
    return done;
}

static int target_recorded(
    call *c, const cJSON *recorded, const cJSON *ref, struct target *t, err *e)
{
    if (k8s_target(c, ref, true, t, e))
        return -1;
    t->ns = json_str(recorded, "namespace");
    return 0;
}

static int find(call *c, const cJSON *recorded, struct remains *out, err *e)
{
    AUTO_JSON *found = cJSON_CreateObject();
    cJSON *refs = json_array_at(found, "objects");
    const cJSON *ref;
    json_set_str(found, "namespace", json_str(recorded, "namespace"));
    cJSON_ArrayForEach(ref, json_get(recorded, "objects"))
    {
        struct target t;
        err why = {0};
        if (target_recorded(c, recorded, ref, &t, e) || k8s_same_cluster(&t, recorded, e))
            return -1;
        AUTO_JSON *there = client_get(t.client, &t.patience, t.resource, t.ns, t.name, &why);
        if (!there && why.code != ERR_NOT_FOUND)
            return err_set(e, why.code, "%s", why.text);
        if (there && k8s_is_marked(c, there))
            cJSON_AddItemToArray(refs, cJSON_Duplicate(ref, true));
    }
    int n = cJSON_GetArraySize(refs);
    out->text = n ? str_fmt("%d %s of the job %s in namespace %s", n, n == 1 ? "object" : "objects",
                        json_str_or(recorded, "name", ""), json_str_or(recorded, "namespace", ""))
                  : mem_strdup("was not there");
    out->found = n ? STEAL(found) : NULL;
    return 0;
}

static int undo(call *c, const cJSON *found, err *e)
{
    const cJSON *refs = json_get(found, "objects");
    for (int i = cJSON_GetArraySize(refs); i-- > 0;) {
        struct target t;
        if (target_recorded(c, found, cJSON_GetArrayItem(refs, i), &t, e) ||
            remove_one(&t, &t.patience, e))
            return -1;
    }
    return 0;
}

static void describe(call *c, const cJSON *args, struct about *about)
{
    client *k = bind_client(c, NULL);
    const kubeconfig *config = k ? client_config(k) : NULL;
    const char *ns = json_str_or(args, "namespace", config ? config->namespace_ : "default");
    about->object = str_fmt("hvd job");
    about->namespace_ = mem_strdup(ns);
    about->context = mem_strdup(config ? config->context : NULL);
    long long ranks = json_int_or(args, "np", 1);
    about->what = str_fmt("run a function on %lld rank%s by %s in namespace %s%s%s", ranks,
        ranks == 1 ? "" : "s", json_str_or(args, "says", "pods"), ns, config ? " of context " : "",
        config && config->context ? config->context : "");
}

const struct binding hvd_k8s_bindings[] = {
    {.name = "hvd.elsewhere",
        .effect = EFFECT_CLUSTER,
        .said = said_output,
        .announces = true,
        .start = start,
        .verify = hvd_result_verify,
        .find = find,
        .undo = undo,
        .describe = describe},
    {0},
};
