// SPDX-License-Identifier: MIT
// k8s.logs: the log of a pod, of an application's driver, or of all pods of an owner; returned as a
// text, or followed in a live display that the loop feeds.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/sick.h"
#include "k8s/client/state.h"
#include "k8s/client/tail.h"
#include "script/bind/k8s.h"
#include "script/bind/training.h"

#include <string.h>

enum { TEXT_LIMIT = 8 << 20 };

struct following {
    display *display;
    tail *tail;
    client *client;
    struct tail_spec spec; // its strings are in `args`
    cJSON *args;
    struct pods_of pods;
    char *ns;
    char *waits; // why there is nothing yet; NULL: nothing is known
    bool own;    // the display itself is the log; otherwise the text goes below the cell
};

// {"container", "all", "all_containers", "grep", "tail", "since", "previous", "follow"} with the
// pods.
static int read_spec(
    const cJSON *args, const struct pods_of *pods, const char *ns, struct tail_spec *spec, err *e)
{
    int64_t since = 0;
    const char *text = json_str(args, "since");
    if (text && duration_parse(text, &since, e) != 0)
        return err_wrap(e, "since");
    bool whole = json_bool_or(args, "all", false);
    *spec = (struct tail_spec){.ns = ns,
        .pod = pods->pod,
        .labels = pods->labels,
        .container = json_str(args, "container"),
        .grep = json_str(args, "grep"),
        .all_containers = json_bool_or(args, "all_containers", false),
        .follow = json_bool_or(args, "follow", false),
        .previous = json_bool_or(args, "previous", false),
        .prefix = json_bool_or(args, "prefix", whole),
        .prefix_many = json_bool_or(args, "own", false),
        .tail = json_int_or(args, "tail", -1),
        .since_s = (since + CLOCK_SEC - 1) / CLOCK_SEC};
    return 0;
}

static void following_free(struct following *f)
{
    tail_close(f->tail);
    cJSON_Delete(f->args);
    k8s_pods_done(&f->pods);
    free(f->ns);
    free(f->waits);
    free(f);
}

static void finish(void *arg)
{
    struct following *f = arg;
    display_close(f->display, NULL);
    following_free(f);
}

static void show(struct following *f, const char *text, size_t n)
{
    AUTO_BUF line = {0};
    buf_add(&line, text, n);
    buf_char(&line, '\n');
    display_text(f->display, line.data, line.len);
}

// A trainer's reports are shown as progress, not as text.
static void on_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    AUTO_JSON *event = training_line(text, n);
    if (!event)
        show(arg, text, n);
}

static void drop_events(buf *text)
{
    AUTO_BUF kept = {0};
    for (const char *line = buf_cstr(text), *end = line + text->len; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((newline ? newline : end) - line);
        AUTO_JSON *event = training_line(line, n);
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
        show(f, e->text, strlen(e->text));
    finish(f);
}

static const struct tail_ops tail_callbacks = {.line = on_line, .done = on_done};

static void begin(void *arg)
{
    struct following *f = arg;
    err e = {0};
    if (f->waits)
        show(f, f->waits, strlen(f->waits));
    f->tail = tail_open(f->client, &f->spec, &tail_callbacks, f, &e);
    if (f->tail)
        display_on_end(f->display, finish, f); // at once, if the run has ended meanwhile
    else
        on_done(f, &e);
}

// The live display, while the text goes below the cell.
static display *show_nothing(call *c, const struct following *f)
{
    cJSON *data = cJSON_CreateObject();
    json_set_str(data, "text/plain", "");
    cJSON *log = json_object_at(data, "application/vnd.firesteel.log+json");
    json_set_str(log, "pod", f->pods.pod);
    json_set_str(log, "selector", f->pods.labels);
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
    if (!str_eq(json_str(object, "kind"), "Pod"))
        return mem_strdup(name);
    if (!container && cJSON_GetArraySize(json_path(object, "spec.containers")) == 1)
        container = json_path_str(object, "spec.containers[0].name");
    return container ? str_fmt("%s/%s", name, container) : mem_strdup(name);
}

static int follow(call *c, struct target *t, const cJSON *args, const cJSON *object,
    struct pods_of *pods, cJSON **result, err *e)
{
    struct following *f = mem_alloc(sizeof *f);
    f->client = t->client;
    f->args = cJSON_Duplicate(args, 1);
    f->ns = mem_strdup(t->ns);
    f->pods = *pods;
    *pods = (struct pods_of){0};
    if (read_spec(f->args, &f->pods, f->ns, &f->spec, e) != 0) {
        following_free(f);
        return -1;
    }
    f->own = json_bool_or(args, "own", false);
    f->waits = waits_for(object);
    AUTO_FREE char *title = title_of(args, object);
    f->display = f->own ? call_log(c, title, e) : show_nothing(c, f);
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

int k8s_logs(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct pods_of pods = {0};
    AUTO_JSON *object = NULL;
    if (k8s_target(c, args, false, &t, e) != 0)
        return -1;
    if (t.name) {
        object = k8s_object(c, &t, e);
        if (!object || k8s_pods_of(object, json_bool_or(args, "all", false), &pods, e) != 0)
            return -1;
    } else if (json_str(args, "selector")) {
        pods.labels = mem_strdup(json_str(args, "selector"));
    } else {
        return err_set(e, ERR_USAGE, "whose logs? Give a pod's name, or selector=");
    }
    int code = 0;
    AUTO_BUF text = {0};
    struct tail_spec spec;
    if (json_bool_or(args, "follow", false))
        code = follow(c, &t, args, object, &pods, result, e);
    else if ((code = read_spec(args, &pods, t.ns, &spec, e)) == 0)
        code = tail_read(t.client, &t.patience, &spec, TEXT_LIMIT, &text, e);
    k8s_pods_done(&pods);
    if (code == 0 && !json_bool_or(args, "follow", false)) {
        drop_events(&text);
        *result = k8s_text(&text);
    }
    return code;
}
