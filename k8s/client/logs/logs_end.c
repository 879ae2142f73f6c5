// SPDX-License-Identifier: MIT
// What follows when an answer has ended, or has begun: the pod is asked for.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/status.h"
#include "k8s/client/logs/logs_private.h"
#include "k8s/client/state/container.h"

#include <string.h>

static int tell_restart(logs *l)
{
    AUTO_FREE char *text =
        str_fmt("the container was started again (restart %lld)", (long long)l->restarts);
    return logs_mark(l, LOG_RESTART, l->restarts < 0 ? "the container was started again" : text);
}

// The container's next run begins: nothing of its log was told, unless the pod told of it late.
static void leave_place(logs *l)
{
    if (l->ahead.begun) {
        logs_take_back(l);
        place_other(&l->place);
    } else if (l->began && l->place.begun && l->place.newest >= l->began) {
        place_other(&l->place);
    } else {
        place_reset(&l->place);
    }
}

static int begin_run(logs *l)
{
    bool told = l->place.begun || l->restart;
    l->earlier = l->restart = false;
    int result = told ? tell_restart(l) : 0;
    leave_place(l);
    l->tail = -1;
    l->since_s = 0;
    return result;
}

bool logs_is_refusal(int status)
{
    return status == 400 || status == 404;
}

static void read_earlier(logs *l)
{
    operation_cancel(STEAL(l->reading));
    l->earlier = l->restart = true;
    l->lasts = l->empties = 0;
    logs_read_on(l);
}

// The answer does not follow what was told. Then lines were removed, or the container was started
// again, and neither its pod nor we know yet: in that case what was told goes on in the log of the
// run before.
//
//   told                a  b │ c  d                 read again     e  f        lost
//   the run before     (a) b   c  d  x  y           found, so x and y, the restart, e and f follow
//   ... or                  there is none, or it is another       a gap, e and f follow
void logs_doubt(logs *l)
{
    l->doubts = l->earlier = true;
    l->lasts = 0;
    logs_read_on(l);
}

void logs_doubt_ended(logs *l)
{
    l->doubts = l->earlier = false;
    l->sure = true;
    l->lasts = 0;
    l->why = (err){0};
    logs_read_on(l);
}

void logs_is_found(logs *l)
{
    l->doubts = false;
    l->restart = true;
    l->restarts += l->restarts >= 0;
    l->began = 0; // the pod has said when the run before began
    l->lasts = l->empties = 0;
}

static void doubt_on(logs *l)
{
    enum { TRIES = 2 }; // a kubelet that has just been started knows of no run before
    if (l->why.code != ERR_NONE && (!logs_is_refusal(l->status) || l->lasts++ < TRIES))
        logs_again(l, AIM_READ, logs_pause_of(l));
    else
        logs_doubt_ended(l);
}

// A pod's status comes later than what the kubelet does, by many seconds where a server is busy or
// away. So what was told may be of the present run already; the lines themselves say so, once the
// log of the run before is read from its beginning (logs_line), or is gone.
//
//   kubelet   run 0 │ run 1
//   status    restartCount 0     │ 1
//   told                c  d  e  │ a  b (of run 0)  f (of run 1)
// 0: the log of the run before has to be read. 1: what is read is of the present run. -1: closed.
static int note_late(logs *l)
{
    if (!l->began || !l->place.begun || l->place.newest < l->began)
        return 0;
    if (l->place.first.stamp >= l->began) {
        l->ahead = l->place;
        l->place = (struct place){0};
        return 0;
    }
    if (l->place.newest <
        l->began + CLOCK_SEC) // it may be of the run before: `began` is in seconds
        return 0;
    return logs_mark(l, LOG_GAP,
               "gap: the container was started again before its pod said so: lines at the end of "
               "the run before may be missing here") != 0 ||
                   tell_restart(l) != 0
               ? -1
               : 1;
}

// The container has been started again since we last looked. What is left to read of its runs
// before is in the log of the one before the present one, if that was the only one.
static int note_runs(logs *l, int64_t runs)
{
    AUTO_FREE char *text = str_fmt("gap: the container was started %lld times meanwhile: lines of "
                                   "all runs but the last two may be missing here",
        (long long)runs);
    if ((runs > 2 || (runs > 1 && l->why.code != ERR_NONE)) && logs_mark(l, LOG_GAP, text) != 0)
        return -1;
    if (runs > 1) {
        place_reset(&l->place);
        l->tail = -1;
        l->since_s = 0;
    }
    int late = runs > 1 ? 0 : note_late(l);
    if (late != 0)
        return late < 0 ? -1 : 0;
    read_earlier(l);
    return 1;
}

static int64_t restarts_of(const logs *l, const cJSON *pod)
{
    return json_int_or(container_status(pod, l->container), "restartCount", 0);
}

static int64_t time_at(const cJSON *status, const char *path)
{
    const char *text = json_path_str(status, path);
    int64_t at;
    return text && clock_parse_rfc3339(text, &at, NULL) == 0 ? at : 0;
}

// 0: not known. A node whose clock was set back between two runs tells nothing by it.
static int64_t beginning_of(const logs *l, const cJSON *pod)
{
    const cJSON *status = container_status(pod, l->container);
    int64_t began = time_at(status, "state.running.startedAt");
    began = began ? began : time_at(status, "state.terminated.startedAt");
    return time_at(status, "lastState.terminated.finishedAt") > began ? 0 : began;
}

// 0: this reading goes on. 1: another was begun instead. -1: closed.
static int note_restart(logs *l, const cJSON *pod)
{
    int64_t now = restarts_of(l, pod), before = l->restarts;
    now = now > before ? now : before; // we may know of the last one, and the pod not yet
    l->restarts = now;
    l->began = beginning_of(l, pod);
    return before >= 0 && now > before ? note_runs(l, now - before) : 0;
}

// Nothing more can be read of the earlier run: the present one follows.
void logs_leave_earlier(logs *l)
{
    l->why = (err){0};
    l->lasts = l->empties = 0;
    l->cut = false;
    if (logs_tell_rest(l) == 0 && begin_run(l) == 0)
        logs_read_on(l);
}

// The earlier run's log has ended: with its last lines, or it is not there any more.
void logs_earlier_ended(logs *l)
{
    if (l->doubts)
        doubt_on(l);
    else if (l->why.code == ERR_NONE)
        logs_ask_last(l, 1);
    else if (l->why.code == ERR_FORBIDDEN)
        logs_end(l, &l->why);
    else if (!logs_is_refusal(l->status) || l->lasts++ < LAST_TRIES)
        logs_again(l, AIM_READ, logs_pause_of(l));
    else if (logs_mark(l, LOG_GAP, "gap: the log of the run before cannot be read any more") == 0)
        logs_leave_earlier(l);
}

// Checks the answer that has begun; it waits meanwhile.
static void check(logs *l, const cJSON *pod)
{
    if (note_restart(l, pod) != 0)
        return;
    l->why = (err){0};
    l->checked = true;
    operation_pause(l->reading, l->paused);
}

static void say_away(logs *l)
{
    if (l->why.code != ERR_NONE && !logs_is_refusal(l->status) && l->attempt == 1)
        logs_mark(l, LOG_AWAY, l->why.text);
}

// Nobody lets us read on, or knows whether all was told.
void logs_give_up(logs *l)
{
    AUTO_FREE char *text = str_fmt("gap: lines at the end may be missing here%s%s",
        l->why.code ? ": " : "", l->why.code ? l->why.text : "");
    if (!l->place.begun && l->why.code != ERR_NONE)
        logs_end(l, &l->why);
    else if (logs_tell_rest(l) == 0 && logs_mark(l, LOG_GAP, text) == 0)
        logs_end(l, NULL);
}

// The reading has ended. Will there be more?
static void judge(logs *l, const cJSON *pod)
{
    if (l->follow && note_restart(l, pod) != 0)
        return;
    bool whole = l->why.code == ERR_NONE, over = container_is_over(pod, l->container);
    if (l->follow && over && whole) {
        logs_ask_last(l, 1);
        return;
    }
    // It may have been over for a short time only, or its kubelet has just been started.
    if (!l->follow ? l->attempt >= READ_TRIES
                   : over && logs_is_refusal(l->status) && l->lasts++ >= LAST_TRIES) {
        logs_give_up(l);
        return;
    }
    buf_clear(&l->rest); // it comes again, perhaps with its end
    say_away(l);
    if (l->closed)
        return;
    const cJSON *status = container_status(pod, l->container);
    // Between two runs the server still shows the old run's log.
    bool between = whole && l->place.begun && status && !json_path(status, "state.running");
    if (between && json_int_or(status, "restartCount", 0) == l->restarts)
        logs_again(l, AIM_POD, logs_pause_of(l));
    else
        logs_again(l, AIM_READ, l->follow ? logs_pause_of(l) : back_off(l->attempt++ % 4));
}

// There is no such pod any more; perhaps another has its name.
static void pod_gone(logs *l, bool replaced)
{
    if (l->reading && !replaced) { // deleted since the answer began
        l->checked = true;
        operation_pause(l->reading, l->paused);
        return;
    }
    bool cut = l->reading || l->cut;
    operation_cancel(STEAL(l->reading));
    if (!l->place.begun && (!l->uid || !l->follow)) {
        logs_end(l, &l->why);
        return;
    }
    if (cut &&
        logs_mark(l, LOG_GAP, "gap: the pod is gone: its last lines may be missing here") != 0)
        return;
    if (logs_tell_rest(l) == 0)
        logs_end(l, NULL);
}

// Whoever may read logs may perhaps not read pods: then the answers are all we know.
static void pod_hidden(logs *l)
{
    if (l->reading) {
        l->checked = true;
        operation_pause(l->reading, l->paused);
    } else if (l->why.code != ERR_NONE) {
        logs_end(l, &l->why);
    } else if (logs_tell_rest(l) == 0) {
        logs_end(l, NULL);
    }
}

// The pod cannot be asked for. What is followed may wait for the server.
static void pod_unknown(logs *l, struct http_response *r, const err *e)
{
    err why = *e;
    if (why.code != ERR_NONE)
        err_wrap(&why, "%s", l->what);
    else if (r->status / 100 != 2)
        status_error(r, l->what, client_who(l->client), &why);
    else
        err_set(&why, ERR_UNAVAILABLE, "%s: the answer with the pod is no JSON", l->what);
    if (!l->follow && (l->attempt >= READ_TRIES || r->status == 401)) {
        l->why = why;
        logs_give_up(l);
        return;
    }
    if (l->attempt == 1 && logs_mark(l, LOG_AWAY, why.text) != 0)
        return;
    logs_again(l, AIM_POD, back_off(l->attempt++));
}

static void pod_known(void *arg, struct http_response *r, const err *e)
{
    logs *l = arg;
    l->asking = NULL;
    l->busy = true;
    AUTO_JSON *pod = r->status == 200 ? json_parse(buf_cstr(&r->body), r->body.len, NULL) : NULL;
    const char *uid = json_path_str(pod, "metadata.uid");
    if (uid && !l->uid)
        l->uid = mem_strdup(uid);
    bool replaced = pod && l->uid && !str_eq(uid, l->uid);
    if (r->status == 404 || replaced)
        pod_gone(l, replaced);
    else if (r->status == 403)
        pod_hidden(l);
    else if (!pod)
        pod_unknown(l, r, e);
    else if (l->reading)
        check(l, pod);
    else
        judge(l, pod);
    logs_settle(l);
}

static const struct http_stream_ops pod_ops = {.done = pod_known};

void logs_path(const logs *l, buf *path)
{
    buf_str(path, "/api/v1/namespaces/");
    url_escape(path, l->ns);
    buf_str(path, "/pods/");
    url_escape(path, l->pod);
}

void logs_add_container(const logs *l, buf *path)
{
    if (!l->container)
        return;
    buf_str(path, "&container=");
    url_escape(path, l->container);
}

void logs_ask_pod(logs *l)
{
    AUTO_BUF path = {0};
    logs_path(l, &path);
    l->asking = operation_start(l->client,
        &(struct request){.path = buf_cstr(&path), .idle_timeout_ms = 30000, .what = l->what},
        &pod_ops, l);
}
