// SPDX-License-Identifier: MIT
// k8s.watch: a live table below a cell: an object and its pods, or the objects of a selector. The
// loop feeds it; when the call returns, Lua is no longer involved. If the pods run a training, its
// progress is shown beside the table.
//
//   watch of the object ──┐
//                         ├──> rows by uid ──> display_rows (at most 10 a second, the kernel's)
//   watch of its pods ────┘         └──> the whole as text, when the server goes, and at the end
#include "k8s/client/watch/watch.h"
#include "base/clock.h"
#include "base/json/rowset.h"
#include "base/json/rowtexts.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/state/state.h"
#include "k8s/client/watch/table.h"
#include "k8s/client/watch/usage.h"
#include "script/api/k8s/training.h"
#include "script/api/sparkui/live.h"

#include <string.h>

struct live;

// One of the two watches.
struct part {
    struct live *live;
    struct resource resource;
    char *ns, *labels, *fields;
    watch *watch;
    size_t more;        // objects that have no row
    bool pods;          // rows as pods have them, else a line of state
    cJSON *definitions; // of a selector's: the server's columns; NULL: it makes none
};

struct live {
    display *display;
    struct part parts[2];
    int count;
    char *uid;                   // uid of the object; NULL: a selector
    cJSON *table;                // {"columns", …} as it is shown, but for its rows
    rowtexts *rows;              // of it
    char *note;                  // why it may be old; NULL: it is not
    int64_t more;                // objects that are not in it
    bool wide, sick_first, uses; // uses: what they use is shown in any case
    loop *loop;
    client *client;
    struct pods_of main; // the pod with the most important log; empty: none
    char *ns;
    job_training *training;           // made with the first pod
    const struct resource *used_kind; // tells what its pods or nodes use; NULL: nothing does
    usage *usage;
    bool peek;          // of a person who looks: no part of the run's journal
    spark_live *inside; // of the Spark driver among its pods; NULL: none runs
    char *driver;       // uid of that pod
};

// What pods use changes all the time. A run's journal gets some of it, seldom.
enum { USED_MS = 20000, USED_MS_JOURNALED = 30000, USED_ROWS_JOURNALED = 100 };
// What a pod's percents are of is in its object. Of more pods than these it becomes known when they
// change, unless somebody asks for it.
enum { WHOLE = 500 };

static const char mime[] = "application/vnd.firesteel.pods+json";

static cJSON *bundle(const struct live *l, bool ended)
{
    cJSON *data = cJSON_CreateObject();
    AUTO_BUF text = {0}, at = {0};
    int64_t now = clock_wall();
    cJSON *table = cJSON_Duplicate(l->table, 1);
    json_set(table, "rows", rowtexts_array(l->rows));
    tabletext_print(table, now, &text);
    rowset_say_more(l->more, &text);
    if (l->note)
        buf_fmt(&text, "-- %s --\n", l->note);
    json_set_str(data, "text/plain", buf_cstr(&text));
    clock_rfc3339(&at, now, CLOCK_SECONDS);
    json_set_str(table, "at", ended ? buf_cstr(&at) : NULL);
    json_set_str(table, "note", l->note);
    if (l->more)
        json_set_int(table, "more", l->more);
    json_set(data, mime, table);
    return data;
}

static void live_free(void *arg)
{
    struct live *l = arg;
    for (int i = 0; i < l->count; i++) {
        watch_close(l->parts[i].watch);
        free(l->parts[i].ns);
        free(l->parts[i].labels);
        free(l->parts[i].fields);
        cJSON_Delete(l->parts[i].definitions);
    }
    usage_close(l->usage);
    job_training_close(l->training);
    spark_live_free(l->inside);
    free(l->driver);
    k8s_pods_done(&l->main);
    free(l->ns);
    rowtexts_free(l->rows);
    cJSON_Delete(l->table);
    free(l->uid);
    free(l->note);
    free(l);
}

static void finish(void *arg)
{
    struct live *l = arg;
    job_training_close(STEAL(l->training));
    spark_live_free(STEAL(l->inside));
    display_close(l->display, bundle(l, true));
    live_free(l);
}

// An object as a row of the pods' table: KIND/NAME, and its state as the status.
static cJSON *object_row(const struct part *p, const cJSON *object)
{
    struct state s = state_of(object);
    const char *own = json_path_str(object, "metadata.name");
    AUTO_FREE char *name = str_fmt("%s/%s", p->resource.singular, own ? own : "");
    cJSON *row = table_pods_row(object, name, s.text);
    json_set(row, "about", k8s_about(&p->resource));
    return row;
}

static struct table_form form_of(const struct part *p)
{
    return (struct table_form){.definitions = p->definitions,
        .group = p->resource.group,
        .kind = p->resource.kind,
        .wide = p->live->wide,
        .usage = p->live->used_kind != NULL,
        .usage_always = p->live->uses,
        .with_namespace = !p->ns && p->resource.namespaced};
}

static cJSON *plain_row(const struct part *p, const cJSON *object)
{
    if (p->live->uid && p->pods)
        return table_pod_row(object, clock_wall());
    if (p->live->uid)
        return object_row(p, object);
    struct table_form form = form_of(p);
    cJSON *row = table_row(&form, object, watch_cells(p->watch), clock_wall());
    if (k8s_is_event(&p->resource))
        k8s_set_event_about(row, object);
    return row;
}

// Of the two parts, pods have usage.
static cJSON *row_of(const struct part *p, const cJSON *object)
{
    cJSON *row = plain_row(p, object);
    struct live *l = p->live;
    if (l->usage && (p->pods || !l->uid))
        usage_show(l->table, row,
            usage_follow(
                l->usage, json_str(row, "namespace"), json_str(row, "name"), json_str(row, "uid")));
    return row;
}

static void keep_row(struct live *l, const cJSON *row, bool deleted)
{
    if (deleted)
        rowtexts_drop(l->rows, json_str(row, "uid"));
    else
        rowtexts_put(l->rows, row);
}

static display *show_inside(void *arg, cJSON *data)
{
    const struct live *l = arg;
    return display_beside(l->display, data);
}

static void inside_refused(void *arg, const err *why)
{
    const struct live *l = arg;
    cJSON *fields = cJSON_CreateObject();
    AUTO_FREE char *hint = str_fmt("what Spark does inside is not shown: %s", why->text);
    json_set_str(fields, "hint", hint);
    display_table(l->display, fields);
}

// While a driver of Spark runs among the object's pods, what it does inside stands beside the
// table.
static void follow_inside(struct live *l, const cJSON *pod, bool deleted)
{
    const char *uid = json_path_str(pod, "metadata.uid");
    bool runs = !deleted && str_eq(json_path_str(pod, "status.phase"), "Running");
    if (!spark_is_driver(pod))
        return;
    if (l->inside && !runs && str_eq(uid, l->driver)) {
        spark_live_end(l->inside, NULL, NULL);
        spark_live_free(STEAL(l->inside));
    }
    if (l->inside || !runs || str_eq(uid, l->driver))
        return;
    free(l->driver);
    l->driver = mem_strdup(uid);
    l->inside = spark_live_open(
        l->loop, &(struct spark_live_spec){.source = {.client = l->client,
                                               .ns = json_path_str(pod, "metadata.namespace"),
                                               .pod = json_path_str(pod, "metadata.name"),
                                               .port = spark_ui_port(pod)},
                     .limits = spark_limits_of(NULL),
                     .show = show_inside,
                     .refused = inside_refused,
                     .arg = l});
}

static void on_event(void *arg, enum watch_change change, const cJSON *object)
{
    struct part *p = arg;
    struct live *l = p->live;
    bool deleted = change == WATCH_DELETED;
    cJSON *row = row_of(p, object);
    if (deleted && l->uid && str_eq(json_str(row, "uid"), l->uid)) {
        cJSON_Delete(row); // the display's object is gone: its last row stays
        finish(l);
        return;
    }
    keep_row(l, row, deleted);
    if (deleted && l->usage)
        usage_forget(l->usage, json_str(row, "namespace"), json_str(row, "name"));
    if (p->pods && (l->main.pod || l->main.labels))
        l->training = job_training_open(l->client, l->display, l->ns, &l->main);
    if (p->pods && l->uid)
        follow_inside(l, object, deleted);
    if (deleted)
        json_set_bool(row, "deleted", true);
    cJSON *rows = cJSON_CreateArray();
    cJSON_AddItemToArray(rows, row);
    display_rows(l->display, rows);
}

// What the server's columns make of the table; the rows come after it.
static void on_columns(void *arg, const cJSON *definitions)
{
    static const char *const looks[] = {"columns", "keep", "count", "order"};
    struct part *p = arg;
    struct live *l = p->live;
    cJSON_Delete(p->definitions);
    p->definitions = definitions ? cJSON_Duplicate(definitions, true) : NULL;
    struct table_form form = form_of(p);
    AUTO_JSON *table = table_empty(&form);
    cJSON *fields = cJSON_CreateObject();
    if (l->sick_first)
        json_set_str(table, "order", TABLETEXT_SICK);
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        const cJSON *look = json_get(table, looks[i]);
        json_set(fields, looks[i], look ? cJSON_Duplicate(look, true) : cJSON_CreateNull());
        cJSON_DeleteItemFromObjectCaseSensitive(l->table, looks[i]);
        if (look)
            json_set(l->table, looks[i], cJSON_Duplicate(look, true));
    }
    display_table(l->display, fields);
}

static void on_used(void *arg, const char *uid, const struct used *used)
{
    struct live *l = arg;
    cJSON *row = rowtexts_get(l->rows, uid);
    if (!row)
        return;
    usage_show(l->table, row, used);
    keep_row(l, row, false);
    cJSON *rows = cJSON_CreateArray();
    cJSON_AddItemToArray(rows, row);
    display_rows(l->display, rows);
}

static void on_used_refused(void *arg, const err *why)
{
    struct live *l = arg;
    cJSON *fields = cJSON_CreateObject();
    AUTO_FREE char *hint = str_fmt("no CPU and MEM: %s", why->text);
    json_set_str(fields, "hint", hint);
    display_table(l->display, fields);
}

// A person is told once; a notebook's table goes without, and leaves the once to the person.
static const struct usage_ops peek_callbacks = {.changed = on_used, .refused = on_used_refused};
static const struct usage_ops used_callbacks = {.changed = on_used};

usage *k8s_usage(
    client *c, struct usage_spec spec, bool peek, const struct usage_ops *ops, void *arg)
{
    spec.every_ms = peek ? USED_MS : USED_MS_JOURNALED;
    spec.most = peek ? 0 : USED_ROWS_JOURNALED;
    return usage_open(c, &spec, ops, arg);
}

// For the part that has pods or nodes. Of field selectors, those servers know the name alone.
static void open_usage(struct live *l)
{
    const struct part *p = &l->parts[l->count - 1];
    bool by_name = p->fields && str_starts(p->fields, "metadata.name=");
    if (l->used_kind)
        l->usage = k8s_usage(l->client,
            (struct usage_spec){.resource = l->used_kind,
                .ns = p->ns,
                .labels = p->labels,
                .fields = by_name ? p->fields : NULL},
            l->peek, l->peek ? &peek_callbacks : &used_callbacks, l);
}

static bool wants_object(void *arg, const cJSON *cells)
{
    struct table_form form = form_of(arg);
    return table_wants_object(&form, cells, clock_wall());
}

static void on_synced(void *arg)
{
    struct part *p = arg;
    struct live *l = p->live;
    if (p == &l->parts[l->count - 1])
        usage_begin(l->usage);
    if (!p->pods && l->uid && !rowtexts_has(l->rows, l->uid))
        finish(l); // it was gone before we could look
}

char *k8s_away_note(const watch *w, const err *reason)
{
    int64_t heard = watch_heard(w);
    AUTO_BUF age = {0};
    err why = {0};
    watch_cause(w, reason, &why);
    if (heard)
        duration_age(&age, clock_mono() - heard);
    buf_str(&age, heard ? " old" : "server away"); // as bench_away has it
    return why.code != ERR_NONE ? str_fmt("%s: %s", buf_cstr(&age), why.text) : NULL;
}

void k8s_away_tell(display *d, const watch *w, const err *reason)
{
    int64_t heard = watch_heard(w);
    err why = {0};
    watch_cause(w, reason, &why);
    if (why.code != ERR_FORBIDDEN) // a refusal is an answer, too
        display_away(d, &why, heard ? clock_wall() - (clock_mono() - heard) : 0);
}

static void on_away(void *arg, const err *reason)
{
    const struct part *p = arg;
    struct live *l = p->live;
    free(l->note);
    l->note = k8s_away_note(p->watch, reason);
    cJSON *fields = cJSON_CreateObject();
    json_set(fields, "note", l->note ? cJSON_CreateString(l->note) : cJSON_CreateNull());
    display_table(l->display, fields);
    k8s_away_tell(l->display, p->watch, reason);
}

static void on_more(void *arg, size_t n)
{
    struct part *p = arg;
    struct live *l = p->live;
    l->more += (int64_t)n - (int64_t)p->more;
    p->more = n;
    cJSON *fields = cJSON_CreateObject();
    json_set(fields, "more", l->more ? json_new_int(l->more) : cJSON_CreateNull());
    display_table(l->display, fields);
}

static const struct watch_ops watch_callbacks = {.event = on_event,
    .synced = on_synced,
    .away = on_away,
    .more = on_more,
    .columns = on_columns};
// Thousands of pods, most of which are well.
static const struct watch_ops pods_callbacks = {.event = on_event,
    .synced = on_synced,
    .away = on_away,
    .more = on_more,
    .columns = on_columns,
    .wants_object = wants_object};

static void add_part(struct live *l, const struct resource *r, bool pods, const char *ns,
    const char *labels, const char *fields)
{
    struct part *p = &l->parts[l->count++];
    *p = (struct part){.live = l, .resource = *r, .pods = pods};
    p->ns = mem_strdup(r->namespaced ? ns : NULL);
    p->labels = mem_strdup(labels);
    p->fields = mem_strdup(fields);
}

static void begin(void *arg)
{
    struct live *l = arg;
    open_usage(l);
    for (int i = 0; i < l->count; i++) {
        struct part *p = &l->parts[i];
        p->watch = watch_open(l->client,
            &(struct watch_spec){.resource = &p->resource,
                .ns = p->ns,
                .labels = p->labels,
                .fields = p->fields,
                .table = !l->uid,
                .whole = l->uses        ? SIZE_MAX
                         : l->used_kind ? WHOLE
                                        : 0,
                .most = (size_t)(ROWSET_TABLE - l->count + 1)}, // the object has a row, too
            p->pods && !l->uid ? &pods_callbacks : &watch_callbacks, p);
    }
    display_on_end(l->display, finish, NULL, l); // at once, if the run has ended meanwhile
}

static bool is_pods(const struct resource *r)
{
    return str_eq(r->kind, "Pod") && !*r->group;
}

static void add_list(struct live *l, const struct target *t, const cJSON *args)
{
    bool all = json_bool_or(args, "all_namespaces", false);
    l->used_kind = usage_of(t->client, t->resource);
    add_part(l, t->resource, is_pods(t->resource), all ? NULL : t->ns, json_str(args, "selector"),
        json_str(args, "field_selector"));
    if (k8s_is_event(t->resource))
        k8s_take_event_actions(l->table);
    else
        k8s_take_actions(l->table, t->resource);
    k8s_set_title(l->table, t->resource, all ? NULL : t->ns);
    k8s_set_context(l->table, t);
}

static int add_object(struct live *l, struct target *t, err *e)
{
    AUTO_JSON *object = client_get(t->client, &t->patience, t->resource, t->ns, t->name, e);
    if (!object)
        return -1;
    const struct resource *pod = client_resource(t->client, &t->patience, "pods", e);
    if (!pod)
        return -1;
    bool is_pod = is_pods(t->resource);
    AUTO_FREE char *field = str_fmt("metadata.name=%s", t->name);
    l->uid = mem_strdup(json_path_str(object, "metadata.uid"));
    add_part(l, t->resource, is_pod, t->ns, NULL, field);
    cJSON *row = row_of(&l->parts[0], object);
    keep_row(l, row, false);
    cJSON_Delete(row);
    struct pods_of pods;
    if (!is_pod && k8s_pods_of(object, true, &pods, NULL) == 0) {
        add_part(l, pod, true, t->ns, pods.labels, NULL);
        k8s_pods_done(&pods);
    }
    if (is_pods(&l->parts[l->count - 1].resource))
        l->used_kind = usage_of(t->client, pod);
    k8s_take_actions(l->table, NULL);
    AUTO_FREE char *title = str_fmt("%s %s", t->resource->singular, t->name);
    json_set_str(l->table, "title", title);
    l->ns = mem_strdup(t->ns);
    if (k8s_pods_of(object, false, &l->main, NULL) != 0)
        l->main = (struct pods_of){0};
    return 0;
}

// usage = true is a wish that only some servers can grant, for pods and nodes.
static int check_uses(struct live *l, const struct target *t, err *e)
{
    const struct resource *r = &l->parts[l->count - 1].resource;
    if (!l->uses || l->used_kind)
        return 0;
    if (t->name && !is_pods(r))
        return err_set(e, ERR_USAGE,
            "k8s.watch: usage of %s %s is not shown; k8s.watch(\"%s\", { usage = true }) shows "
            "that of all",
            t->resource->singular, t->name, str_eq(r->kind, "Node") ? "nodes" : "pods");
    l->used_kind = usage_ask(t->client, &t->patience, r, e);
    return l->used_kind ? 0 : err_wrap(e, "k8s.watch");
}

// A person's table of a namespace that is not there would look like one of an empty namespace. Who
// may not read namespaces, or cannot now, gets the table.
static int check_namespace(call *c, struct target *t, const cJSON *args, err *e)
{
    const char *ns = json_str(args, "namespace");
    bool all = json_bool_or(args, "all_namespaces", false);
    if (!call_is_action(c) || !ns || all || t->name || !t->resource->namespaced)
        return 0;
    err why = {0};
    const struct resource *r = client_resource(t->client, &t->patience, "namespaces", &why);
    AUTO_JSON *object = r ? client_get(t->client, &t->patience, r, NULL, ns, &why) : NULL;
    if (object || !r || why.code != ERR_NOT_FOUND)
        return 0;
    return err_set(e, ERR_NOT_FOUND, "context %s has no namespace \"%s\"; :ns lists those it has",
        client_config(t->client)->context, ns);
}

// {"kind", "name" | "selector", …}: returns at once, when the display is made.
int k8s_watch(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, false, &t, e) != 0 || check_namespace(c, &t, args, e) != 0)
        return -1;
    struct live *l = mem_alloc(sizeof *l);
    l->loop = call_loop(c);
    l->client = t.client;
    l->wide = json_bool_or(args, "wide", false);
    l->sick_first = json_bool_or(args, "sick_first", false);
    l->uses = json_bool_or(args, "usage", false);
    l->peek = call_is_action(c);
    l->table = t.name || is_pods(t.resource) ? table_of_pods(l->uses) : cJSON_CreateObject();
    json_array_at(l->table, "columns");
    if (l->sick_first)
        json_set_str(l->table, "order", TABLETEXT_SICK);
    l->rows = rowtexts_new();
    if (!t.name)
        add_list(l, &t, args);
    if ((t.name && add_object(l, &t, e) != 0) || check_uses(l, &t, e) != 0) {
        live_free(l);
        return -1;
    }
    if (!t.name)
        call_asks_server(c, false); // not yet
    if (l->uid && !l->peek)
        k8s_set_watched(c, l->uid);
    l->display = call_display(c, bundle(l, false), true);
    *result = NULL;
    if (call_is_action(c)) {
        *result = cJSON_CreateObject();
        json_set_int(*result, "display", display_id(l->display));
    }
    loop_post(l->loop, begin, l);
    return 0;
}
