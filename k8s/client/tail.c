// SPDX-License-Identifier: MIT
#include "k8s/client/tail.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/merge.h"
#include "k8s/client/request.h"
#include "k8s/client/watch.h"

#include <regex.h>
#include <string.h>

enum { HELD_MOST = 4 << 20, HELD_LEAST = 1 << 20 };
static const int64_t window = 500 * CLOCK_MS;

struct reader { // one container's log
    struct reader *next;
    tail *tail;
    logs *log; // NULL: ended
    int source;
    char *pod, *container, *prefix;
    bool paused;
};

struct tail {
    client *client;
    char *ns, *container;
    bool all_containers, follow, previous, prefix, prefix_many, one_pod, has_grep;
    regex_t grep;
    int64_t tail, since_s;
    const struct tail_ops *ops;
    void *arg;

    struct resource pods;
    watch *watch; // watches the pods; NULL: no more pods will come
    struct reader *readers;
    merge *merge;
    loop_timer *timer;
    err error; // the first error of a reader
    bool busy, closed;
};

static void tail_free(tail *t)
{
    while (t->readers) {
        struct reader *r = t->readers;
        t->readers = r->next;
        logs_close(r->log);
        free(r->pod);
        free(r->container);
        free(r->prefix);
        free(r);
    }
    merge_free(t->merge);
    if (t->has_grep)
        regfree(&t->grep);
    free(t->ns);
    free(t->container);
    free(t);
}

void tail_close(tail *t)
{
    if (!t || t->closed)
        return;
    watch_close(STEAL(t->watch));
    loop_timer_free(STEAL(t->timer));
    for (struct reader *r = t->readers; r; r = r->next)
        logs_close(STEAL(r->log));
    t->closed = true;
    if (!t->busy)
        tail_free(t);
}

static void soon(tail *t)
{
    loop_timer_start(t->timer, 0, 0);
}

static bool all_ended(const tail *t)
{
    for (const struct reader *r = t->readers; r; r = r->next)
        if (r->log)
            return false;
    return !t->watch;
}

static void resume_readers(tail *t)
{
    for (struct reader *r = t->readers; r; r = r->next) {
        if (r->paused && merge_held(t->merge, r->source) < HELD_LEAST) {
            r->paused = false;
            logs_pause(r->log, false);
        }
    }
}

static void on_timer(void *arg)
{
    tail *t = arg;
    int64_t now = clock_mono();
    t->busy = true;
    int64_t due = merge_tick(t->merge, now);
    t->busy = false;
    if (t->closed) {
        tail_free(t);
        return;
    }
    resume_readers(t);
    if (due) {
        loop_timer_start(t->timer, due > now ? (uint64_t)((due - now) / CLOCK_MS + 1) : 0, 0);
    } else if (all_ended(t)) {
        const struct tail_ops *ops = t->ops;
        void *owner = t->arg;
        err e = t->error;
        tail_close(t);
        ops->done(owner, &e);
    }
}

static struct reader *reader_of(const tail *t, int source)
{
    struct reader *r = t->readers;
    while (r->source != source)
        r = r->next;
    return r;
}

// The kind of a line is the first byte of the text in the merge.
static void on_merged(void *arg, const struct merge_line *m)
{
    tail *t = arg;
    if (t->closed)
        return;
    enum log_kind kind = (enum log_kind)m->text[0];
    const struct reader *r = reader_of(t, m->source);
    AUTO_BUF line = {0};
    if (t->prefix || (t->prefix_many && t->readers->next))
        buf_fmt(&line, "%s | ", r->prefix);
    if (kind != LOG_LINE)
        buf_str(&line, "-- ");
    utf8_clean(&line, m->text + 1, m->n - 1);
    if (kind != LOG_LINE)
        buf_str(&line, " --");
    t->ops->line(t->arg, kind, buf_cstr(&line), line.len);
}

static bool passes(const tail *t, const struct log_line *line)
{
    regmatch_t all = {.rm_so = 0, .rm_eo = (regoff_t)line->n};
    return line->kind != LOG_LINE || !t->has_grep ||
           regexec(&t->grep, line->text, 1, &all, REG_STARTEND) == 0;
}

static void on_line(void *arg, const struct log_line *line)
{
    struct reader *r = arg;
    tail *t = r->tail;
    if (!passes(t, line))
        return;
    AUTO_BUF text = {0};
    buf_char(&text, (char)line->kind);
    buf_add(&text, line->text, line->n);
    merge_put(t->merge, r->source, line->stamp, text.data, text.len, clock_mono());
    if (!r->paused && merge_held(t->merge, r->source) > HELD_MOST) {
        r->paused = true;
        logs_pause(r->log, true);
    }
    soon(t);
}

static void on_log_done(void *arg, const err *e)
{
    struct reader *r = arg;
    tail *t = r->tail;
    r->log = NULL;
    if (e->code != ERR_NONE && t->readers->next) { // one of several: the others go on
        AUTO_BUF text = {0};
        buf_char(&text, LOG_AWAY);
        buf_str(&text, e->text);
        merge_put(t->merge, r->source, clock_wall(), text.data, text.len, clock_mono());
    } else if (e->code != ERR_NONE && t->error.code == ERR_NONE) {
        t->error = *e;
    }
    merge_end(t->merge, r->source);
    soon(t);
}

static const struct logs_ops log_ops = {.line = on_line, .done = on_log_done};

static void add_reader(tail *t, const char *pod, const char *container)
{
    for (const struct reader *r = t->readers; r; r = r->next)
        if (str_eq(r->pod, pod) && str_eq(r->container, container))
            return;
    struct reader *r = mem_alloc(sizeof *r);
    *r = (struct reader){.next = t->readers,
        .tail = t,
        .source = merge_add(t->merge),
        .pod = mem_strdup(pod),
        .container = mem_strdup(container)};
    r->prefix = t->all_containers && container ? str_fmt("%s/%s", pod, container) : mem_strdup(pod);
    t->readers = r;
    r->log = logs_open(t->client,
        &(struct logs_spec){.ns = t->ns,
            .pod = pod,
            .container = container,
            .follow = t->follow,
            .previous = t->previous,
            .tail = t->tail,
            .since_s = t->since_s},
        &log_ops, r);
}

// The container whose log is read when none is named. As in kubectl: the annotation's, else the
// first.
static const char *default_container(const cJSON *pod)
{
    const cJSON *annotations = json_path(pod, "metadata.annotations");
    const char *named = json_str(annotations, "kubectl.kubernetes.io/default-container");
    return named ? named : json_path_str(pod, "spec.containers[0].name");
}

static void on_pod(void *arg, enum watch_change change, const cJSON *pod)
{
    tail *t = arg;
    const char *name = json_path_str(pod, "metadata.name");
    if (change == WATCH_DELETED || !name)
        return;
    if (!t->all_containers) {
        add_reader(t, name, t->container ? t->container : default_container(pod));
        return;
    }
    static const char *const lists[] = {"spec.initContainers", "spec.containers"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const cJSON *c;
        cJSON_ArrayForEach(c, json_path(pod, lists[i]))
        {
            add_reader(t, name, json_str(c, "name"));
        }
    }
}

static void on_synced(void *arg)
{
    tail *t = arg;
    if (t->one_pod && !t->readers)
        err_set(&t->error, ERR_NOT_FOUND, "the pod is not there any more");
    if (!t->follow || t->one_pod)
        tail_finish(t);
}

// Without following, a refusal is the end; with following, we retry forever, as watches do.
static void on_away(void *arg, const err *reason)
{
    tail *t = arg;
    if (reason->code == ERR_NONE || (t->follow && reason->code != ERR_FORBIDDEN))
        return;
    t->error = *reason;
    tail_finish(t);
}

static const struct watch_ops pod_ops = {.event = on_pod, .synced = on_synced, .away = on_away};

void tail_finish(tail *t)
{
    watch_close(STEAL(t->watch));
    soon(t);
}

tail *tail_open(
    client *c, const struct tail_spec *spec, const struct tail_ops *ops, void *arg, err *e)
{
    tail *t = mem_alloc(sizeof *t);
    t->client = c;
    if (spec->grep) {
        int code = regcomp(&t->grep, spec->grep, REG_EXTENDED);
        if (code != 0) {
            char reason[100];
            regerror(code, &t->grep, reason, sizeof reason);
            err_set(e, ERR_USAGE, "grep = \"%s\" is no regular expression: %s", spec->grep, reason);
            free(t);
            return NULL;
        }
        t->has_grep = true;
    }
    t->ns = mem_strdup(spec->ns);
    t->container = mem_strdup(spec->container);
    t->all_containers = spec->all_containers;
    t->follow = spec->follow && !spec->previous;
    t->previous = spec->previous;
    t->prefix = spec->prefix;
    t->prefix_many = spec->prefix_many;
    t->one_pod = spec->pod != NULL;
    t->tail = spec->tail;
    t->since_s = spec->since_s;
    t->ops = ops;
    t->arg = arg;
    t->merge = merge_new(t->follow ? window : 0, on_merged, t);
    t->timer = loop_timer_new(client_loop(c), on_timer, t);
    if (spec->pod && !spec->all_containers) {
        add_reader(t, spec->pod, spec->container);
        return t;
    }
    // Pods need no discovery: every server has them.
    t->pods = (struct resource){
        .group = "", .version = "v1", .plural = "pods", .kind = "Pod", .namespaced = true};
    AUTO_FREE char *field = spec->pod ? str_fmt("metadata.name=%s", spec->pod) : NULL;
    t->watch = watch_open(c,
        &(struct watch_spec){
            .resource = &t->pods, .ns = spec->ns, .labels = spec->labels, .fields = field},
        &pod_ops, t);
    return t;
}

// A thread that reads everything.
struct collector {
    client *client;
    const struct tail_spec *spec;
    tail *tail;
    loop_pending *call;
    buf *out;
    size_t limit, left_out; // left_out: number of lines
    err error;
};

static void keep(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct collector *c = arg;
    buf_add(c->out, text, n);
    buf_char(c->out, '\n');
    if (c->out->len < 2 * c->limit)
        return;
    size_t cut = c->out->len - c->limit;
    const char *end = memchr(c->out->data + cut - 1, '\n', c->out->len - cut + 1);
    cut = (size_t)(end + 1 - c->out->data);
    for (const char *p = c->out->data; (p = memchr(p, '\n', (size_t)(c->out->data + cut - p))); p++)
        c->left_out++;
    buf_consume(c->out, cut);
}

static void collected(void *arg, const err *e)
{
    struct collector *c = arg;
    c->error = *e;
    loop_call_finish(c->call);
}

static const struct tail_ops collector_ops = {.line = keep, .done = collected};

static void collector_start(loop_pending *call, void *arg)
{
    struct collector *c = arg;
    c->call = call;
    c->tail = tail_open(c->client, c->spec, &collector_ops, c, &c->error);
    if (!c->tail)
        loop_call_finish(call);
}

static void collector_cancel(loop_pending *call, void *arg)
{
    struct collector *c = arg;
    tail_close(c->tail);
    loop_call_finish(call);
}

static const struct loop_call_ops call_ops = {.start = collector_start, .cancel = collector_cancel};

int tail_read(client *from, const struct patience *p, const struct tail_spec *spec, size_t limit,
    buf *out, err *e)
{
    struct tail_spec once = *spec;
    once.follow = false;
    AUTO_BUF text = {0};
    struct collector c = {.client = from, .spec = &once, .out = &text, .limit = limit};
    if (loop_call(client_loop(from), p->canceller, &call_ops, &c, p->deadline, e) != 0)
        return err_wrap(e, "read logs in namespace %s", spec->ns);
    if (c.error.code != ERR_NONE)
        return err_set(e, c.error.code, "%s", c.error.text);
    if (c.left_out)
        buf_fmt(out, "-- %zu earlier lines are left out: tail= or grep= choose --\n", c.left_out);
    buf_add(out, text.data, text.len);
    return 0;
}
