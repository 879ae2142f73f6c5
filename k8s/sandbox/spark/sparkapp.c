// SPDX-License-Identifier: MIT
#include "k8s/sandbox/spark/sparkapp.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/nodes/controller.h"
#include "k8s/sandbox/spark/sparkexec.h"
#include "k8s/sandbox/spark/sparkpod.h"
#include "k8s/sandbox/spark/sparkstate.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DRIVER_GRACE   (10 * CLOCK_SEC) // a driver pod may appear this late
#define EXECUTOR_GRACE (2 * CLOCK_SEC)
#define SPARK_HOME     "/opt/spark" // in Spark's images

struct sparkapps {
    store *store;
    controller *controller;
    const char *worker; // on this machine, for image `host`
    char *spark_submit; // the same; NULL: not installed
};

static void snapshot_unref_at(snapshot **s)
{
    if (*s)
        snapshot_unref(*s);
}

// Records the event for the beginning of a state.
static void tell_state(sparkapps *a, const snapshot *app, enum spark_state s)
{
    static const struct {
        enum spark_state state;
        const char *reason, *words;
    } warnings[] = {
        {SPARK_PENDING_RERUN, "SparkApplicationPendingRerun", "pending rerun"},
        {SPARK_SUSPENDING, "SparkApplicationSuspending", "suspending"},
        {SPARK_SUSPENDED, "SparkApplicationSuspended", "suspended"},
        {SPARK_RESUMING, "SparkApplicationResuming", "resuming"},
    };
    for (size_t i = 0; i < ARRAY_LEN(warnings); i++)
        if (warnings[i].state == s)
            SPARK_EVENT(a->store, app->json, "Warning", warnings[i].reason,
                "SparkApplication %s is %s", app->name, warnings[i].words);
    if (s == SPARK_COMPLETED)
        SPARK_EVENT(a->store, app->json, "Normal", "SparkApplicationCompleted",
            "SparkApplication %s completed", app->name);
    if (s == SPARK_FAILED)
        SPARK_EVENT(a->store, app->json, "Warning", "SparkApplicationFailed",
            "SparkApplication %s failed: %s", app->name,
            json_str_or(json_path(app->json, "status.applicationState"), "errorMessage", ""));
}

// Writes `app` (taken) with a new state. The store's change calls us again for the next state.
static int enter(sparkapps *a, cJSON *app, enum spark_state s, const char *message, err *e)
{
    ERR_GUARD(e);
    cJSON *status = json_object_at(app, "status"),
          *state = json_object_at(status, "applicationState");
    json_set_str(state, "state", spark_state_text(s));
    if (message)
        json_set_str(state, "errorMessage", message);
    else if (s == SPARK_SUBMITTED || s == SPARK_COMPLETED || s == SPARK_PENDING_RERUN)
        cJSON_DeleteItemFromObjectCaseSensitive(state, "errorMessage");
    if (spark_is_terminal(s) || s == SPARK_FAILING || s == SPARK_SUCCEEDING)
        if (!json_str(status, "terminationTime"))
            object_set_time(status, "terminationTime", store_now(a->store));
    const snapshot *now =
        store_update(a->store, KIND(SPARKAPPLICATIONS), app, STORE_STATUS, false, e);
    if (!now)
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    snapshot *kept = snapshot_ref(now);
    tell_state(a, kept, s);
    snapshot_unref(kept);
    return 0;
}

// A port on which nobody listens, below those that the system gives to outgoing connections: until
// the driver binds it, only another random choice could take it.
static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    uint16_t port = 0;
    for (int tries = 0; tries < 100 && !port; tries++) {
        uint16_t random;
        random_bytes(&random, sizeof random);
        random = (uint16_t)(20000 + random % 12000);
        address.sin_port = htons(random);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
            port = random;
        close(fd);
    }
    return port;
}

static char *new_uuid(void)
{
    char h[33];
    random_hex(h, 16);
    return str_fmt("%.8s-%.4s-4%.3s-a%.3s-%.12s", h, h + 8, h + 13, h + 17, h + 20);
}

// Stores the secret that driver and executors prove to each other, in an object that their pods
// read.
static int put_secret(sparkapps *a, const cJSON *app, const char *name, err *e)
{
    char secret[65];
    random_hex(secret, 32);
    AUTO_BUF encoded = {0};
    base64_encode(&encoded, secret, strlen(secret));
    cJSON *object = cJSON_CreateObject();
    json_set_str(object, "apiVersion", "v1");
    json_set_str(object, "kind", "Secret");
    json_set_str(object, "type", "Opaque");
    json_set_str(json_object_at(object, "metadata"), "name", name);
    json_set_str(json_object_at(object, "metadata"), "namespace", object_namespace(app));
    object_set_controller(object, app);
    json_set_str(json_object_at(object, "data"), "secret", buf_cstr(&encoded));
    if (store_get(a->store, KIND(SECRETS), object_namespace(app), name))
        return store_update(a->store, KIND(SECRETS), object, STORE_ALL, false, e) ? 0 : -1;
    return store_create(a->store, KIND(SECRETS), object, STORE_ALL, false, e) ? 0 : -1;
}

static bool is_host(const cJSON *app)
{
    const char *image = json_path_str(app, "spec.image"),
               *own = json_path_str(app, "spec.driver.image");
    const char *used = own ? own : image ? image : "";
    return str_eq(used, "host") || str_starts(used, "host:");
}

static int check_program(sparkapps *a, const cJSON *app, err *e)
{
    if (!is_host(app) || (spark_is_launcher(app) ? a->worker != NULL : a->spark_submit != NULL))
        return 0;
    const char *program = spark_is_launcher(app) ? "firesteel-worker" : "spark-submit";
    return err_set(e, ERR_NOT_FOUND,
        "failed to run spark-submit: exec: \"%s\": executable file not found in $PATH", program);
}

// Collects what a submission needs; its parts live in `l` until forget_launch.
static void begin_launch(sparkapps *a, const cJSON *app, struct spark_launch *l)
{
    char hex[33];
    random_hex(hex, 16);
    *l = (struct spark_launch){.submission_id = new_uuid(),
        .app_selector = str_fmt("spark-%s", hex),
        .name_hash = mem_strndup(hex, 16),
        .secret = str_fmt("%s-launch", object_name(app)),
        .worker = is_host(app) ? a->worker : "/opt/firesteel/firesteel-worker",
        .spark_submit = is_host(app) ? a->spark_submit : SPARK_HOME "/bin/spark-submit",
        .port = spark_is_launcher(app) ? free_port() : 0};
}

static void forget_launch(struct spark_launch *l)
{
    free((char *)l->submission_id);
    free((char *)l->app_selector);
    free((char *)l->name_hash);
    free((char *)l->secret);
}

static int create_driver(sparkapps *a, const cJSON *app, const struct spark_launch *l, err *e)
{
    if (check_program(a, app, e) || (spark_is_launcher(app) && put_secret(a, app, l->secret, e)))
        return -1;
    cJSON *pod = spark_driver_pod(app, l, e);
    if (!pod)
        return -1;
    return store_create(a->store, KIND(PODS), pod, STORE_MAIN, false, e) ? 0 : -1;
}

static int submit(sparkapps *a, cJSON *app, err *e)
{
    CLEANUP(forget_launch) struct spark_launch l;
    AUTO_FREE char *driver = spark_driver_name(app);
    cJSON *status = json_object_at(app, "status");
    int64_t now = store_now(a->store);
    err why = {0};
    begin_launch(a, app, &l);
    bool failed = create_driver(a, app, &l, &why);
    object_set_time(status, "lastSubmissionAttemptTime", now);
    json_set(status, "terminationTime", cJSON_CreateNull());
    json_set_int(status, "submissionAttempts", json_int_or(status, "submissionAttempts", 0) + 1);
    json_set_str(status, "submissionID", l.submission_id);
    if (failed) {
        AUTO_FREE char *message =
            str_fmt("failed to submit spark application: failed to run spark-submit: %s", why.text);
        SPARK_EVENT(a->store, app, "Warning", "SparkApplicationSubmissionFailed",
            "failed to submit SparkApplication %s: %s", object_name(app), message);
        return enter(a, app, SPARK_SUBMISSION_FAILED, message, e);
    }
    json_set_int(status, "executionAttempts", json_int_or(status, "executionAttempts", 0) + 1);
    json_set_str(status, "sparkApplicationId", l.app_selector);
    json_set_str(json_object_at(status, "driverInfo"), "podName", driver);
    json_set(status, "executorState", cJSON_CreateObject());
    SPARK_EVENT(a->store, app, "Normal", "SparkApplicationSubmitted",
        "SparkApplication %s was submitted successfully", object_name(app));
    return enter(a, app, SPARK_SUBMITTED, NULL, e);
}

static const snapshot *driver_of(sparkapps *a, const cJSON *app)
{
    AUTO_FREE char *name = spark_driver_name(app);
    const snapshot *pod = store_get(a->store, KIND(PODS), object_namespace(app), name);
    return pod && str_eq(object_controller_uid(pod->json), object_uid(app)) ? pod : NULL;
}

// SUBMITTED and RUNNING: follows the driver pod.
static int follow(sparkapps *a, cJSON *app, enum spark_state state, err *e)
{
    const snapshot *found = driver_of(a, app);
    CLEANUP(snapshot_unref_at) snapshot *driver = found ? snapshot_ref(found) : NULL;
    const cJSON *pod = driver ? driver->json : NULL;
    AUTO_FREE char *name = spark_driver_name(app);
    enum spark_driver is = spark_driver_state(pod);
    if (is == DRIVER_MISSING) {
        int64_t due =
            object_time(json_get(app, "status"), "lastSubmissionAttemptTime") + DRIVER_GRACE;
        if (state == SPARK_SUBMITTED && store_now(a->store) < due) {
            controller_add_after(
                a->controller, object_namespace(app), object_name(app), due - store_now(a->store));
            cJSON_Delete(app);
            return 0;
        }
        SPARK_EVENT(a->store, app, "Warning", "SparkDriverNotFound",
            "Driver pod %s not found after grace period 10s, marking application as Failing", name);
        sparkexec_note(a->store, app, NULL, true);
        return enter(a, app, SPARK_FAILING, "driver pod not found", e);
    }
    sparkexec_note(a->store, app, pod, false);
    switch (is) {
    case DRIVER_RUNNING:
        if (state != SPARK_RUNNING)
            SPARK_EVENT(
                a->store, app, "Normal", "SparkDriverRunning", "Driver %s is running", name);
        if (sparkexec_create(a->store, app, pod, e)) {
            cJSON_Delete(app);
            return -1;
        }
        return enter(a, app, SPARK_RUNNING, NULL, e);
    case DRIVER_SUCCEEDED:
        SPARK_EVENT(a->store, app, "Normal", "SparkDriverCompleted", "Driver %s completed", name);
        return enter(a, app, SPARK_SUCCEEDING, NULL, e);
    case DRIVER_FAILED: {
        AUTO_FREE char *why = spark_driver_error(pod);
        SPARK_EVENT(a->store, app, "Warning", "SparkDriverFailed", "Driver %s failed", name);
        return enter(a, app, SPARK_FAILING, why, e);
    }
    default:
        return enter(a, app, state, NULL, e);
    }
}

// SUCCEEDING, FAILING, SUBMISSION_FAILED: runs it again, or ends it.
static int conclude(sparkapps *a, cJSON *app, enum spark_state state, err *e)
{
    const snapshot *found = driver_of(a, app);
    CLEANUP(snapshot_unref_at) snapshot *driver = found ? snapshot_ref(found) : NULL;
    const cJSON *pod = driver ? driver->json : NULL;
    int64_t now = store_now(a->store), due;
    bool again = spark_should_retry(app, state, &due);
    // After a success of the driver, executors end by themselves within moments.
    if (state == SPARK_SUCCEEDING && !sparkexec_ended(a->store, pod))
        due = object_time(json_get(app, "status"), "terminationTime") + EXECUTOR_GRACE;
    else if (!again)
        due = 0;
    if (due > now) {
        controller_add_after(a->controller, object_namespace(app), object_name(app), due - now);
        cJSON_Delete(app);
        return 0;
    }
    sparkexec_note(a->store, app, pod, false);
    if (sparkexec_remove(a->store, app, pod, e)) {
        cJSON_Delete(app);
        return -1;
    }
    if (!again)
        return enter(a, app, state == SPARK_SUCCEEDING ? SPARK_COMPLETED : SPARK_FAILED, NULL, e);
    if (state == SPARK_SUBMISSION_FAILED)
        return submit(a, app, e);
    return enter(a, app, SPARK_PENDING_RERUN, NULL, e);
}

// Waits until the driver pod is gone (with its executors), then goes on to `next`.
static int clear(sparkapps *a, cJSON *app, enum spark_state next, err *e)
{
    const snapshot *driver = driver_of(a, app);
    if (driver) {
        int failed = sparkexec_delete_pod(a->store, driver, e);
        cJSON_Delete(app);
        return failed; // its end calls us again
    }
    cJSON *status = json_object_at(app, "status");
    if (next == SPARK_SUBMITTED)
        return submit(a, app, e);
    if (next == SPARK_PENDING_RERUN) { // a new specification starts counting at 0
        json_set_int(status, "executionAttempts", 0);
        json_set_int(status, "submissionAttempts", 0);
    }
    return enter(a, app, next, NULL, e);
}

// Deletes the application when its time to live is over.
static void expire(sparkapps *a, const cJSON *app, err *e)
{
    int64_t seconds, now = store_now(a->store);
    if (!json_int(json_path(app, "spec.timeToLiveSeconds"), &seconds))
        return;
    int64_t due = clock_add(
        object_time(json_get(app, "status"), "terminationTime"), clock_of_seconds((double)seconds));
    bool gone;
    struct store_delete how = {.uid = object_uid(app), .grace = -1};
    if (seconds <= 0 || due <= now)
        store_delete(a->store, KIND(SPARKAPPLICATIONS), object_namespace(app), object_name(app),
            &how, &gone, e);
    else
        controller_add_after(a->controller, object_namespace(app), object_name(app), due - now);
}

// COMPLETED, FAILED: handles late news of executors, and the time to live.
static int rest(sparkapps *a, cJSON *app, err *e)
{
    ERR_GUARD(e);
    const snapshot *found = driver_of(a, app);
    CLEANUP(snapshot_unref_at) snapshot *driver = found ? snapshot_ref(found) : NULL;
    expire(a, app, e);
    sparkexec_note(a->store, app, driver ? driver->json : NULL, true);
    if (!store_update(a->store, KIND(SPARKAPPLICATIONS), app, STORE_STATUS, false, e) &&
        e->code != ERR_NOT_FOUND)
        return -1;
    return 0;
}

static int reconcile(void *arg, const char *ns, const char *name, err *e)
{
    sparkapps *a = arg;
    cJSON *app = store_copy(a->store, KIND(SPARKAPPLICATIONS), ns, name);
    if (!app || object_is_deleting(app)) {
        cJSON_Delete(app);
        return 0;
    }
    enum spark_state state = spark_state_of(app);
    bool suspend = json_bool_or(json_get(app, "spec"), "suspend", false);
    if (suspend && !spark_is_terminal(state) && state != SPARK_SUSPENDING &&
        state != SPARK_SUSPENDED)
        return enter(a, app, SPARK_SUSPENDING, NULL, e);
    switch (state) {
    case SPARK_NEW:
        SPARK_EVENT(a->store, app, "Normal", "SparkApplicationAdded",
            "SparkApplication %s was added, enqueuing it for submission", name);
        return submit(a, app, e);
    case SPARK_SUBMITTED:
    case SPARK_RUNNING:
    case SPARK_UNKNOWN:
        return follow(a, app, state == SPARK_UNKNOWN ? SPARK_SUBMITTED : state, e);
    case SPARK_SUCCEEDING:
    case SPARK_FAILING:
    case SPARK_SUBMISSION_FAILED:
        return conclude(a, app, state, e);
    case SPARK_INVALIDATING:
        return clear(a, app, SPARK_PENDING_RERUN, e);
    case SPARK_PENDING_RERUN:
    case SPARK_RESUMING:
        return clear(a, app, SPARK_SUBMITTED, e);
    case SPARK_SUSPENDING:
        return clear(a, app, SPARK_SUSPENDED, e);
    case SPARK_SUSPENDED:
        if (!suspend)
            return enter(a, app, SPARK_RESUMING, NULL, e);
        cJSON_Delete(app);
        return 0;
    case SPARK_COMPLETED:
    case SPARK_FAILED:
        return rest(a, app, e);
    }
    cJSON_Delete(app);
    return 0;
}

static int invalidate(sparkapps *a, const snapshot *o)
{
    cJSON *app = store_copy(a->store, KIND(SPARKAPPLICATIONS), o->ns, o->name);
    return app ? enter(a, app, SPARK_INVALIDATING, NULL, NULL) : 0;
}

static void changed(void *arg, const struct store_event *ev)
{
    sparkapps *a = arg;
    const snapshot *o = ev->object;
    if (o->kind == KIND(PODS)) { // executors belong to the driver, which belongs to the application
        const char *app = object_label(o->json, "sparkoperator.k8s.io/app-name");
        if (app)
            controller_add(a->controller, o->ns, app);
    } else if (o->kind == KIND(SPARKAPPLICATIONS) && ev->change == STORE_MODIFIED && ev->old &&
               spark_state_of(o->json) != SPARK_NEW &&
               spark_needs_restart(ev->old->json, o->json)) {
        invalidate(a, o);
    }
}

static const struct controller_ops spark_controller = {
    .kind = KIND(SPARKAPPLICATIONS), .reconcile = reconcile, .changed = changed};

// The spark-submit of this machine, found by SPARK_HOME or PATH.
static char *find_spark_submit(const char *const *env)
{
    const char *home = NULL, *path = "";
    for (; env && *env; env++) {
        if (str_starts(*env, "SPARK_HOME="))
            home = *env + strlen("SPARK_HOME=");
        if (str_starts(*env, "PATH="))
            path = *env + strlen("PATH=");
    }
    AUTO_FREE char *folders = home ? str_fmt("%s/bin:%s", home, path) : mem_strdup(path);
    char **list = strv_split(folders, ':'), *found = NULL;
    for (char **f = list; *f && !found; f++) {
        AUTO_FREE char *candidate = str_fmt("%s/spark-submit", *f);
        if (access(candidate, X_OK) == 0)
            found = STEAL(candidate);
    }
    strv_free(list);
    return found;
}

sparkapps *sparkapps_open(sandbox *s, const struct pods_options *o)
{
    sparkapps *a = mem_alloc(sizeof *a);
    a->store = sandbox_store(s);
    a->worker = o->worker;
    a->spark_submit = find_spark_submit(o->env);
    a->controller = controller_new(sandbox_loop(s), a->store, &spark_controller, a);
    return a;
}

void sparkapps_close(sparkapps *a)
{
    if (!a)
        return;
    controller_free(a->controller);
    free(a->spark_submit);
    free(a);
}
