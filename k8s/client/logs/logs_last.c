// SPDX-License-Identifier: MIT
// Whether the last line of a log was told: the server is asked for it when an answer has ended.
#include "base/clock.h"
#include "k8s/client/connect/status.h"
#include "k8s/client/logs/logs_private.h"

#include <string.h>

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

enum verdict {
    LAST_TOLD,
    LAST_MISSES,  // lines are missing
    LAST_EMPTY,   // there is no line, and none was told
    LAST_REFUSED, // it cannot be read
    LAST_UNKNOWN, // the server is away
};

// Was the last line told, or is it the one that we hold back?
static enum verdict compare_last(const logs *l, const struct last *last)
{
    const buf *line = &last->line;
    if (!line->len && (l->place.begun || l->rest.len))
        return LAST_MISSES;
    if (l->rest.len && place_awaits(&l->place)) // half of a line that was told whole
        return LAST_MISSES;
    if (!l->place.begun && (l->tail == 0 || l->since_s > 0))
        return LAST_TOLD;
    if (!line->len)
        return LAST_EMPTY;
    bool is = l->rest.len
                  ? l->rest.len == line->len && memcmp(l->rest.data, line->data, line->len) == 0
                  : place_is_last(
                        &l->place, last->stamp, line->data + last->text, line->len - last->text);
    return is ? LAST_TOLD : LAST_MISSES;
}

static enum verdict judge_last(const logs *l, const struct http_response *r, const err *e)
{
    struct last last = {0};
    struct frames frames = {.limit = LINE_LIMIT, .split = true};
    if (e->code == ERR_NONE && logs_is_refusal(r->status))
        return LAST_REFUSED;
    if (e->code != ERR_NONE || r->status != 200)
        return LAST_UNKNOWN;
    if (r->body.len) {
        frames_feed(&frames, r->body.data, r->body.len, take_last, &last, NULL);
        frames_end(&frames, take_last, &last);
    }
    bool kubelet_message = logs_is_kubelet_message(l, last.line.data, last.line.len);
    enum verdict verdict = kubelet_message ? LAST_REFUSED : compare_last(l, &last);
    buf_done(&last.line);
    return verdict;
}

static void all_told(logs *l)
{
    if (l->earlier)
        logs_leave_earlier(l);
    else if (logs_tell_rest(l) == 0)
        logs_end(l, NULL);
}

static void look_again(logs *l, bool at_pod)
{
    if (l->lasts++ < LAST_TRIES) {
        buf_clear(&l->rest);
        logs_again(l, at_pod && !l->earlier ? AIM_POD : AIM_READ, back_off(l->lasts));
        return;
    }
    if (!l->earlier)
        logs_give_up(l);
    else if (logs_mark(l, LOG_GAP, "gap: lines at the end of this run may be missing") == 0)
        logs_leave_earlier(l);
}

static void last_known(void *arg, struct http_response *r, const err *e)
{
    logs *l = arg;
    l->asking = NULL;
    l->busy = true;
    enum verdict verdict = judge_last(l, r, e);
    // Two answers may break off at the same place, three seldom do.
    if (verdict == LAST_TOLD && l->rest.len && ++l->proofs < PROOFS)
        logs_ask_last(l, l->last_lines);
    else if (verdict == LAST_TOLD || (verdict == LAST_EMPTY && ++l->empties >= EMPTY_TRIES))
        all_told(l);
    else if (verdict == LAST_EMPTY)
        logs_again(l, AIM_READ, back_off(0));
    else if (verdict == LAST_MISSES && l->last_lines == 1 && r->body.len)
        logs_ask_last(l, PIECES); // what it told may be the end of a long line
    else if (verdict == LAST_UNKNOWN)
        logs_again(l, l->earlier ? AIM_READ : AIM_POD, logs_pause_of(l));
    else
        look_again(l, verdict == LAST_REFUSED);
    logs_settle(l);
}

static const struct http_stream_ops last_ops = {.done = last_known};

void logs_ask_last(logs *l, unsigned lines)
{
    AUTO_BUF path = {0};
    logs_path(l, &path);
    buf_fmt(
        &path, "/log?timestamps=true&tailLines=%u%s", lines, l->earlier ? "&previous=true" : "");
    logs_add_container(l, &path);
    l->last_lines = lines;
    l->asking = operation_start(l->client,
        &(struct request){.path = buf_cstr(&path),
            .accept = "*/*",
            .pool = HTTP_POOL_LOGS,
            .idle_timeout_ms = 30000,
            .what = l->what},
        &last_ops, l);
}
