// SPDX-License-Identifier: MIT
#include "k8s/client/connect/remote.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/channel.h"
#include "k8s/client/connect/private.h"
#include "k8s/client/connect/status.h"

#include <string.h>

// Channels of v4 and v5; the last one, in v5 alone, closes the one that its message names.
enum { STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 255 };
enum { INPUT_MOST = 32 << 10 };
static const char v4[] = "v4.channel.k8s.io", both[] = "v5.channel.k8s.io, v4.channel.k8s.io";

struct remote {
    client *client;
    channel *channel;
    const struct remote_ops *ops;
    void *arg;
    char *what;
    bool needs_close; // its input has an end, which v4 cannot tell
    buf status;       // the Status with which the command has ended
};

void remote_close(remote *r)
{
    if (!r)
        return;
    channel_close(r->channel);
    buf_done(&r->status);
    free(r->what);
    free(r);
}

static void finish(remote *r, int code, const err *e)
{
    const struct remote_ops *ops = r->ops;
    void *arg = r->arg;
    err why = *e;
    remote_close(r);
    ops->done(arg, code, &why);
}

static void on_open(void *arg, const char *protocol)
{
    remote *r = arg;
    err old = {0};
    if (r->needs_close && str_eq(protocol, v4)) {
        err_set(&old, ERR_INVALID,
            "%s: the server cannot be told where the input ends (before Kubernetes 1.30): use "
            "tty = true, or no input",
            r->what);
        finish(r, 0, &old);
    } else if (r->ops->open) {
        r->ops->open(r->arg);
    }
}

static void on_message(void *arg, int number, const char *bytes, size_t n)
{
    remote *r = arg;
    if (number == STATUS && r->status.len + n <= (1 << 20))
        buf_add(&r->status, bytes, n);
    else if ((number == STDOUT || number == STDERR) && n)
        r->ops->output(r->arg, number, bytes, n);
}

static void on_drained(void *arg)
{
    remote *r = arg;
    if (r->ops->drained)
        r->ops->drained(r->arg);
}

// The exit code among the causes of a Status; -1: there is none.
static int exit_code(const cJSON *status)
{
    const cJSON *cause;
    int64_t code;
    if (str_eq(json_str(status, "status"), "Success"))
        return 0;
    cJSON_ArrayForEach(cause, json_path(status, "details.causes"))
    {
        const char *text = json_str(cause, "message");
        if (str_eq(json_str(cause, "reason"), "ExitCode") && text && str_to_int(text, &code) &&
            code >= 0 && code < 256)
            return (int)code;
    }
    return -1;
}

// The container runtime's word: that a program is not there, for instance.
static void refused(remote *r, const cJSON *status, err *e)
{
    ERR_GUARD(e);
    status_object_error(status, r->what, r->client->who, e);
    e->code = ERR_FAILED; // no server is away, although the Status says 500
}

// The end of the connection counts only without a Status: with one, the command had ended before.
static void on_done(void *arg, const err *e)
{
    remote *r = arg;
    err why = *e;
    r->channel = NULL;
    AUTO_JSON *status = json_parse(buf_cstr(&r->status), r->status.len, NULL);
    int code = status ? exit_code(status) : -1;
    if (code >= 0)
        why = (err){0};
    else if (status)
        refused(r, status, &why);
    else if (why.code == ERR_NONE)
        err_set(&why, ERR_UNAVAILABLE,
            "%s: the connection ended, and nobody said what became of the command", r->what);
    finish(r, code, &why);
}

static const struct channel_ops channel_callbacks = {
    .open = on_open, .message = on_message, .drained = on_drained, .done = on_done};

static char *path_of(const struct remote_spec *s)
{
    AUTO_BUF path = {0};
    buf_str(&path, "/api/v1/namespaces/");
    url_escape(&path, s->ns);
    buf_str(&path, "/pods/");
    url_escape(&path, s->pod);
    buf_fmt(&path, "/%s?stdout=true", s->command ? "exec" : "attach");
    for (const char *const *word = s->command; word && *word; word++) {
        buf_str(&path, "&command="); // an empty word is one, too
        url_escape(&path, *word);
    }
    request_query(&path, "container", s->container);
    request_query(&path, "stdin", s->input ? "true" : NULL);
    request_query(&path, "stderr", s->tty ? NULL : "true");
    request_query(&path, "tty", s->tty ? "true" : NULL);
    return buf_take(&path);
}

remote *remote_open(client *c, const struct remote_spec *s, const struct remote_ops *ops, void *arg)
{
    remote *r = mem_alloc(sizeof *r);
    AUTO_FREE char *path = path_of(s);
    *r = (remote){.client = c,
        .ops = ops,
        .arg = arg,
        .needs_close = s->input && !s->tty && s->command,
        .what = str_fmt(
            "%s pod %s in namespace %s", s->command ? "exec in" : "attach to", s->pod, s->ns)};
    r->channel =
        channel_open(c, &(struct channel_spec){.path = path, .protocols = both, .what = r->what},
            &channel_callbacks, r);
    return r;
}

void remote_input(remote *r, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += INPUT_MOST)
        channel_send(r->channel, STDIN, bytes + at, n - at < INPUT_MOST ? n - at : INPUT_MOST);
}

void remote_end_input(remote *r)
{
    static const uint8_t which = STDIN;
    channel_send(r->channel, CLOSE, &which, 1);
}

void remote_resize(remote *r, int rows, int columns)
{
    AUTO_FREE char *size = str_fmt("{\"Width\":%d,\"Height\":%d}", columns, rows);
    channel_send(r->channel, RESIZE, size, strlen(size));
}

size_t remote_queued(const remote *r)
{
    return channel_queued(r->channel);
}

void remote_pause(remote *r, bool paused)
{
    channel_pause(r->channel, paused);
}
