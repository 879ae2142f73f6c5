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
#include "k8s/client/logs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/container.h"
#include "k8s/client/frames.h"
#include "k8s/client/place.h"
#include "k8s/client/request.h"
#include "k8s/client/status.h"

#include <string.h>

enum {
    LINE_LIMIT = 1 << 20,
    QUIET_MS = 10 * 60 * 1000, // after such a silence we ask for the pod
    READ_TRIES = 6,            // of a log that is not followed
    LAST_TRIES = 6,            // readings in a row that do not find the last line, or nothing
    STEADY_S = 10,             // after a reading that lasted as long, a cut is the first one
};

enum aim { AIM_READ, AIM_POD };

struct logs {
    client *client;
    char *ns, *pod, *uid, *container, *what;
    bool follow, previous, paused;
    int64_t tail, since_s, opened;
    const struct logs_ops *ops;
    void *arg;

    operation *reading, *asking;
    loop_timer *timer;
    enum aim aim; // what the timer begins
    struct frames frames;
    struct place place;
    int64_t stamp; // of the line that was read last
    bool piece;    // that line goes on, without a stamp
    buf rest;      // the last line of a reading: it has no end, and may be half of one
    err why;       // how the last reading ended
    int status;
    bool checked; // this reading is of our pod
    bool earlier; // this reading is of the container's run before the present one
    bool restart; // ... and then its restart has to be told
    bool cut;     // ... whose last lines were not read before
    unsigned attempt, lasts;
    int64_t started;  // mono: the beginning of this reading
    int64_t restarts; // of the container, when last asked; -1: not asked yet
    bool busy, closed;
};

static void read_on(logs *l);
static void ask_pod(logs *l);

static void logs_free(logs *l)
{
    frames_done(&l->frames);
    place_done(&l->place);
    buf_done(&l->rest);
    free(l->ns);
    free(l->pod);
    free(l->uid);
    free(l->container);
    free(l->what);
    free(l);
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

static void settle(logs *l)
{
    l->busy = false;
    if (l->closed)
        logs_free(l);
}

static int tell(logs *l, enum log_kind kind, int64_t stamp, const char *text, size_t n)
{
    l->ops->line(l->arg, &(struct log_line){kind, stamp, text, n});
    return l->closed ? -1 : 0;
}

static int mark(logs *l, enum log_kind kind, const char *text)
{
    int64_t stamp = l->place.begun ? l->place.newest : clock_wall();
    return tell(l, kind, stamp, text, strlen(text));
}

static void end(logs *l, const err *e)
{
    const struct logs_ops *ops = l->ops;
    void *arg = l->arg;
    err why = {0};
    if (e)
        why = *e;
    logs_close(l);
    ops->done(arg, &why);
}

bool log_stamp(const char *line, size_t n, int64_t *stamp, size_t *text)
{
    *text = 0;
    const char *space = memchr(line, ' ', n < 40 ? n : 40);
    size_t len = space ? (size_t)(space - line) : n;
    if (len < 20 || len > 36 || line[4] != '-' || line[10] != 'T')
        return false;
    char word[40];
    memcpy(word, line, len);
    word[len] = '\0';
    if (clock_parse_rfc3339(word, stamp, NULL) != 0)
        return false;
    *text = space ? len + 1 : n;
    return true;
}

static int tell_gap(logs *l, int64_t from, int64_t to)
{
    AUTO_BUF text = {0};
    buf_str(&text, "gap: lines of ");
    duration_format(&text, to > from ? to - from : 0);
    buf_str(&text, " may be missing here");
    return tell(l, LOG_GAP, from, buf_cstr(&text), text.len);
}

// What a kubelet writes into a log that it cannot read, with status 200.
static bool is_excuse(const char *line, size_t n)
{
    static const char words[] = "unable to retrieve container logs for ";
    return n >= sizeof words - 1 && memcmp(line, words, sizeof words - 1) == 0;
}

static int on_line(void *arg, const char *line, size_t n)
{
    logs *l = arg;
    size_t text = 0;
    bool stamped = !l->piece && log_stamp(line, n, &l->stamp, &text);
    l->piece = n >= LINE_LIMIT;
    if (!stamped && is_excuse(line, n))
        return tell(l, LOG_AWAY, l->stamp, line, n);
    int64_t newest = l->place.newest;
    enum place_verdict verdict = place_take(&l->place, l->stamp, line + text, n - text);
    if (verdict == PLACE_TOLD)
        return 0;
    l->attempt = l->lasts = 0;
    if (verdict == PLACE_GAP && tell_gap(l, newest, l->stamp) != 0)
        return -1;
    return tell(l, LOG_LINE, l->stamp, line + text, n - text);
}

static void on_data(void *arg, const char *bytes, size_t n)
{
    logs *l = arg;
    l->busy = true;
    frames_feed(&l->frames, bytes, n, on_line, l, NULL);
    settle(l);
}

// Was the line cut within its stamp? Then nothing of its text is there.
static bool is_half_stamp(const char *line, size_t n)
{
    return n < 36 && strspn(line, "0123456789-:.TZ+") >= n;
}

static int tell_rest(logs *l)
{
    AUTO_BUF rest = l->rest;
    l->rest = (buf){0};
    if (!l->piece && rest.len && is_half_stamp(buf_cstr(&rest), rest.len))
        return 0;
    return rest.len ? on_line(l, rest.data, rest.len) : 0;
}

static void on_timer(void *arg)
{
    logs *l = arg;
    if (l->aim == AIM_POD)
        ask_pod(l);
    else
        read_on(l);
}

static void again(logs *l, enum aim aim, int64_t ns)
{
    l->aim = aim;
    loop_timer_start(l->timer, (uint64_t)(ns / CLOCK_MS), 0);
}

static int64_t pause_of(logs *l)
{
    return back_off(l->attempt < 3 ? l->attempt++ : 3);
}

// The container's next run begins: nothing of its log was told.
static int begin_run(logs *l)
{
    AUTO_FREE char *text =
        str_fmt("the container was started again (restart %lld)", (long long)l->restarts);
    bool told = l->place.begun || l->restart;
    l->earlier = l->restart = false;
    int result = told ? mark(l, LOG_RESTART, text) : 0;
    place_reset(&l->place);
    l->tail = -1;
    l->since_s = 0;
    return result;
}

static void read_earlier(logs *l)
{
    l->cut = l->why.code != ERR_NONE || !l->place.begun;
    operation_cancel(STEAL(l->reading));
    l->earlier = l->restart = true;
    read_on(l);
}

// The container has been started again since we last looked. What is left to read of its runs
// before is in the log of the one before the present one, if that was the only one.
static int note_runs(logs *l, int64_t runs)
{
    AUTO_FREE char *text = str_fmt("gap: the container was started %lld times meanwhile: lines of "
                                   "all runs but the last two may be missing here",
        (long long)runs);
    if ((runs > 2 || (runs > 1 && l->why.code != ERR_NONE)) && mark(l, LOG_GAP, text) != 0)
        return -1;
    if (runs > 1) {
        place_reset(&l->place);
        l->tail = -1;
        l->since_s = 0;
    }
    read_earlier(l);
    return 1;
}

// 0: this reading goes on. 1: another was begun instead. -1: closed.
static int note_restart(logs *l, const cJSON *pod)
{
    int64_t now = json_int_or(container_status(pod, l->container), "restartCount", 0);
    int64_t before = l->restarts;
    l->restarts = now;
    return before >= 0 && now > before ? note_runs(l, now - before) : 0;
}

static void ask_last(logs *l);

// Nothing more can be read of the earlier run: the present one follows.
static void leave_earlier(logs *l)
{
    l->why = (err){0};
    l->lasts = 0;
    if (tell_rest(l) == 0 && begin_run(l) == 0)
        read_on(l);
}

// The earlier run's log has ended: with its last lines, or it is not there any more.
static void earlier_ended(logs *l)
{
    if (l->why.code == ERR_NONE) {
        ask_last(l);
        return;
    }
    if (l->lasts++ < LAST_TRIES) {
        again(l, AIM_READ, pause_of(l));
        return;
    }
    if (!l->cut || mark(l, LOG_GAP, "gap: the log of the run before cannot be read any more") == 0)
        leave_earlier(l);
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
    bool waits = l->status == 400 || l->status == 404;
    if (l->why.code != ERR_NONE && !waits && l->attempt == 1)
        mark(l, LOG_AWAY, l->why.text);
}

// The reading has ended. Will there be more?
static void judge(logs *l, const cJSON *pod)
{
    bool whole = l->why.code == ERR_NONE, over = container_is_over(pod, l->container);
    bool refused = l->status == 400 || l->status == 404;
    if (l->follow && over && whole) {
        ask_last(l);
        return;
    }
    // It may have been over for a short time only, or its kubelet has just been started.
    if (!l->follow ? l->attempt >= READ_TRIES : over && refused && l->lasts++ >= LAST_TRIES) {
        end(l, l->place.begun ? NULL : &l->why);
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
        again(l, AIM_POD, pause_of(l));
    else
        again(l, AIM_READ, l->follow ? pause_of(l) : back_off(l->attempt++ % 4));
}

// There is no such pod any more; perhaps another has its name.
static void pod_gone(logs *l, bool replaced)
{
    if (l->reading && !replaced) { // deleted since the answer began
        l->checked = true;
        operation_pause(l->reading, l->paused);
        return;
    }
    bool cut = l->reading || (l->why.code != ERR_NONE && l->status / 100 != 4);
    operation_cancel(STEAL(l->reading));
    if (!l->place.begun && (!l->uid || !l->follow)) {
        end(l, &l->why);
        return;
    }
    if (cut && mark(l, LOG_GAP, "gap: the pod is gone, and with it the rest of its log") != 0)
        return;
    if (tell_rest(l) == 0)
        end(l, NULL);
}

// Whoever may read logs may perhaps not read pods: then the answers are all we know.
static void pod_hidden(logs *l)
{
    if (l->reading) {
        l->checked = true;
        operation_pause(l->reading, l->paused);
    } else if (l->why.code != ERR_NONE) {
        end(l, &l->why);
    } else if (tell_rest(l) == 0) {
        end(l, NULL);
    }
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
        again(l, AIM_POD, back_off(l->attempt++));
    else if (l->reading)
        check(l, pod);
    else
        judge(l, pod);
    settle(l);
}

static const struct http_stream_ops pod_ops = {.done = pod_known};

static void pod_path(const logs *l, buf *path)
{
    buf_str(path, "/api/v1/namespaces/");
    url_escape(path, l->ns);
    buf_str(path, "/pods/");
    url_escape(path, l->pod);
}

static void add_container(const logs *l, buf *path)
{
    if (!l->container)
        return;
    buf_str(path, "&container=");
    url_escape(path, l->container);
}

static void ask_pod(logs *l)
{
    AUTO_BUF path = {0};
    pod_path(l, &path);
    l->asking = operation_start(l->client,
        &(struct request){.path = buf_cstr(&path), .idle_timeout_ms = 30000, .what = l->what},
        &pod_ops, l);
}

struct last { // the last line of an answer
    int64_t stamp;
    buf line;
    size_t text;
};

static int take_last(void *arg, const char *line, size_t n)
{
    struct last *last = arg;
    log_stamp(line, n, &last->stamp, &last->text);
    buf_clear(&last->line);
    buf_add(&last->line, line, n);
    return 0;
}

// Was the last line told, or is it the one that we hold back?
static bool is_told(const logs *l, const struct last *last)
{
    const buf *line = &last->line;
    if (!line->len)
        return !l->place.begun && !l->rest.len;
    if (is_excuse(line->data, line->len))
        return true; // nothing more can be read
    if (l->rest.len)
        return l->rest.len == line->len && memcmp(l->rest.data, line->data, line->len) == 0;
    if (!l->place.begun && (l->tail == 0 || l->since_s > 0))
        return true;
    return place_is_last(&l->place, last->stamp, line->data + last->text, line->len - last->text);
}

static void last_known(void *arg, struct http_response *r, const err *e)
{
    logs *l = arg;
    l->asking = NULL;
    l->busy = true;
    struct last last = {0};
    struct frames frames = {.limit = LINE_LIMIT, .split = true};
    bool known = e->code == ERR_NONE && r->status == 200;
    if (known && r->body.len) {
        frames_feed(&frames, buf_cstr(&r->body), r->body.len, take_last, &last, NULL);
        frames_end(&frames, take_last, &last);
    }
    bool refused = e->code == ERR_NONE && (r->status == 400 || r->status == 404);
    bool over = known && is_told(l, &last);
    if (!over && (known || refused)) // its kubelet may have just been started
        over = l->lasts++ >= LAST_TRIES;
    if (over && l->earlier) {
        leave_earlier(l);
    } else if (over) {
        if (tell_rest(l) == 0)
            end(l, NULL);
    } else if (known || l->earlier) {
        buf_clear(&l->rest);
        again(l, AIM_READ, back_off(l->lasts));
    } else {
        again(l, AIM_POD, pause_of(l));
    }
    buf_done(&last.line);
    settle(l);
}

static const struct http_stream_ops last_ops = {.done = last_known};

static void ask_last(logs *l)
{
    AUTO_BUF path = {0};
    pod_path(l, &path);
    buf_fmt(&path, "/log?timestamps=true&tailLines=1%s", l->earlier ? "&previous=true" : "");
    add_container(l, &path);
    l->asking = operation_start(l->client,
        &(struct request){.path = buf_cstr(&path),
            .accept = "*/*",
            .pool = HTTP_POOL_LOGS,
            .idle_timeout_ms = 30000,
            .what = l->what},
        &last_ops, l);
}

// What is not followed ends with its answer. A kubelet may not know a pod yet that is there.
static void once_ended(logs *l)
{
    bool try = l->attempt < READ_TRIES;
    if (l->why.code == ERR_UNAVAILABLE && try)
        again(l, AIM_READ, back_off(l->attempt++));
    else if (l->why.code == ERR_NOT_FOUND && try && !l->previous)
        ask_pod(l);
    else if (tell_rest(l) == 0)
        end(l, &l->why);
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
        l->rest = l->frames.pending;
        l->frames.pending = (buf){0};
    }
    if (l->earlier)
        earlier_ended(l);
    else if (!l->follow)
        once_ended(l);
    else if (l->why.code == ERR_FORBIDDEN)
        end(l, &l->why);
    else
        ask_pod(l);
}

static void on_done(void *arg, struct http_response *r, const err *e)
{
    logs *l = arg;
    l->reading = NULL;
    l->busy = true;
    operation_cancel(STEAL(l->asking));
    loop_timer_stop(l->timer);
    reading_ended(l, r, e);
    settle(l);
}

// Nothing is told before we know whose log it is.
static void on_head(void *arg)
{
    logs *l = arg;
    if (l->checked)
        return;
    operation_pause(l->reading, true);
    ask_pod(l);
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

static void read_on(logs *l)
{
    bool follow = l->follow && !l->earlier;
    AUTO_BUF path = {0};
    pod_path(l, &path);
    buf_fmt(&path, "/log?timestamps=true%s%s", follow ? "&follow=true" : "",
        l->previous || l->earlier ? "&previous=true" : "");
    add_container(l, &path);
    add_beginning(l, &path);
    frames_done(&l->frames);
    buf_clear(&l->rest);
    l->frames.limit = LINE_LIMIT;
    l->frames.split = true;
    l->piece = false;
    l->place.inside = l->tail >= 0 || l->since_s > 0;
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
    read_on(l);
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
    again(l, AIM_READ, 0);
}
