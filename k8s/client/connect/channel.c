// SPDX-License-Identifier: MIT
#include "k8s/client/connect/channel.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/private.h"
#include "k8s/client/connect/status.h"
#include "k8s/net/websocket.h"

struct channel {
    client *client;
    char *path, *protocols, *what;
    const struct channel_ops *ops;
    void *arg;
    struct access_wait wait;
    websocket *socket;
    loop_timer *later; // reports an immediate error later
    bool renewed;
    err error;
};

void channel_close(channel *ch)
{
    if (!ch)
        return;
    credentials_forget(ch->client->credentials, &ch->wait);
    websocket_close(ch->socket);
    loop_timer_free(ch->later);
    free(ch->path);
    free(ch->protocols);
    free(ch->what);
    free(ch);
}

// The channel ends before its opener is told: the opener may close the client in the callback.
static void finish(channel *ch, const err *e)
{
    const struct channel_ops *ops = ch->ops;
    void *arg = ch->arg;
    err why = *e;
    channel_close(ch);
    ops->done(arg, &why);
}

static void fail_now(void *arg)
{
    channel *ch = arg;
    finish(ch, &ch->error);
}

static void fail_later(channel *ch, const err *e)
{
    err_set(&ch->error, e->code, "%s: %s", ch->what, e->text);
    ch->later = loop_timer_new(ch->client->loop, fail_now, ch);
    loop_timer_start(ch->later, 0, 0);
}

static void on_open(void *arg, const char *protocol)
{
    channel *ch = arg;
    ch->ops->open(ch->arg, protocol);
}

static void on_message(void *arg, const char *bytes, size_t n)
{
    channel *ch = arg;
    if (n > 0)
        ch->ops->message(ch->arg, (uint8_t)bytes[0], bytes + 1, n - 1);
}

static void on_drained(void *arg)
{
    channel *ch = arg;
    if (ch->ops->drained)
        ch->ops->drained(ch->arg);
}

static void on_done(void *arg, struct http_response *response, const err *e)
{
    channel *ch = arg;
    err why = *e;
    ch->socket = NULL;
    bool refused = why.code == ERR_NONE && response->status != 101;
    if (refused && response->status == 401 && !ch->renewed &&
        credentials_expire(ch->client->credentials)) {
        ch->renewed = true;
        credentials_get(ch->client->credentials, &ch->wait);
        return;
    }
    if (refused)
        status_error(response, ch->what, ch->client->who, &why);
    else if (why.code)
        err_set(&why, e->code, "%s: %s", ch->what, e->text);
    finish(ch, &why);
}

static const struct websocket_ops socket_ops = {
    .open = on_open, .message = on_message, .drained = on_drained, .done = on_done};

static void on_access(void *arg, const struct access *access, const err *e)
{
    channel *ch = arg;
    err why = {0};
    if (!access) {
        fail_later(ch, e);
        return;
    }
    const kubeconfig *k = ch->client->k;
    AUTO_FREE char *url = str_fmt("%s%s", k->server, ch->path);
    ch->socket = websocket_open(ch->client->http,
        &(struct http_request){.url = url,
            .headers = (const char *const *)access->headers,
            .tls = access->tls,
            .proxy = k->proxy},
        ch->protocols, &socket_ops, ch, &why);
    if (!ch->socket)
        fail_later(ch, &why);
}

channel *channel_open(
    client *c, const struct channel_spec *spec, const struct channel_ops *ops, void *arg)
{
    channel *ch = mem_alloc(sizeof *ch);
    *ch = (channel){.client = c,
        .path = mem_strdup(spec->path),
        .protocols = mem_strdup(spec->protocols),
        .what = mem_strdup(spec->what),
        .ops = ops,
        .arg = arg};
    ch->wait = (struct access_wait){.fn = on_access, .arg = ch};
    credentials_get(c->credentials, &ch->wait);
    return ch;
}

void channel_send(channel *ch, int number, const void *bytes, size_t n)
{
    uint8_t first = (uint8_t)number;
    websocket_send(ch->socket, &first, 1, bytes, n);
}

size_t channel_queued(const channel *ch)
{
    return ch->socket ? websocket_queued(ch->socket) : 0;
}

void channel_pause(channel *ch, bool paused)
{
    if (ch->socket)
        websocket_pause(ch->socket, paused);
}
