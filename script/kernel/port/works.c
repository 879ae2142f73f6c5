// SPDX-License-Identifier: MIT
#include "script/kernel/port/works.h"

#include "base/clock.h"
#include "base/mem.h"
#include "script/protocol/message.h"

#include <math.h>
#include <pthread.h>

// Shorter work is not told; how often longer work is.
enum { SHORT_MS = 1000, LOOK_MS = 200 };

// A work that is being done, or that is over and has to be told once more.
struct one {
    struct work *work; // NULL: over
    int64_t id;
    char *cell, *branch;
    bool told;
    char *what; // once it is over: what it was,
    buf result; // and what was done
    struct one *next;
};

struct works {
    loop *loop;
    port *port;
    const struct works_ops *ops;
    void *arg;
    loop_timer *timer; // of the loop's thread, as the next two
    bool looked_at, ticks;
    pthread_mutex_t lock; // of what follows
    struct one *first;
    int64_t last;
};

static void free_one(struct one *o)
{
    free(o->cell);
    free(o->branch);
    free(o->what);
    buf_done(&o->result);
    free(o);
}

static cJSON *event_of(const struct one *o)
{
    cJSON *event = message_new(MESSAGE_progress);
    json_set_str(event, "cell", o->cell);
    json_set_str(event, "branch", o->branch);
    json_set_int(event, "id", o->id);
    return event;
}

static void set_number(cJSON *event, const char *name, double x)
{
    if (!isnan(x))
        json_set(event, name, cJSON_CreateNumber(x));
}

static cJSON *state_event(const struct one *o, const struct work_state *s)
{
    cJSON *event = event_of(o);
    AUTO_BUF words = {0};
    work_words(s, &words);
    json_set_str(event, "what", s->what);
    json_set_str(event, "text", buf_cstr(&words));
    json_set_str(event, "phase", s->phase);
    json_set_str(event, "unit", s->unit == WORK_BYTES ? "bytes" : "items");
    json_set_int(event, "done", s->done);
    if (s->total)
        json_set_int(event, "total", s->total);
    if (s->parts) {
        json_set_int(event, "part", s->part);
        json_set_int(event, "parts", s->parts);
        json_set_int(event, "cached", s->cached);
        json_set_str(event, "noun", s->noun);
    }
    json_set(event, "elapsed", cJSON_CreateNumber(s->elapsed));
    set_number(event, "rate", s->rate);
    set_number(event, "left", s->left);
    return event;
}

// The events of all works that are to be told, in an array; new. The owner of a record waits
// meanwhile, so it is not sent here.
static cJSON *look(works *all, int64_t now)
{
    cJSON *events = cJSON_CreateArray();
    pthread_mutex_lock(&all->lock);
    for (struct one **at = &all->first, *o; (o = *at);) {
        struct work_state s = o->work ? work_look(o->work, now) : (struct work_state){0};
        bool tells = o->work && s.elapsed * 1000 >= SHORT_MS;
        if (tells)
            cJSON_AddItemToArray(events, state_event(o, &s));
        o->told |= tells;
        if (o->work) {
            at = &o->next;
            continue;
        }
        cJSON *event = event_of(o);
        json_set_str(event, "what", o->what);
        json_set_str(event, "text", buf_cstr(&o->result));
        json_set_bool(event, "ended", true);
        cJSON_AddItemToArray(events, event);
        *at = o->next;
        free_one(o);
    }
    all->ticks = all->first && all->looked_at;
    pthread_mutex_unlock(&all->lock);
    return events;
}

static void on_timer(void *arg)
{
    works *all = arg;
    cJSON *events = look(all, clock_mono());
    for (cJSON *event; (event = events->child);) {
        cJSON_DetachItemViaPointer(events, event);
        port_private(all->port, event);
        all->ops->tell(all->arg, event);
    }
    cJSON_Delete(events);
    if (!all->ticks)
        loop_timer_stop(all->timer);
}

static void start(void *arg)
{
    works *all = arg;
    if (all->ticks || !all->looked_at)
        return;
    all->ticks = true;
    loop_timer_start(all->timer, LOOK_MS, LOOK_MS);
}

works *works_new(loop *l, port *p, const struct works_ops *ops, void *arg)
{
    works *all = mem_alloc(sizeof *all);
    *all = (works){.loop = l, .port = p, .ops = ops, .arg = arg};
    all->timer = loop_timer_new(l, on_timer, all);
    pthread_mutex_init(&all->lock, NULL);
    return all;
}

void works_free(works *all)
{
    if (!all)
        return;
    for (struct one *o = all->first, *next; o; o = next) {
        next = o->next;
        free_one(o);
    }
    loop_timer_free(all->timer);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

void works_attend(works *all, bool looked_at)
{
    all->looked_at = looked_at;
    start(all);
}

void works_begin(works *all, struct work *w, const char *cell, const char *branch)
{
    if (!all)
        return;
    struct one *o = mem_alloc(sizeof *o);
    *o = (struct one){.work = w, .cell = mem_strdup(cell), .branch = mem_strdup(branch)};
    pthread_mutex_lock(&all->lock);
    bool first = !all->first;
    o->id = ++all->last;
    struct one **at = &all->first;
    while (*at)
        at = &(*at)->next;
    *at = o;
    pthread_mutex_unlock(&all->lock);
    if (first)
        loop_post(all->loop, start, all);
}

void works_end(works *all, struct work *w)
{
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    struct one **at = &all->first, *o;
    while ((o = *at) && o->work != w)
        at = &o->next;
    bool told = o && o->told;
    if (told) {
        struct work_state s = work_look(w, clock_mono());
        o->what = mem_strdup(s.what);
        work_result(&s, &o->result);
        o->work = NULL;
    } else if (o) {
        *at = o->next;
        free_one(o);
    }
    pthread_mutex_unlock(&all->lock);
    if (told)
        loop_post(all->loop, on_timer, all);
}
