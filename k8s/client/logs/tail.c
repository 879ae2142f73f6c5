// SPDX-License-Identifier: MIT
// Reads containers' logs and merges their lines.
#include "k8s/client/logs/tail_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/state/container.h"

#include <string.h>

// Lines that are held back to be merged: of all containers together, and of one.
enum { NAMES_MOST = 4096 };
enum { HELD_ALL = 16 << 20, HELD_MOST = 4 << 20, HELD_LEAST = 64 << 10 };
static const int64_t window = 500 * CLOCK_MS;

static void reader_free(struct reader *r)
{
    logs_close(r->log);
    free(r->ns);
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

void tail_close(tail *t)
{
    if (!t || t->closed)
        return;
    tail_stop_looking(t);
    loop_timer_free(STEAL(t->timer));
    t->due = true; // no more
    for (struct reader *r = t->readers; r; r = r->next)
        logs_close(STEAL(r->log));
    t->closed = true;
    if (!t->busy)
        tail_free(t);
}

void tail_soon(tail *t)
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
    if (t->timestamps && kind == LOG_LINE) {
        clock_rfc3339(line, m->stamp, CLOCK_MICROS);
        buf_char(line, ' ');
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
    tail_soon(t);
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
    tail_soon(t);
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

void tail_add_reader(tail *t, const cJSON *object, const char *pod, const char *container)
{
    const char *uid = json_path_str(object, "metadata.uid"),
               *ns = json_path_str(object, "metadata.namespace");
    if (is_known(t, uid, container))
        return;
    // Of what was there at the beginning its present run counts; of what has come since, all do.
    int64_t restarts =
        t->listed ? 0 : json_int_or(container_status(object, container), "restartCount", 0);
    struct reader *r = mem_alloc(sizeof *r);
    *r = (struct reader){.next = t->readers,
        .tail = t,
        .ns = mem_strdup(ns ? ns : t->ns),
        .pod = mem_strdup(pod),
        .uid = mem_strdup(uid),
        .container = mem_strdup(container),
        .renewed = is_renewed(t, pod, uid)};
    add_source(t, r);
    bool names = t->all_containers && container;
    r->prefix = str_fmt("%s%s%s%s%s", t->spread ? r->ns : "", t->spread ? "/" : "", pod,
        names ? "/" : "", names ? container : "");
    t->readers = r;
    t->open++;
    r->log = logs_open(t->client,
        &(struct logs_spec){.ns = r->ns,
            .pod = pod,
            .uid = uid,
            .container = container,
            .restarts = uid ? restarts : -1,
            .follow = t->follow,
            .previous = t->previous,
            .tail = t->listed ? -1 : t->tail,
            .since_s = t->listed ? 0 : t->since_s},
        &log_ops, r);
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
    t->timestamps = spec->timestamps;
    t->tail = spec->tail;
    t->since_s = spec->since_s;
    t->names = hashmap_new();
    t->ops = ops;
    t->arg = arg;
    t->merge = merge_new(t->follow ? window : 0, on_merged, t);
    t->timer = loop_timer_new(client_loop(c), on_timer, t);
    tail_look(t, spec);
    return t;
}
