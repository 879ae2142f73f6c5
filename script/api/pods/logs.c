// SPDX-License-Identifier: MIT
// k8s.logs: the log of a pod, of an application's driver, or of all pods of an owner; returned as a
// text, or followed in a live display that the loop feeds. Of a text that is too large to return,
// the end is returned, and the whole goes below the cell.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/logs/tail.h"
#include "k8s/client/state/sick.h"
#include "k8s/client/state/state.h"
#include "script/api/k8s/k8s.h"
#include "script/api/trainer/training.h"

#include <string.h>

enum { TEXT_LIMIT = 8 << 20, TURN_MOST = 64 << 10 };

// Whose logs: pods, and the object that makes them.
struct whose {
    struct pods_of pods;
    const struct resource *owner; // NULL: none, or it makes no more of them
    char *name, *uid;             // of the owner
    bool relatives;               // its pods are known by their ownerReferences alone
    cJSON *objects; // of many objects: their pods, as tail_spec has them; NULL: of one
    bool ends;      // so does its log, by itself
};

struct following {
    display *display;
    tail *tail;
    client *client;
    struct tail_spec spec; // its strings are in `args`
    cJSON *args;
    struct whose whose;
    char *ns;
    char *waits; // why there is nothing yet; NULL: nothing is known
    buf text;    // lines that were not shown yet
    bool drains; // it is read to where it is now, and then closed
    bool own;    // the display itself is the log; otherwise the text goes below the cell
};

// {"container", "all", "all_containers", "grep", "tail", "since", "previous", "follow"} with the
// pods.
static int read_spec(
    const cJSON *args, const struct whose *w, const char *ns, struct tail_spec *spec, err *e)
{
    int64_t since = 0;
    const char *text = json_str(args, "since");
    if (text && duration_parse(text, &since, e) != 0)
        return err_wrap(e, "since");
    bool whole = json_bool_or(args, "all", false), follow = json_bool_or(args, "follow", false);
    const char *container = json_str(args, "container"); // which is more than all of them
    bool all = !container && json_bool_or(args, "all_containers", false);
    // An owner's pods are followed by their labels: the next one may have another name.
    bool by_labels = follow && w->owner && w->pods.labels;
    *spec = (struct tail_spec){.ns = ns,
        .objects = w->objects,
        .timestamps = json_bool_or(args, "timestamps", false),
        .pod = by_labels ? NULL : w->pods.pod,
        .labels = w->pods.pod && !by_labels ? NULL : w->pods.labels,
        .owner = w->owner,
        .owner_name = w->name,
        .owner_uid = w->uid,
        .root_uid = w->relatives ? w->uid : NULL,
        .container = container,
        .grep = json_str(args, "grep"),
        .all_containers = all,
        .follow = follow,
        .previous = json_bool_or(args, "previous", false),
        .prefix = json_bool_or(args, "prefix", whole),
        .prefix_many = json_bool_or(args, "own", all && !json_get(args, "prefix")),
        .tail = json_int_or(args, "tail", -1),
        .since_s = (since + CLOCK_SEC - 1) / CLOCK_SEC};
    return 0;
}

static void whose_done(struct whose *w)
{
    k8s_pods_done(&w->pods);
    cJSON_Delete(w->objects);
    free(w->name);
    free(w->uid);
}

static void following_free(struct following *f)
{
    tail_close(f->tail);
    cJSON_Delete(f->args);
    whose_done(&f->whose);
    free(f->ns);
    free(f->waits);
    buf_done(&f->text);
    free(f);
}

static void show(void *arg)
{
    struct following *f = arg;
    if (f->text.len)
        display_text(f->display, f->text.data, f->text.len);
    buf_clear(&f->text);
}

static void add_line(struct following *f, const char *text, size_t n)
{
    buf_add(&f->text, text, n);
    buf_char(&f->text, '\n');
    if (f->text.len >= TURN_MOST)
        show(f);
}

static void show_line(struct following *f, const char *text)
{
    add_line(f, text, strlen(text));
    show(f);
}

static void on_note(void *arg, const char *text)
{
    AUTO_FREE char *line = str_fmt("-- %s --", text);
    show_line(arg, line);
}

static void finish(void *arg)
{
    struct following *f = arg;
    show(f);
    if (f->tail && f->drains)
        on_note(f, "the run has ended before the rest of the log was read");
    display_close(f->display, NULL);
    following_free(f);
}

// A trainer's report in a line of a log, which may begin with a pod's name and a time.
static cJSON *report_in(const struct tail_spec *spec, const char *text, size_t n)
{
    size_t skip = 0, stamp = 0;
    int64_t ignored;
    if (spec->timestamps && !log_stamp(text, n, &ignored, &stamp)) {
        const char *bar = memmem(text, n, " | ", 3);
        skip = bar ? (size_t)(bar + 3 - text) : 0;
        log_stamp(text + skip, n - skip, &ignored, &stamp);
    }
    return training_line(text + skip + stamp, n - skip - stamp);
}

// A trainer's reports are shown as progress, not as text.
static void on_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    const struct following *f = arg;
    AUTO_JSON *event = report_in(&f->spec, text, n);
    if (!event)
        add_line(arg, text, n);
}

static void drop_events(const struct tail_spec *spec, buf *text)
{
    AUTO_BUF kept = {0};
    for (const char *line = buf_cstr(text), *end = line + text->len; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((newline ? newline : end) - line);
        AUTO_JSON *event = report_in(spec, line, n);
        if (!event)
            buf_add(&kept, line, n + (newline != NULL));
        line += n + 1;
    }
    buf_done(text);
    *text = (buf){kept.data, kept.len, kept.cap};
    kept = (buf){0};
}

static void on_done(void *arg, const err *e)
{
    struct following *f = arg;
    f->tail = NULL;
    if (e->code != ERR_NONE && f->own)
        display_note(f->display, e->text);
    else if (e->code != ERR_NONE)
        show_line(f, e->text);
    finish(f);
}

static const struct tail_ops tail_callbacks = {
    .line = on_line, .told = show, .note = on_note, .done = on_done};

// A headless run has come to its end: what there is now is still read.
static void drain(void *arg)
{
    struct following *f = arg;
    f->drains = true;
    tail_drain(f->tail);
}

static void begin(void *arg)
{
    struct following *f = arg;
    err e = {0};
    if (f->waits)
        show_line(f, f->waits);
    f->tail = tail_open(f->client, &f->spec, &tail_callbacks, f, &e);
    if (!f->tail) {
        on_done(f, &e);
        return;
    }
    display_on_drain(f->display, drain, f, f->whose.ends);
    display_on_end(f->display, finish, NULL, f); // at once, if the run has ended meanwhile
}

// The live display, while the text goes below the cell.
static display *show_nothing(call *c, const struct following *f)
{
    cJSON *data = cJSON_CreateObject();
    json_set_str(data, "text/plain", "");
    cJSON *log = json_object_at(data, "application/vnd.firesteel.log+json");
    json_set_str(log, "pod", f->whose.pods.pod);
    json_set_str(log, "selector", f->whose.pods.labels);
    return call_display(c, data, true);
}

// Why a pod has no log yet; new, NULL: it has started, or is no pod.
static char *waits_for(const cJSON *object)
{
    AUTO_BUF why = {0};
    if (!str_eq(json_str(object, "kind"), "Pod") ||
        !str_eq(json_path_str(object, "status.phase"), "Pending"))
        return NULL;
    object_sick(object, clock_wall(), &why);
    return str_fmt("-- it has not started yet: %s%s%s --", state_of(object).text,
        why.len ? ": " : "", buf_cstr(&why));
}

// "web-0/main": a pod with the container whose log it is.
static char *title_of(const cJSON *args, const cJSON *object)
{
    const char *name = json_str_or(args, "name", "log"), *container = json_str(args, "container");
    int many = cJSON_GetArraySize(json_get(args, "objects"));
    if (many)
        return str_fmt("logs of %d rows", many);
    if (!str_eq(json_str(object, "kind"), "Pod"))
        return mem_strdup(name);
    if (!container && cJSON_GetArraySize(json_path(object, "spec.containers")) == 1)
        container = json_path_str(object, "spec.containers[0].name");
    return container ? str_fmt("%s/%s", name, container) : mem_strdup(name);
}

static int follow(call *c, struct target *t, const cJSON *args, const cJSON *object,
    struct whose *whose, cJSON **result, err *e)
{
    struct following *f = mem_alloc(sizeof *f);
    f->client = t->client;
    f->args = cJSON_Duplicate(args, 1);
    f->ns = mem_strdup(t->ns);
    f->whose = *whose;
    *whose = (struct whose){0};
    if (read_spec(f->args, &f->whose, f->ns, &f->spec, e) != 0) {
        following_free(f);
        return -1;
    }
    f->own = json_bool_or(args, "own", false);
    f->waits = waits_for(object);
    AUTO_FREE char *title = title_of(args, object);
    f->display = f->own ? call_log(c, title, false, e) : show_nothing(c, f);
    if (!f->display) {
        following_free(f);
        return -1;
    }
    if (f->own) {
        *result = cJSON_CreateObject();
        json_set_int(*result, "display", display_id(f->display));
    }
    loop_post(call_loop(c), begin, f);
    return 0;
}

// The object that makes a pod of this name again; NULL: none does.
static const cJSON *same_maker(const cJSON *pod)
{
    const cJSON *owner;
    cJSON_ArrayForEach(owner, json_path(pod, "metadata.ownerReferences"))
    {
        const struct known *row = known_of(owner);
        if (row && row->same_names)
            return owner;
    }
    return NULL;
}

// `like` has the owner's apiVersion and kind.
static void take_owner(
    struct whose *w, const struct resource *r, const cJSON *like, const char *name, const char *uid)
{
    const struct known *row = known_of(like);
    w->owner = r;
    w->name = mem_strdup(name);
    w->uid = mem_strdup(uid);
    w->ends = !row || !row->endless;
}

static void take_pod_s_owner(struct target *t, const cJSON *pod, struct whose *w)
{
    const cJSON *owner = same_maker(pod);
    w->ends = true;
    if (!owner)
        return;
    const struct resource *r = client_resource_of(t->client, &t->patience,
        json_str_or(owner, "apiVersion", ""), json_str_or(owner, "kind", ""), NULL);
    if (r)
        take_owner(w, r, owner, json_str(owner, "name"), json_str(owner, "uid"));
}

// Pods of an object of a kind of which nothing else is known. The kinds of v1 own none.
static bool has_relatives(const cJSON *object)
{
    return !str_eq(json_str(object, "apiVersion"), "v1") && json_path_str(object, "metadata.uid");
}

static int whose_of(struct target *t, const cJSON *object, bool whole, struct whose *w, err *e)
{
    err why = {0};
    if (k8s_pods_found(t, object, whole, &w->pods, &why) != 0) {
        if (!has_relatives(object))
            return err_set(e, why.code, "%s", why.text);
        w->relatives = true;
    }
    if (known_is(object, "", "Pod"))
        take_pod_s_owner(t, object, w);
    else
        take_owner(w, t->resource, object, t->name, json_path_str(object, "metadata.uid"));
    return 0;
}

struct whole { // a log that is too large for a text
    display *display;
    const struct tail_spec *spec;
};

static void on_whole_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct whole *w = arg;
    AUTO_JSON *event = report_in(w->spec, text, n);
    AUTO_BUF line = {0};
    if (event)
        return;
    buf_add(&line, text, n);
    buf_char(&line, '\n');
    display_text(w->display, line.data, line.len);
}

// Reads it again, into a log below the cell. Whoever reads the output alone has no such log, so the
// file is named.
static int show_whole(
    call *c, struct target *t, const char *title, const struct tail_spec *spec, err *e)
{
    static const struct tail_ops ops = {.line = on_whole_line};
    struct whole w = {.display = call_log(c, title, false, e), .spec = spec};
    if (!w.display)
        return -1;
    AUTO_FREE char *file = display_file(w.display);
    AUTO_FREE char *note = str_fmt(
        "-- a text has the newest lines of so large a log; all are below the cell, and in %s --\n",
        file);
    int result = tail_read_to(t->client, &t->patience, spec, &ops, &w, e);
    display_close(w.display, NULL);
    if (result == 0)
        call_output(c, "stderr", note, strlen(note));
    return result;
}

// Of what is over, no log may mean that its pods have been deleted. Those who wait for one hear it.
static void say_none(call *c, const struct target *t, const cJSON *object, const struct whose *w)
{
    if (!w->owner || !object || state_of(object).outcome == OUTCOME_OPEN)
        return;
    AUTO_FREE char *note = str_fmt("-- %s %s is %s, and has no pod with a log: logs go with their "
                                   "pods --\n",
        t->resource->singular, t->name, state_of(object).text);
    call_output(c, "stderr", note, strlen(note));
}

static int read_once(call *c, struct target *t, const cJSON *args, const cJSON *object,
    const struct whose *w, cJSON **result, err *e)
{
    struct tail_spec spec;
    struct tail_text log;
    AUTO_BUF text = {0};
    if (read_spec(args, w, t->ns, &spec, e) != 0 ||
        tail_read(t->client, &t->patience, &spec, TEXT_LIMIT, &log, e) != 0)
        return -1;
    if (log.note) {
        AUTO_FREE char *note = str_fmt("-- %s --\n", log.note);
        call_output(c, "stderr", note, strlen(note));
    }
    if (log.left_out)
        buf_fmt(&text, "-- %zu earlier lines are not in this text --\n", log.left_out);
    if (!log.text.len && !log.note && !json_str(args, "grep") && !json_str(args, "since"))
        say_none(c, t, object, w);
    buf_add(&text, log.text.data, log.text.len);
    bool large = log.left_out > 0;
    tail_text_done(&log);
    drop_events(&spec, &text);
    if (large && show_whole(c, t, t->name ? t->name : "log", &spec, e) != 0)
        return -1;
    *result = k8s_text(&text);
    return 0;
}

enum { PODS_MOST = 100 }; // each container is a connection

static void add_pod(cJSON *objects, cJSON *pod, const char *container)
{
    cJSON *one = cJSON_CreateObject();
    json_set(one, "pod", pod);
    json_set_str(one, "container", container);
    cJSON_AddItemToArray(objects, one);
}

// The pods of one object among many.
static int add_pods_of(call *c, const cJSON *args, cJSON *objects, err *e)
{
    struct target t;
    struct pods_of whose;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = k8s_object(c, &t, e);
    if (!object)
        return -1;
    if (known_is(object, "", "Pod")) {
        add_pod(objects, STEAL(object), json_str(args, "container"));
        return 0;
    }
    if (k8s_pods_found(&t, object, true, &whose, e) != 0)
        return -1;
    AUTO_FREE char *field = whose.pod ? str_fmt("metadata.name=%s", whose.pod) : NULL;
    AUTO_JSON *pods = k8s_items(&t, &t.patience, "v1", "Pod", t.ns,
        &(struct list_query){.labels = whose.labels, .fields = field}, e);
    k8s_pods_done(&whose);
    while (pods && pods->child)
        add_pod(objects, cJSON_DetachItemFromArray(pods, 0), NULL);
    return pods ? 0 : -1;
}

// An object that has gone meanwhile, or has no pods, is left out; the first reason is told where
// none is left.
static int pods_of_many(call *c, const cJSON *all, struct whose *w, err *e)
{
    err first = {0};
    const cJSON *args;
    w->ends = true;
    w->objects = cJSON_CreateArray();
    cJSON_ArrayForEach(args, all)
    {
        err why = {0};
        if (add_pods_of(c, args, w->objects, &why) != 0 && !first.code)
            first = why;
    }
    int n = cJSON_GetArraySize(w->objects);
    if (n == 0)
        return first.code ? err_set(e, first.code, "%s", first.text)
                          : err_set(e, ERR_NOT_FOUND, "these rows have no pods");
    if (n > PODS_MOST)
        return err_set(e, ERR_USAGE,
            "these are the logs of %d pods; up to %d are read together: mark fewer rows", n,
            PODS_MOST);
    return 0;
}

int k8s_logs(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct whose w = {0};
    AUTO_JSON *object = NULL;
    if (k8s_target(c, args, false, &t, e) != 0)
        return -1;
    if (json_get(args, "objects")) {
        if (pods_of_many(c, json_get(args, "objects"), &w, e) != 0) {
            whose_done(&w);
            return -1;
        }
    } else if (t.name) {
        object = k8s_object(c, &t, e);
        if (!object || whose_of(&t, object, json_bool_or(args, "all", false), &w, e) != 0)
            return -1;
    } else if (json_str(args, "selector")) {
        w.pods.labels = mem_strdup(json_str(args, "selector"));
    } else {
        return err_set(e, ERR_USAGE, "whose logs? Give a pod's name, or selector=");
    }
    int code = json_bool_or(args, "follow", false) ? follow(c, &t, args, object, &w, result, e)
                                                   : read_once(c, &t, args, object, &w, result, e);
    whose_done(&w);
    return code;
}
