// SPDX-License-Identifier: MIT
#include "k8s/client/tail.h"

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/container.h"
#include "k8s/client/family.h"
#include "k8s/client/merge.h"
#include "k8s/client/request.h"
#include "k8s/client/state.h"
#include "k8s/client/status.h"
#include "k8s/client/watch.h"

#include <regex.h>
#include <string.h>

// Lines that are held back to be merged: of all containers together, and of one.
enum { NAMES_MOST = 4096 };
enum { HELD_ALL = 16 << 20, HELD_MOST = 4 << 20, HELD_LEAST = 64 << 10 };
static const int64_t window = 500 * CLOCK_MS;

struct reader { // one container's log
    struct reader *next;
    tail *tail;
    logs *log; // NULL: ended
    int source;
    char *pod, *uid, *container, *prefix;
    bool paused;
    bool deleted; // the pod is gone: nobody will tell of it again
    bool renewed; // an earlier pod had its name; this has to be told before its first line
};

struct tail {
    client *client;
    char *ns, *pod, *labels, *container, *owner_uid;
    bool all_containers, follow, previous, prefix, prefix_many, has_grep;
    regex_t grep;
    int64_t tail, since_s;
    const struct tail_ops *ops;
    void *arg;

    struct resource pods;
    watch *watch;      // watches the pods; NULL: no more pods will come
    watch *owner;      // watches the object that makes them
    operation *asking; // for one pod that is not watched
    loop_timer *retry; // asks again
    unsigned attempt;  // how often it was asked for in vain
    bool owner_seen;
    bool last_look; // the owner has ended: the next list of the pods is the last
    bool listed;    // the pods that were there at the beginning are known
    family *family; // which pods are the owner's, when no selector says it
    bool noted;     // it was said which container is read; or `note` will be
    char *note;
    size_t open;                       // readers that have not ended
    hashmap *names;                    // of pods that are gone, and were read
    struct reader *readers, **sources; // sources: by their number
    int source_count;
    merge *merge;
    buf line; // that is handed out
    loop_timer *timer;
    bool due;  // the timer fires in this turn
    err error; // the first error of a reader
    bool busy, closed;
};

static void reader_free(struct reader *r)
{
    logs_close(r->log);
    free(r->pod);
    free(r->uid);
    free(r->container);
    free(r->prefix);
    free(r);
}

static void tail_free(tail *t)
{
    while (t->readers) {
        struct reader *r = t->readers;
        t->readers = r->next;
        reader_free(r);
    }
    free(t->sources);
    hashmap_free(t->names);
    merge_free(t->merge);
    buf_done(&t->line);
    if (t->has_grep)
        regfree(&t->grep);
    free(t->ns);
    free(t->pod);
    free(t->labels);
    free(t->container);
    free(t->owner_uid);
    free(t->note);
    free(t);
}

static void stop_looking(tail *t)
{
    family_close(STEAL(t->family));
    watch_close(STEAL(t->watch));
    watch_close(STEAL(t->owner));
    operation_cancel(STEAL(t->asking));
    loop_timer_free(STEAL(t->retry));
}

void tail_close(tail *t)
{
    if (!t || t->closed)
        return;
    stop_looking(t);
    loop_timer_free(STEAL(t->timer));
    t->due = true; // no more
    for (struct reader *r = t->readers; r; r = r->next)
        logs_close(STEAL(r->log));
    t->closed = true;
    if (!t->busy)
        tail_free(t);
}

static void soon(tail *t)
{
    if (!t->due)
        loop_timer_start(t->timer, 0, 0);
    t->due = true;
}

static bool all_ended(const tail *t)
{
    for (const struct reader *r = t->readers; r; r = r->next)
        if (r->log)
            return false;
    return !t->watch && !t->retry && !family_is_asking(t->family);
}

// Forgets those of pods that are gone, when all they wrote was told.
static void drop_readers(tail *t)
{
    for (struct reader **at = &t->readers, *r; (r = *at);) {
        if (r->log || !r->deleted || !merge_is_empty(t->merge, r->source)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        if (hashmap_count(t->names) < NAMES_MOST)
            hashmap_set(t->names, r->pod, strlen(r->pod), 0);
        merge_drop(t->merge, r->source);
        reader_free(r);
    }
}

static size_t held_most(const tail *t)
{
    size_t share = HELD_ALL / (t->open ? t->open : 1);
    return share > HELD_MOST ? HELD_MOST : share < HELD_LEAST ? HELD_LEAST : share;
}

static void resume_readers(tail *t)
{
    for (struct reader *r = t->readers; r; r = r->next) {
        if (r->paused && merge_held(t->merge, r->source) < held_most(t) / 4) {
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
    t->due = false;
    AUTO_FREE char *note = STEAL(t->note);
    if (note && t->ops->note)
        t->ops->note(t->arg, note);
    int64_t due = merge_tick(t->merge, now);
    if (!t->closed && t->ops->told)
        t->ops->told(t->arg);
    t->busy = false;
    if (t->closed) {
        tail_free(t);
        return;
    }
    resume_readers(t);
    drop_readers(t);
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

static void on_merged(void *arg, const struct merge_line *m)
{
    tail *t = arg;
    if (t->closed)
        return;
    enum log_kind kind = (enum log_kind)m->kind;
    buf *line = &t->line;
    buf_clear(line);
    if (t->prefix || (t->prefix_many && t->readers->next)) {
        buf_str(line, t->sources[m->source]->prefix);
        buf_str(line, " | ");
    }
    if (kind != LOG_LINE)
        buf_str(line, "-- ");
    utf8_clean(line, m->text, m->n);
    if (kind != LOG_LINE)
        buf_str(line, " --");
    t->ops->line(t->arg, kind, buf_cstr(line), line->len);
}

static bool passes(const tail *t, const struct log_line *line)
{
    regmatch_t all = {.rm_so = 0, .rm_eo = (regoff_t)line->n};
    return line->kind != LOG_LINE || !t->has_grep ||
           regexec(&t->grep, line->text, 1, &all, REG_STARTEND) == 0;
}

static void put(struct reader *r, enum log_kind kind, int64_t stamp, const char *text, size_t n)
{
    merge_put(r->tail->merge, r->source,
        &(struct merge_line){.kind = (int)kind, .stamp = stamp, .text = text, .n = n},
        clock_mono());
}

static void put_mark(struct reader *r, enum log_kind kind, int64_t stamp, const char *text)
{
    put(r, kind, stamp, text, strlen(text));
}

static void on_line(void *arg, const struct log_line *line)
{
    struct reader *r = arg;
    tail *t = r->tail;
    if (r->renewed && line->kind == LOG_LINE) {
        put_mark(r, LOG_RESTART, line->stamp, "a new pod has this name");
        r->renewed = false;
    }
    if (!passes(t, line))
        return;
    put(r, line->kind, line->stamp, line->text, line->n);
    if (!r->paused && merge_held(t->merge, r->source) > held_most(t)) {
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
    t->open--;
    if (e->code != ERR_NONE && (t->readers->next || t->watch)) // one of several: the others go on
        put_mark(r, LOG_AWAY, clock_wall(), e->text);
    else if (e->code != ERR_NONE && t->error.code == ERR_NONE)
        t->error = *e;
    merge_end(t->merge, r->source);
    soon(t);
}

static const struct logs_ops log_ops = {.line = on_line, .done = on_log_done};

static bool is_known(const tail *t, const char *uid, const char *container)
{
    for (const struct reader *r = t->readers; r; r = r->next)
        if (str_eq(r->uid, uid) && str_eq(r->container, container))
            return true;
    return false;
}

static bool is_renewed(const tail *t, const char *pod, const char *uid)
{
    for (const struct reader *r = t->readers; r; r = r->next)
        if (str_eq(r->pod, pod) && !str_eq(r->uid, uid))
            return true;
    size_t ignored;
    return hashmap_get(t->names, pod, strlen(pod), &ignored);
}

static void add_source(tail *t, struct reader *r)
{
    r->source = merge_add(t->merge);
    if (r->source >= t->source_count) {
        t->source_count = r->source + 1;
        t->sources = mem_resize(t->sources, (size_t)t->source_count, sizeof(struct reader *));
    }
    t->sources[r->source] = r;
}

// Of a pod that comes later, all lines are new.
static void add_reader(tail *t, const cJSON *object, const char *pod, const char *container)
{
    const char *uid = json_path_str(object, "metadata.uid");
    if (is_known(t, uid, container))
        return;
    struct reader *r = mem_alloc(sizeof *r);
    *r = (struct reader){.next = t->readers,
        .tail = t,
        .pod = mem_strdup(pod),
        .uid = mem_strdup(uid),
        .container = mem_strdup(container),
        .renewed = is_renewed(t, pod, uid)};
    add_source(t, r);
    r->prefix = t->all_containers && container ? str_fmt("%s/%s", pod, container) : mem_strdup(pod);
    t->readers = r;
    t->open++;
    r->log = logs_open(t->client,
        &(struct logs_spec){.ns = t->ns,
            .pod = pod,
            .uid = uid,
            .container = container,
            .restarts =
                uid ? json_int_or(container_status(object, container), "restartCount", 0) : -1,
            .follow = t->follow,
            .previous = t->previous,
            .tail = t->listed ? -1 : t->tail,
            .since_s = t->listed ? 0 : t->since_s},
        &log_ops, r);
}

struct adding {
    tail *tail;
    const cJSON *pod;
    const char *name;
};

static void add_container(void *arg, const char *name, const char *role)
{
    struct adding *a = arg;
    add_reader(a->tail, a->pod, a->name, name);
}

static void note_container(tail *t, const cJSON *pod)
{
    const char *taken = container_default(pod);
    if (t->noted || t->container || t->all_containers || containers_count(pod) < 2)
        return;
    t->noted = true;
    AUTO_BUF text = {0};
    buf_fmt(&text, "the log is that of container %s of pod %s, which also has ", taken,
        json_path_str(pod, "metadata.name"));
    containers_note(&text, pod, taken);
    buf_str(&text, ": container= names one, all_containers = true reads all");
    t->note = buf_take(&text);
    soon(t);
}

static void add_pod(tail *t, const cJSON *pod)
{
    const char *name = json_path_str(pod, "metadata.name");
    if (!name)
        return;
    note_container(t, pod);
    if (t->all_containers)
        containers_each(pod, add_container, &(struct adding){t, pod, name});
    else
        add_reader(t, pod, name, t->container ? t->container : container_default(pod));
}

static void on_relative(void *arg, const cJSON *pod, bool is)
{
    tail *t = arg;
    if (is)
        add_pod(t, pod);
    soon(t);
}

static void on_pod(void *arg, enum watch_change change, const cJSON *pod)
{
    tail *t = arg;
    if (change != WATCH_DELETED) {
        t->family ? family_ask(t->family, pod) : add_pod(t, pod);
        return;
    }
    for (struct reader *r = t->readers; r; r = r->next)
        if (str_eq(r->uid, json_path_str(pod, "metadata.uid")))
            r->deleted = true;
    soon(t);
}

static void on_synced(void *arg)
{
    tail *t = arg;
    t->listed = true;
    if (!t->follow || t->last_look)
        tail_finish(t);
}

static void ask_pod(void *arg);

// Without following, a refusal is the end; with following, we retry forever, as watches do.
static void on_away(void *arg, const err *reason)
{
    tail *t = arg;
    if (reason->code == ERR_NONE || (t->follow && reason->code != ERR_FORBIDDEN))
        return;
    if (t->pod) { // who may not watch it may perhaps look at it
        stop_looking(t);
        t->retry = loop_timer_new(client_loop(t->client), ask_pod, t);
        loop_timer_start(t->retry, 0, 0);
        return;
    }
    t->error = *reason;
    tail_finish(t);
}

static const struct watch_ops pod_ops = {.event = on_pod, .synced = on_synced, .away = on_away};

static void watch_pods(tail *t)
{
    // Pods need no discovery: every server has them.
    t->pods = (struct resource){
        .group = "", .version = "v1", .plural = "pods", .kind = "Pod", .namespaced = true};
    AUTO_FREE char *field = t->pod ? str_fmt("metadata.name=%s", t->pod) : NULL;
    watch_close(t->watch);
    t->watch = watch_open(t->client,
        &(struct watch_spec){
            .resource = &t->pods, .ns = t->ns, .labels = t->labels, .fields = field},
        &pod_ops, t);
}

// The owner makes no more pods; those that it has made may not all have been told of.
static void owner_ended(tail *t)
{
    watch_close(STEAL(t->owner));
    if (!t->watch)
        return;
    t->last_look = true;
    watch_pods(t);
}

static void on_owner(void *arg, enum watch_change change, const cJSON *object)
{
    tail *t = arg;
    if (!str_eq(json_path_str(object, "metadata.uid"), t->owner_uid))
        return;
    t->owner_seen = true;
    if (change == WATCH_DELETED || state_of(object).outcome != OUTCOME_OPEN)
        owner_ended(t);
}

static void on_owner_synced(void *arg)
{
    tail *t = arg;
    if (!t->owner_seen)
        owner_ended(t);
}

static void on_owner_away(void *arg, const err *reason)
{
    tail *t = arg;
    if (reason->code == ERR_FORBIDDEN) // then its end is not noticed
        watch_close(STEAL(t->owner));
}

static const struct watch_ops owner_ops = {
    .event = on_owner, .synced = on_owner_synced, .away = on_owner_away};

static void watch_owner(tail *t, const struct tail_spec *spec)
{
    AUTO_FREE char *field = str_fmt("metadata.name=%s", spec->owner_name);
    t->owner_uid = mem_strdup(spec->owner_uid);
    t->owner = watch_open(t->client,
        &(struct watch_spec){
            .resource = spec->owner, .ns = spec->owner->namespaced ? t->ns : NULL, .fields = field},
        &owner_ops, t);
}

static void pod_known(void *arg, struct http_response *r, const err *e)
{
    enum { TRIES = 6 };
    tail *t = arg;
    t->asking = NULL;
    AUTO_FREE char *what = str_fmt("read the log of pod %s in namespace %s", t->pod, t->ns);
    err why = *e;
    AUTO_JSON *pod = r->status == 200 ? json_parse(buf_cstr(&r->body), r->body.len, NULL) : NULL;
    if (why.code == ERR_NONE && r->status / 100 != 2)
        status_error(r, what, client_who(t->client), &why);
    else if (why.code != ERR_NONE)
        err_wrap(&why, "%s", what);
    else if (!pod)
        err_set(&why, ERR_UNAVAILABLE, "%s: the server's answer is no JSON", what);
    bool again = why.code == ERR_UNAVAILABLE && (t->follow || t->attempt < TRIES);
    if (again) {
        loop_timer_start(t->retry, (uint64_t)(back_off(t->attempt++) / CLOCK_MS), 0);
        return;
    }
    loop_timer_free(STEAL(t->retry));
    if (pod)
        add_pod(t, pod);
    else if (why.code == ERR_FORBIDDEN) // who may not look at it may perhaps read its log
        add_reader(t, NULL, t->pod, t->container);
    else
        t->error = why;
    soon(t);
}

static const struct http_stream_ops ask_ops = {.done = pod_known};

static void ask_pod(void *arg)
{
    tail *t = arg;
    AUTO_BUF path = {0};
    buf_str(&path, "/api/v1/namespaces/");
    url_escape(&path, t->ns);
    buf_str(&path, "/pods/");
    url_escape(&path, t->pod);
    t->asking = operation_start(t->client,
        &(struct request){
            .path = buf_cstr(&path), .idle_timeout_ms = 30000, .what = "look for a pod"},
        &ask_ops, t);
}

void tail_finish(tail *t)
{
    watch_close(STEAL(t->watch));
    watch_close(STEAL(t->owner));
    soon(t);
}

void tail_drain(tail *t)
{
    t->follow = false;
    for (struct reader *r = t->readers; r; r = r->next)
        if (r->log)
            logs_drain(r->log);
    if (!t->watch || t->listed)
        tail_finish(t);
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
    t->pod = mem_strdup(spec->pod);
    t->labels = mem_strdup(spec->labels);
    t->container = mem_strdup(spec->container);
    t->all_containers = spec->all_containers;
    t->follow = spec->follow && !spec->previous;
    t->previous = spec->previous;
    t->prefix = spec->prefix;
    t->prefix_many = spec->prefix_many;
    t->tail = spec->tail;
    t->since_s = spec->since_s;
    t->names = hashmap_new();
    t->ops = ops;
    t->arg = arg;
    t->merge = merge_new(t->follow ? window : 0, on_merged, t);
    t->timer = loop_timer_new(client_loop(c), on_timer, t);
    if (spec->owner && t->follow)
        watch_owner(t, spec);
    if (spec->root_uid)
        t->family = family_open(c, spec->ns, spec->root_uid, on_relative, t);
    if (spec->pod && !t->owner) {
        t->retry = loop_timer_new(client_loop(c), ask_pod, t);
        ask_pod(t);
    } else {
        watch_pods(t);
    }
    return t;
}

// A thread that reads everything.
struct collector {
    client *client;
    const struct tail_spec *spec;
    const struct tail_ops *ops;
    void *arg;
    tail *tail;
    loop_pending *call;
    err error;
};

static void pass_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct collector *c = arg;
    c->ops->line(c->arg, kind, text, n);
}

static void pass_told(void *arg)
{
    struct collector *c = arg;
    if (c->ops->told)
        c->ops->told(c->arg);
}

static void pass_note(void *arg, const char *text)
{
    struct collector *c = arg;
    if (c->ops->note)
        c->ops->note(c->arg, text);
}

static void collected(void *arg, const err *e)
{
    struct collector *c = arg;
    c->error = *e;
    loop_call_finish(c->call);
}

static const struct tail_ops collector_ops = {
    .line = pass_line, .told = pass_told, .note = pass_note, .done = collected};

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

int tail_read_to(client *from, const struct patience *p, const struct tail_spec *spec,
    const struct tail_ops *ops, void *arg, err *e)
{
    struct tail_spec once = *spec;
    once.follow = false;
    struct collector c = {.client = from, .spec = &once, .ops = ops, .arg = arg};
    if (loop_call(client_loop(from), p->canceller, &call_ops, &c, p->deadline, e) != 0)
        return err_wrap(e, "read logs in namespace %s", spec->ns);
    return c.error.code == ERR_NONE ? 0 : err_set(e, c.error.code, "%s", c.error.text);
}

struct keeper {
    struct tail_text *out;
    size_t limit;
};

static void keep(void *arg, enum log_kind kind, const char *text, size_t n)
{
    struct keeper *k = arg;
    buf *all = &k->out->text;
    buf_add(all, text, n);
    buf_char(all, '\n');
    if (all->len < 2 * k->limit)
        return;
    size_t cut = all->len - k->limit;
    const char *end = memchr(all->data + cut - 1, '\n', all->len - cut + 1);
    cut = (size_t)(end + 1 - all->data);
    for (const char *p = all->data; (p = memchr(p, '\n', (size_t)(all->data + cut - p))); p++)
        k->out->left_out++;
    buf_consume(all, cut);
}

static void keep_note(void *arg, const char *text)
{
    struct keeper *k = arg;
    k->out->note = mem_strdup(text);
}

static const struct tail_ops keeper_ops = {.line = keep, .note = keep_note};

void tail_text_done(struct tail_text *t)
{
    buf_done(&t->text);
    free(t->note);
    *t = (struct tail_text){0};
}

int tail_read(client *c, const struct patience *p, const struct tail_spec *spec, size_t limit,
    struct tail_text *out, err *e)
{
    struct keeper k = {.out = out, .limit = limit};
    *out = (struct tail_text){0};
    if (tail_read_to(c, p, spec, &keeper_ops, &k, e) == 0)
        return 0;
    tail_text_done(out);
    return -1;
}
