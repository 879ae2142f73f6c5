// SPDX-License-Identifier: MIT
#include "k8s/client/logs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/frames.h"
#include "k8s/client/request.h"
#include "k8s/client/status.h"

#include <string.h>

enum { LINE_LIMIT = 1 << 20, QUIET_MS = 10 * 60 * 1000, READ_TRIES = 6 };

struct logs {
    client *client;
    char *ns, *pod, *container, *what;
    bool follow, previous, paused;
    int64_t tail, since_s;
    const struct logs_ops *ops;
    void *arg;

    operation *operation; // reads the log, or asks for the pod's state
    loop_timer *timer;
    struct frames frames;
    unsigned attempt;
    // Our position: lines up to the stamp `last` were reported, `same` of them with just this
    // stamp. After a cut the server begins again with the second of `last`; lines reported before
    // are skipped.
    int64_t last, same, passed;
    bool begun;       // `last` is set
    bool overlap;     // since the cut, a line has come again that was reported before
    bool expect;      // such a line should come: this reading goes on after a cut
    bool cut;         // the last reading did not end in order; there may be more
    bool asking;      // the timer asks for the pod, not for the log
    int64_t restarts; // restarts of the container when last asked; -1: not asked yet
    int64_t started;  // mono: start of this reading
    bool busy, closed;
};

static void read_on(logs *l);

static void logs_free(logs *l)
{
    frames_done(&l->frames);
    free(l->ns);
    free(l->pod);
    free(l->container);
    free(l->what);
    free(l);
}

void logs_close(logs *l)
{
    if (!l || l->closed)
        return;
    operation_cancel(STEAL(l->operation));
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

static int mark(logs *l, enum log_kind kind, int64_t stamp, const char *text)
{
    return tell(l, kind, stamp, text, strlen(text));
}

static void end(logs *l, const err *e)
{
    const struct logs_ops *ops = l->ops;
    void *arg = l->arg;
    err why = *e;
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

// Was this line reported before the cut? Lines with the same stamp are counted.
static bool told_before(logs *l, int64_t stamp)
{
    if (!l->expect || stamp > l->last)
        return false;
    l->overlap = true;
    return stamp < l->last || l->passed++ < l->same;
}

static int tell_gap(logs *l, int64_t stamp)
{
    l->expect = false; // checked once for each cut
    if (l->overlap)
        return 0;
    AUTO_BUF text = {0};
    buf_str(&text, "gap: lines of ");
    duration_format(&text, stamp - l->last);
    buf_str(&text, " may be missing here");
    return mark(l, LOG_GAP, l->last, buf_cstr(&text));
}

static int on_line(void *arg, const char *line, size_t n)
{
    logs *l = arg;
    int64_t stamp = l->last;
    size_t text;
    log_stamp(line, n, &stamp, &text);
    l->attempt = 0;
    if (told_before(l, stamp))
        return 0;
    if (l->expect && stamp > l->last && tell_gap(l, stamp) != 0)
        return -1;
    l->same = l->begun && stamp == l->last ? l->same + 1 : 1;
    l->last = stamp;
    l->begun = true;
    return tell(l, LOG_LINE, stamp, line + text, n - text);
}

static void on_data(void *arg, const char *bytes, size_t n)
{
    logs *l = arg;
    l->busy = true;
    frames_feed(&l->frames, bytes, n, on_line, l, NULL);
    settle(l);
}

static void ask_pod(logs *l);

static void on_timer(void *arg)
{
    logs *l = arg;
    if (l->asking)
        ask_pod(l);
    else
        read_on(l);
}

static void again(logs *l, int64_t ns)
{
    loop_timer_start(l->timer, (uint64_t)(ns / CLOCK_MS), 0);
}

// The container's status object, or NULL.
static const cJSON *container_status(const logs *l, const cJSON *pod)
{
    static const char *const lists[] = {"status.containerStatuses", "status.initContainerStatuses"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const cJSON *s;
        cJSON_ArrayForEach(s, json_path(pod, lists[i]))
        {
            if (!l->container || str_eq(json_str(s, "name"), l->container))
                return s;
        }
    }
    return NULL;
}

// The container's log has ended, or could not be read. Is it certain that no more will come?
static bool is_over(const logs *l, const cJSON *pod)
{
    const char *phase = json_path_str(pod, "status.phase");
    if (str_eq(phase, "Succeeded") || str_eq(phase, "Failed"))
        return true;
    const cJSON *status = container_status(l, pod);
    const char *policy = json_path_str(pod, "spec.restartPolicy");
    const cJSON *ended = json_path(status, "state.terminated");
    return ended && (str_eq(policy, "Never") ||
                        (str_eq(policy, "OnFailure") && json_int_or(ended, "exitCode", 1) == 0));
}

// Has the container ended and started again since the last reported line?
static bool restarted(const logs *l, const cJSON *status, int64_t restarts)
{
    if (l->restarts >= 0)
        return restarts > l->restarts;
    int64_t ended;
    const char *finished = json_path_str(status, "lastState.terminated.finishedAt");
    return finished && clock_parse_rfc3339(finished, &ended, NULL) == 0 &&
           ended + CLOCK_SEC > l->last; // `ended` is in whole seconds, the stamp is not
}

static int note_restart(logs *l, const cJSON *status)
{
    int64_t restarts = json_int_or(status, "restartCount", 0);
    bool again = restarted(l, status, restarts);
    l->restarts = restarts;
    if (!again || !l->begun)
        return 0;
    l->expect = false; // the new run's log does not repeat the old one's lines
    AUTO_FREE char *text =
        str_fmt("the container was started again (restart %lld)", (long long)restarts);
    return mark(l, LOG_RESTART, l->last, text);
}

static void judge_pod(logs *l, const cJSON *pod)
{
    const cJSON *status = container_status(l, pod);
    if (is_over(l, pod) && !l->cut) {
        static const err none = {0};
        end(l, &none);
        return;
    }
    // Between two runs the server still shows the old run's log; we must not read it twice.
    l->asking = l->begun && !l->cut && status && !json_path(status, "state.running");
    if (!l->asking && note_restart(l, status) != 0)
        return;
    again(l, back_off(l->attempt < 3 ? l->attempt++ : 3));
}

static void pod_known(void *arg, struct http_response *r, const err *e)
{
    logs *l = arg;
    l->operation = NULL;
    l->busy = true;
    static const err none = {0};
    AUTO_JSON *pod = r->status == 200 ? json_parse(buf_cstr(&r->body), r->body.len, NULL) : NULL;
    if (r->status == 404) // deleted: there will be no more lines
        end(l, &none);
    else if (pod)
        judge_pod(l, pod);
    else
        again(l, back_off(l->attempt++));
    settle(l);
}

static const struct http_stream_ops pod_ops = {.done = pod_known};

static void ask_pod(logs *l)
{
    l->asking = false;
    AUTO_BUF path = {0};
    buf_str(&path, "/api/v1/namespaces/");
    url_escape(&path, l->ns);
    buf_str(&path, "/pods/");
    url_escape(&path, l->pod);
    l->operation = operation_start(l->client,
        &(struct request){.path = buf_cstr(&path), .idle_timeout_ms = 30000, .what = l->what},
        &pod_ops, l);
}

static void log_read(logs *l, struct http_response *r, const err *e)
{
    err why = *e;
    if (why.code == ERR_NONE && r->status / 100 != 2)
        status_error(r, l->what, client_who(l->client), &why);
    else if (why.code != ERR_NONE)
        err_wrap(&why, "%s", l->what);
    else if (frames_end(&l->frames, on_line, l) != 0)
        return;
    l->expect = l->begun;
    l->overlap = false;
    l->passed = 0;
    if (!l->follow) {
        if (why.code == ERR_UNAVAILABLE && l->attempt < READ_TRIES)
            again(l, back_off(l->attempt++));
        else
            end(l, &why);
        return;
    }
    bool refused = why.code == ERR_FORBIDDEN || (why.code == ERR_NOT_FOUND && !l->begun);
    if (refused) {
        end(l, &why);
        return;
    }
    bool waiting = r->status == 400; // the container has not started yet
    bool quiet = clock_mono() - l->started >= QUIET_MS * CLOCK_MS;
    l->cut = why.code != ERR_NONE && !waiting;
    if (l->cut && !quiet && l->attempt++ == 0 && mark(l, LOG_AWAY, l->last, why.text) != 0)
        return;
    ask_pod(l);
}

static void on_done(void *arg, struct http_response *r, const err *e)
{
    logs *l = arg;
    l->operation = NULL;
    l->busy = true;
    log_read(l, r, e);
    settle(l);
}

static const struct http_stream_ops log_ops = {.data = on_data, .done = on_done};

static void read_on(logs *l)
{
    AUTO_BUF path = {0};
    buf_str(&path, "/api/v1/namespaces/");
    url_escape(&path, l->ns);
    buf_str(&path, "/pods/");
    url_escape(&path, l->pod);
    buf_fmt(&path, "/log?timestamps=true%s%s", l->follow ? "&follow=true" : "",
        l->previous ? "&previous=true" : "");
    if (l->container) {
        buf_str(&path, "&container=");
        url_escape(&path, l->container);
    }
    if (l->begun) {
        AUTO_BUF since = {0};
        clock_rfc3339(&since, l->last, CLOCK_SECONDS);
        buf_str(&path, "&sinceTime=");
        url_escape(&path, buf_cstr(&since));
    } else {
        if (l->tail >= 0)
            buf_fmt(&path, "&tailLines=%lld", (long long)l->tail);
        if (l->since_s > 0)
            buf_fmt(&path, "&sinceSeconds=%lld", (long long)l->since_s);
    }
    frames_done(&l->frames);
    l->frames.limit = LINE_LIMIT;
    l->frames.split = true;
    l->started = clock_mono();
    l->operation = operation_start(l->client,
        &(struct request){.path = buf_cstr(&path),
            .accept = "*/*",
            .pool = HTTP_POOL_LOGS,
            .idle_timeout_ms = l->follow ? QUIET_MS : 60000, // then we ask for the pod's state
            .what = l->what},
        &log_ops, l);
    if (l->paused)
        operation_pause(l->operation, true);
}

logs *logs_open(client *c, const struct logs_spec *spec, const struct logs_ops *ops, void *arg)
{
    logs *l = mem_alloc(sizeof *l);
    l->client = c;
    l->ns = mem_strdup(spec->ns);
    l->pod = mem_strdup(spec->pod);
    l->container = mem_strdup(spec->container);
    l->what = str_fmt("read the log of pod %s in namespace %s", spec->pod, spec->ns);
    l->follow = spec->follow && !spec->previous;
    l->previous = spec->previous;
    l->tail = spec->tail;
    l->since_s = spec->since_s;
    l->restarts = -1;
    l->ops = ops;
    l->arg = arg;
    l->timer = loop_timer_new(client_loop(c), on_timer, l);
    read_on(l);
    return l;
}

void logs_pause(logs *l, bool paused)
{
    l->paused = paused;
    if (l->operation)
        operation_pause(l->operation, paused);
}
