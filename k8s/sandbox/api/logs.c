// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/logs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SIZE = 64 * 1024, STAMP = 30 }; // "2026-01-02T03:04:05.000000006Z"

struct logs {
    struct log_source source;
    struct log_stream *first;
};

// One client's view of one container's log.
struct log_stream {
    logs *all;
    http_exchange *x;
    const snapshot *pod;
    char *container, *path;
    int fd;
    bool follow, timestamps;
    char since[STAMP + 1]; // entries before this stamp are left out; "" if none
    const char *only;      // "stdout", "stderr" or NULL
    int64_t left;          // bytes that may still be sent, -1: any
    buf in;                // bytes of the file not yet parsed
    buf out;
    size_t sent;
    bool in_line; // the last entry sent was a part: the next one continues its line
    struct log_stream *next, **at;
};

logs *logs_new(store *s)
{
    return mem_alloc(sizeof(logs));
}

void logs_free(logs *l)
{
    free(l);
}

void logs_set_source(logs *l, struct log_source source)
{
    l->source = source;
}

void logs_wake(logs *l, const char *pod_uid)
{
    for (struct log_stream *s = l->first, *next; s; s = next) {
        next = s->next;
        if (str_eq(s->pod->uid, pod_uid))
            http_wake(s->x);
    }
}

// "STAMP STREAM F|P TEXT"
struct entry {
    const char *stamp, *stream, *text;
    size_t text_n;
    bool partial;
};

static bool parse_entry(const char *line, size_t n, struct entry *en)
{
    // STAMP, a space, "stdout" or "stderr", a space, F or P, a space.
    if (n < STAMP + 10 || line[STAMP] != ' ' || line[STAMP + 7] != ' ' || line[STAMP + 9] != ' ')
        return false;
    *en = (struct entry){
        line, line + STAMP + 1, line + STAMP + 10, n - STAMP - 10, line[STAMP + 8] == 'P'};
    return true;
}

static bool is_wanted(const struct log_stream *s, const struct entry *en)
{
    if (*s->since && memcmp(en->stamp, s->since, STAMP) < 0)
        return false;
    return !s->only || memcmp(en->stream, s->only, 6) == 0;
}

static void write_entry(struct log_stream *s, const struct entry *en)
{
    if (s->timestamps && !s->in_line) {
        buf_add(&s->out, en->stamp, STAMP);
        buf_char(&s->out, ' ');
    }
    buf_add(&s->out, en->text, en->text_n);
    if (!en->partial)
        buf_char(&s->out, '\n');
    s->in_line = en->partial;
}

static void parse(struct log_stream *s)
{
    size_t at = 0;
    struct entry en;
    for (char *end; at < s->in.len && (end = memchr(s->in.data + at, '\n', s->in.len - at));) {
        size_t n = (size_t)(end - s->in.data) - at;
        if (parse_entry(s->in.data + at, n, &en) && is_wanted(s, &en))
            write_entry(s, &en);
        at += n + 1;
    }
    buf_consume(&s->in, at);
}

// A log that grew too big was renamed; it continues in a new file with the old name.
static bool reopen(struct log_stream *s)
{
    struct stat now, ours;
    if (stat(s->path, &now) != 0 || fstat(s->fd, &ours) != 0 || now.st_ino == ours.st_ino)
        return false;
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    close(s->fd);
    s->fd = fd;
    return true;
}

// Reads more of the file into s->in; returns whether there was any.
static bool read_more(struct log_stream *s)
{
    do {
        buf_reserve(&s->in, READ_SIZE);
        ssize_t n = read(s->fd, s->in.data + s->in.len, READ_SIZE);
        if (n > 0) {
            s->in.len += (size_t)n;
            s->in.data[s->in.len] = 0;
            return true;
        }
    } while (reopen(s));
    return false;
}

// The offset from which the last `lines` lines (of the wanted stream) can be read.
static off_t tail_offset(struct log_stream *s, int64_t lines)
{
    size_t cap = 0, n = 0;
    off_t *starts = NULL, base = 0, start = 0;
    struct entry en;
    bool in_line = false;
    lseek(s->fd, 0, SEEK_SET);
    while (read_more(s)) {
        size_t at = 0;
        for (char *end; at < s->in.len && (end = memchr(s->in.data + at, '\n', s->in.len - at));) {
            size_t length = (size_t)(end - s->in.data) - at;
            if (parse_entry(s->in.data + at, length, &en) && is_wanted(s, &en)) {
                if (!in_line && n == cap && (int64_t)cap < lines) {
                    cap = cap ? cap * 2 : 64;
                    cap = (int64_t)cap > lines ? (size_t)lines : cap;
                    starts = mem_resize(starts, cap, sizeof *starts);
                }
                if (!in_line && cap)
                    starts[n++ % cap] = base + (off_t)at;
                in_line = en.partial;
            }
            at += length + 1;
        }
        base += (off_t)at;
        buf_consume(&s->in, at);
    }
    start = !lines ? base : n > cap ? starts[n % cap] : 0;
    free(starts);
    buf_clear(&s->in);
    return start;
}

static ssize_t read_log(void *arg, char *out, size_t max)
{
    struct log_stream *s = arg;
    const struct log_source *source = &s->all->source;
    if (s->sent == s->out.len) {
        buf_clear(&s->out);
        s->sent = 0;
    }
    while (s->left && !s->out.len) {
        // Ask before reading: then everything written before the end has been read.
        bool open = s->follow && source->is_open &&
                    source->is_open(source->arg, s->pod->json, s->container);
        if (read_more(s))
            parse(s);
        else if (open)
            return 0;
        else
            break;
    }
    size_t n = s->out.len - s->sent;
    if (s->left >= 0 && n > (uint64_t)s->left)
        n = (size_t)s->left;
    n = n < max ? n : max;
    if (!n)
        return HTTP_END;
    memcpy(out, s->out.data + s->sent, n);
    s->sent += n;
    if (s->left > 0)
        s->left -= (int64_t)n;
    return (ssize_t)n;
}

static void close_log(void *arg)
{
    struct log_stream *s = arg;
    *s->at = s->next;
    if (s->next)
        s->next->at = s->at;
    if (s->fd >= 0)
        close(s->fd);
    snapshot_unref(s->pod);
    buf_done(&s->in);
    buf_done(&s->out);
    free(s->container);
    free(s->path);
    free(s);
}

static const cJSON *find_container(const cJSON *pod, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const cJSON *c;
        cJSON_ArrayForEach(c, json_get(json_get(pod, "spec"),
                                  lists[i])) if (str_eq(json_str(c, "name"), name)) return c;
    }
    return NULL;
}

static char *names_of(const cJSON *pod, const char *list)
{
    buf b = {0};
    const cJSON *c;
    cJSON_ArrayForEach(c, json_get(json_get(pod, "spec"), list))
        buf_fmt(&b, "%s%s", b.len ? " " : "", json_str_or(c, "name", ""));
    return b.len ? buf_take(&b) : NULL;
}

// The container that was asked for, or the only one; NULL if it has answered with an error.
static const char *choose_container(struct request *r, const cJSON *pod)
{
    const char *name = http_query(r->x, "container");
    const cJSON *containers = json_path(pod, "spec.containers");
    if (name && *name) {
        if (find_container(pod, name))
            return name;
        reply_failure(r, 400, NULL, "container %s is not valid for pod %s", name, r->name);
        return NULL;
    }
    AUTO_FREE char *init = names_of(pod, "initContainers");
    if (cJSON_GetArraySize(containers) == 1 && !init)
        return json_str(containers->child, "name");
    AUTO_FREE char *all = names_of(pod, "containers");
    reply_failure(r, 400, NULL,
        "a container name must be specified for pod %s, choose one of: [%s%s%s]", r->name,
        init ? init : "", init ? " " : "", all ? all : "");
    return NULL;
}

static const struct kind log_options = {.group = "", .kind = "PodLogOptions"};

// Reads a number that is at least `least`; if the parameter is missing, *n stays. false: answered
// with an error.
static bool read_number(struct request *r, const char *name, int64_t least, int64_t *n)
{
    const char *value = http_query(r->x, name);
    cJSON *causes = NULL;
    if (!value || !*value)
        return true;
    if (!str_to_int(value, n)) {
        reply_failure(r, 400, NULL, "strconv.ParseInt: parsing \"%s\": invalid syntax", value);
        return false;
    }
    if (*n >= least)
        return true;
    causes_add(&causes, "FieldValueInvalid", name, "Invalid value: %lld: must be greater than %s0",
        (long long)*n, least ? "" : "or equal to ");
    reply_json(r, 422, status_invalid(&log_options, r->name, causes));
    return false;
}

static bool read_since(struct request *r, struct log_stream *s)
{
    const char *time = http_query(r->x, "sinceTime");
    int64_t seconds = 0, at = 0;
    if (!read_number(r, "sinceSeconds", 1, &seconds))
        return false;
    if (seconds && time) {
        cJSON *causes = NULL;
        causes_add(&causes, "FieldValueForbidden", "[]",
            "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified");
        reply_json(r, 422, status_invalid(&log_options, r->name, causes));
        return false;
    }
    if (seconds)
        at = clock_add(store_now(r->api->store), -clock_of_seconds((double)seconds));
    if (time && clock_parse_rfc3339(time, &at, NULL) != 0) {
        reply_failure(r, 400, NULL, "parsing time \"%s\": not RFC 3339", time);
        return false;
    }
    if (seconds || time) {
        AUTO_BUF b = {0};
        clock_rfc3339(&b, at, CLOCK_NANOS);
        snprintf(s->since, sizeof s->since, "%s", buf_cstr(&b));
    }
    return true;
}

static bool read_options(struct request *r, struct log_stream *s)
{
    const char *only = http_query(r->x, "stream");
    int64_t lines = -1;
    s->follow = request_flag(r, "follow");
    s->timestamps = request_flag(r, "timestamps");
    s->only = str_eq(only, "Stdout") ? "stdout" : str_eq(only, "Stderr") ? "stderr" : NULL;
    s->left = -1;
    if (!read_number(r, "tailLines", 0, &lines) || !read_number(r, "limitBytes", 1, &s->left) ||
        !read_since(r, s))
        return false;
    lseek(s->fd, lines >= 0 ? tail_offset(s, lines) : 0, SEEK_SET);
    return true;
}

static bool open_file(struct request *r, struct log_stream *s, const char *container)
{
    const struct log_source *source = &r->api->logs->source;
    err e = {0};
    if (!source->path)
        err_set(&e, ERR_UNAVAILABLE, "this sandbox runs no pods");
    else
        s->path =
            source->path(source->arg, s->pod->json, container, request_flag(r, "previous"), &e);
    if (!s->path) {
        reply_failure(r, 400, NULL, "%s", e.text);
        return false;
    }
    s->fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        reply_failure(
            r, 500, NULL, "cannot open the log of container %s: %s", container, strerror(errno));
    return s->fd >= 0;
}

void verb_log(struct request *r)
{
    static const struct http_source source = {.read = read_log, .close = close_log};
    const snapshot *pod = store_get(r->api->store, r->stored, r->ns, r->name);
    if (!pod) {
        verb_get(r); // answers "not found"
        return;
    }
    const char *container = choose_container(r, pod->json);
    if (!container)
        return;
    if (!json_path_str(pod->json, "spec.nodeName")) { // not scheduled yet
        http_respond(r->x, 204, "text/plain", "", 0);
        return;
    }
    struct log_stream *s = mem_alloc(sizeof *s);
    *s = (struct log_stream){.all = r->api->logs, .x = r->x, .pod = snapshot_ref(pod), .fd = -1};
    s->container = mem_strdup(container);
    s->next = s->all->first;
    if (s->next)
        s->next->at = &s->next;
    s->at = &s->all->first;
    s->all->first = s;
    if (!open_file(r, s, container) || !read_options(r, s)) {
        close_log(s);
        return;
    }
    http_respond_stream(r->x, 200, "text/plain", &source, s);
}
