// SPDX-License-Identifier: MIT
// The lines of an answer: their stamps, which of them are new, and what is no line of a log.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/logs/logs_private.h"

#include <string.h>

int logs_tell(logs *l, enum log_kind kind, int64_t stamp, const char *text, size_t n)
{
    l->ops->line(l->arg, &(struct log_line){kind, stamp, text, n});
    return l->closed ? -1 : 0;
}

int logs_mark(logs *l, enum log_kind kind, const char *text)
{
    int64_t stamp = l->place.begun ? l->place.newest : clock_wall();
    return logs_tell(l, kind, stamp, text, strlen(text));
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
    return logs_tell(l, LOG_GAP, from, buf_cstr(&text), text.len);
}

enum { SECOND = 19 }; // bytes of a stamp before its fraction

// Most lines are of the second of the line before, so only the fraction is read.
static bool is_same_second(logs *l, const char *line, size_t n, size_t *text)
{
    int64_t nanos = 0, scale = CLOCK_SEC / 10;
    size_t i = SECOND + 1;
    if (n < SECOND + 3 || line[SECOND] != '.' || memcmp(line, l->second, SECOND) != 0)
        return false;
    for (; i < n && line[i] >= '0' && line[i] <= '9'; i++, scale /= 10)
        nanos += (line[i] - '0') * scale;
    if (i == SECOND + 1 || i >= n || line[i] != 'Z' || (i + 1 < n && line[i + 1] != ' '))
        return false;
    l->stamp = l->second_ns + nanos;
    *text = i + 1 < n ? i + 2 : n;
    return true;
}

static bool take_stamp(logs *l, const char *line, size_t n, size_t *text)
{
    if (is_same_second(l, line, n, text))
        return true;
    if (!log_stamp(line, n, &l->stamp, text))
        return false;
    l->stamped = true;
    size_t last = *text < n ? *text - 2 : n - 1;
    bool known = line[SECOND] == '.' && line[last] == 'Z' && l->stamp >= 0;
    memcpy(l->second, known ? line : "", known ? SECOND : 1);
    l->second_ns = l->stamp - l->stamp % CLOCK_SEC;
    return true;
}

void logs_add_kubelet_message(logs *l, const char *text, size_t n)
{
    if (l->kubelet_message.len)
        buf_char(&l->kubelet_message, ' ');
    buf_add(&l->kubelet_message, text, n);
}

// Called with the first line of the previous run's log. If it is also the first line that was
// printed, the printed lines belong to the previous run, and reading goes on after them.
static int resume_after_restart(logs *l, const char *text, size_t n)
{
    AUTO_FREE char *words = str_fmt("the lines above are of the container's present run (restart "
                                    "%lld); those of the run before follow",
        (long long)l->restarts);
    if (!place_is_first(&l->ahead, l->stamp, text, n))
        return logs_mark(l, LOG_RESTART, words);
    logs_take_back(l);
    place_again(&l->place);
    return 0;
}

int logs_line(void *arg, const char *line, size_t n)
{
    logs *l = arg;
    size_t text = 0;
    bool goes_on = l->piece;
    l->piece = !l->frames.ended;
    if (!goes_on && !take_stamp(l, line, n, &text) && l->stamped) {
        logs_add_kubelet_message(l, line, n);
        return 0;
    }
    if (l->ahead.begun && !l->place.begun && resume_after_restart(l, line + text, n - text) != 0)
        return -1;
    bool may_doubt = l->feeding && l->follow && !l->sure && (!l->earlier || l->doubts);
    l->lost = may_doubt && place_is_lost(&l->place, l->stamp);
    if (l->lost)
        return -1;
    int64_t newest = l->place.newest;
    enum place_verdict verdict = place_take(&l->place, l->stamp, line + text, n - text);
    if (l->doubts && l->place.search != PLACE_SEEKS)
        logs_is_found(l);
    if (verdict == PLACE_TOLD)
        return 0;
    l->attempt = l->lasts = 0;
    l->sure = false;
    if (verdict == PLACE_GAP && tell_gap(l, newest, l->stamp) != 0)
        return -1;
    return logs_tell(l, LOG_LINE, l->stamp, line + text, n - text);
}

// Was the line cut within its stamp? Then nothing of its text is there.
static bool is_half_stamp(const char *line, size_t n)
{
    return n < 36 && strspn(line, "0123456789-:.TZ+") >= n;
}

bool logs_is_kubelet_message(const logs *l, const char *line, size_t n)
{
    static const char *const words[] = {
        "unable to retrieve container logs for ", "failed to ", "rpc error: "};
    int64_t ignored;
    size_t text;
    if (l->piece || !n || log_stamp(line, n, &ignored, &text) || is_half_stamp(line, n))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (n >= strlen(words[i]) && memcmp(line, words[i], strlen(words[i])) == 0)
            return true;
    return l->stamped;
}

int logs_tell_rest(logs *l)
{
    AUTO_BUF rest = l->rest;
    l->rest = (buf){0};
    if (place_awaits(&l->place)) // it is half of a line that was told whole
        return 0;
    if (!l->piece && rest.len && is_half_stamp(buf_cstr(&rest), rest.len))
        return 0;
    return rest.len ? logs_line(l, rest.data, rest.len) : 0;
}
