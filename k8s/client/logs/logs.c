// SPDX-License-Identifier: MIT
// How a log is followed. `reading` is the answer with the log; `asking` asks for the pod, or for
// the log's last line.
//
//   read ─ head ─> is it our pod? ─> lines … ─ end ─> ask for the pod
//    ▲  paused meanwhile                               │ not over, cut, or not there yet
//    ├───────────────── pause ─────────────────────────┤
//    │                                                 │ over
//    └── there are more ── ask for the last line <─────┘
//                           └ it was told ─> done
#include "k8s/client/logs/logs_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/status.h"

#include <string.h>

static void logs_free(logs *l)
{
    frames_done(&l->frames);
    place_done(&l->place);
    place_done(&l->ahead);
    buf_done(&l->rest);
    buf_done(&l->kubelet_message);
    free(l->ns);
    free(l->pod);
    free(l->uid);
    free(l->container);
    free(l->what);
    free(l);
}

void logs_take_back(logs *l)
{
    place_done(&l->place);
    l->place = l->ahead;
    l->ahead = (struct place){0};
}

void logs_close(logs *l)
{
    if (!l || l->closed)
        return;
    operation_cancel(STEAL(l->reading));
    operation_cancel(STEAL(l->asking));
    loop_timer_free(STEAL(l->timer));
    l->closed = true;
    if (!l->busy)
        logs_free(l);
}

void logs_settle(logs *l)
{
    l->busy = false;
    if (l->closed)
        logs_free(l);
}

void logs_end(logs *l, const err *e)
{
    const struct logs_ops *ops = l->ops;
    void *arg = l->arg;
    err why = {0};
    if (e)
        why = *e;
    logs_close(l);
    ops->done(arg, &why);
}

static void on_data(void *arg, const char *bytes, size_t n)
{
    logs *l = arg;
    l->busy = l->feeding = true;
    l->lost = false;
    frames_feed(&l->frames, bytes, n, logs_line, l, NULL);
    l->feeding = false;
    if (l->lost && !l->closed) {
        operation_cancel(STEAL(l->reading));
        (l->doubts ? logs_doubt_ended : logs_doubt)(l);
    }
    logs_settle(l);
}

static void on_timer(void *arg)
{
    logs *l = arg;
    if (l->aim == AIM_POD)
        logs_ask_pod(l);
    else
        logs_read_on(l);
}

void logs_again(logs *l, enum aim aim, int64_t ns)
{
    l->aim = aim;
    loop_timer_start(l->timer, (uint64_t)(ns / CLOCK_MS), 0);
}

int64_t logs_pause_of(logs *l)
{
    return back_off(l->attempt < 3 ? l->attempt++ : 3);
}

// What is not followed ends with its answer. A kubelet may not know a pod yet that is there.
static void once_ended(logs *l)
{
    bool try = l->attempt < READ_TRIES;
    if (l->why.code == ERR_UNAVAILABLE && try)
        logs_again(l, AIM_READ, back_off(l->attempt++));
    else if (l->why.code == ERR_NOT_FOUND && try && !l->previous)
        logs_ask_pod(l);
    else if (logs_tell_rest(l) == 0)
        logs_end(l, &l->why);
}

static void take_rest(logs *l)
{
    l->rest = l->frames.pending;
    l->frames.pending = (buf){0};
    if (logs_is_kubelet_message(l, l->rest.data, l->rest.len)) {
        logs_add_kubelet_message(l, l->rest.data, l->rest.len);
        buf_clear(&l->rest);
    }
    if (!l->kubelet_message.len)
        return;
    l->status = 400; // the kubelet's own, but its answer had begun
    err_set(&l->why, ERR_NOT_FOUND, "%s: %s", l->what, buf_cstr(&l->kubelet_message));
}

static void reading_ended(logs *l, struct http_response *r, const err *e)
{
    l->why = *e;
    l->status = r->status;
    if (clock_mono() - l->started > STEADY_S * CLOCK_SEC)
        l->attempt = 0;
    buf_done(&l->rest);
    if (l->why.code == ERR_NONE && r->status / 100 != 2) {
        status_error(r, l->what, client_who(l->client), &l->why);
    } else if (l->why.code != ERR_NONE) {
        err_wrap(&l->why, "%s", l->what);
    } else {
        take_rest(l);
    }
    if (!logs_is_refusal(l->status))
        l->cut = l->why.code != ERR_NONE;
    if (l->earlier)
        logs_earlier_ended(l);
    else if (!l->follow)
        once_ended(l);
    else if (l->why.code == ERR_FORBIDDEN)
        logs_end(l, &l->why);
    else
        logs_ask_pod(l);
}

static void on_done(void *arg, struct http_response *r, const err *e)
{
    logs *l = arg;
    l->reading = NULL;
    l->busy = true;
    operation_cancel(STEAL(l->asking));
    loop_timer_stop(l->timer);
    reading_ended(l, r, e);
    logs_settle(l);
}

// Nothing is told before we know whose log it is.
static void on_head(void *arg)
{
    logs *l = arg;
    if (l->checked)
        return;
    operation_pause(l->reading, true);
    logs_ask_pod(l);
}

static const struct http_stream_ops log_ops = {.head = on_head, .data = on_data, .done = on_done};

static void add_beginning(const logs *l, buf *path)
{
    if (l->place.begun) {
        AUTO_BUF since = {0};
        clock_rfc3339(&since, place_since(&l->place), CLOCK_SECONDS);
        buf_str(path, "&sinceTime=");
        url_escape(path, buf_cstr(&since));
        return;
    }
    if (l->tail >= 0)
        buf_fmt(path, "&tailLines=%lld", (long long)l->tail);
    if (l->since_s > 0)
        buf_fmt(path, "&sinceSeconds=%lld",
            (long long)(l->since_s + (clock_mono() - l->opened) / CLOCK_SEC));
}

void logs_read_on(logs *l)
{
    bool follow = l->follow && !l->earlier;
    AUTO_BUF path = {0};
    logs_path(l, &path);
    buf_fmt(&path, "/log?timestamps=true%s%s", follow ? "&follow=true" : "",
        l->previous || l->earlier ? "&previous=true" : "");
    logs_add_container(l, &path);
    add_beginning(l, &path);
    frames_done(&l->frames);
    buf_clear(&l->rest);
    buf_clear(&l->kubelet_message);
    l->frames.limit = LINE_LIMIT;
    l->frames.split = true;
    l->piece = false;
    l->proofs = 0;
    l->checked = !follow;
    l->started = clock_mono();
    place_again(&l->place);
    l->reading = operation_start(l->client,
        &(struct request){.path = buf_cstr(&path),
            .accept = "*/*",
            .pool = HTTP_POOL_LOGS,
            .idle_timeout_ms = follow ? QUIET_MS : 60000,
            .what = l->what},
        &log_ops, l);
    if (l->paused)
        operation_pause(l->reading, true);
}

logs *logs_open(client *c, const struct logs_spec *spec, const struct logs_ops *ops, void *arg)
{
    logs *l = mem_alloc(sizeof *l);
    l->client = c;
    l->ns = mem_strdup(spec->ns);
    l->pod = mem_strdup(spec->pod);
    l->uid = mem_strdup(spec->uid);
    l->container = mem_strdup(spec->container);
    l->what = str_fmt("read the log of pod %s in namespace %s", spec->pod, spec->ns);
    l->follow = spec->follow && !spec->previous;
    l->previous = spec->previous;
    l->tail = spec->tail;
    l->since_s = spec->since_s;
    l->opened = clock_mono();
    l->stamp = clock_wall();
    l->restarts = spec->restarts;
    l->ops = ops;
    l->arg = arg;
    l->timer = loop_timer_new(client_loop(c), on_timer, l);
    logs_read_on(l);
    return l;
}

void logs_pause(logs *l, bool paused)
{
    l->paused = paused;
    if (l->reading && l->checked)
        operation_pause(l->reading, paused);
}

void logs_drain(logs *l)
{
    if (!l->follow)
        return;
    operation_cancel(STEAL(l->reading));
    operation_cancel(STEAL(l->asking));
    l->follow = false;
    l->attempt = 0;
    logs_again(l, AIM_READ, 0);
}
