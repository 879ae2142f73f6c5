// SPDX-License-Identifier: MIT
//
//   program here ── stream ──> channel 0 ──> pod
//                <── stream ── channel 0 <── pod      channel 1: why the pod cannot be reached
//
// Each side is paused while the other has more than ENOUGH bytes in its queue.
#include "k8s/client/connect/forward.h"

#include "base/loop/stream.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/channel.h"
#include "k8s/client/connect/request.h"

enum { DATA, TROUBLE, CHANNELS };
enum { PORT_BYTES = 2, ENOUGH = 256 << 10, TROUBLE_MOST = 4096, LINGER_MS = 5000 };

struct link {
    forward *forward;
    struct link *next, **at; // in forward.links
    stream *local;
    channel *channel;
    size_t heads[CHANNELS]; // bytes of the port's number that came: each channel begins with it
    buf trouble;
    loop_timer *linger; // the program here has ended its side; the pod may still answer
    bool deaf;          // ... and reads no more either: what it has sent is still passed on
    bool open, over;    // over: what is queued for the program here is all
};

struct forward {
    client *client;
    listener *listener;
    char *path, *what;
    int port;
    size_t n;
    struct link *links;
    void (*failed)(void *arg, const char *why);
    void *arg;
};

static void link_free(struct link *l)
{
    *l->at = l->next;
    if (l->next)
        l->next->at = l->at;
    l->forward->n--;
    stream_close(l->local);
    channel_close(l->channel);
    loop_timer_free(l->linger);
    buf_done(&l->trouble);
    free(l);
}

static void on_open(void *arg, const char *protocol)
{
    struct link *l = arg;
    l->open = true;
    stream_pause(l->local, false);
}

// What follows the number of the port, with which each channel begins.
static size_t skip_head(struct link *l, int number, size_t n)
{
    size_t left = PORT_BYTES - l->heads[number], skip = n < left ? n : left;
    l->heads[number] += skip;
    return skip;
}

static void linger_on(struct link *l)
{
    if (l->linger)
        loop_timer_start(l->linger, LINGER_MS, 0);
}

static void on_message(void *arg, int number, const char *bytes, size_t n)
{
    struct link *l = arg;
    if (number != DATA && number != TROUBLE)
        return;
    size_t skip = skip_head(l, number, n);
    if (number == TROUBLE && l->trouble.len + n < TROUBLE_MOST)
        buf_add(&l->trouble, bytes + skip, n - skip);
    if (number == TROUBLE || l->deaf)
        return;
    linger_on(l);
    stream_write(l->local, bytes + skip, n - skip);
    if (stream_queued(l->local) > ENOUGH)
        channel_pause(l->channel, true);
}

static void on_channel_drained(void *arg)
{
    struct link *l = arg;
    if (l->linger)
        linger_on(l);
    else
        stream_pause(l->local, false);
}

static void tell_trouble(struct link *l, const err *e)
{
    AUTO_BUF clean = {0};
    utf8_clean(&clean, buf_cstr(&l->trouble), l->trouble.len);
    AUTO_FREE char *text = str_trim(buf_cstr(&clean), clean.len);
    AUTO_FREE char *whole = *text ? str_fmt("%s: %s", l->forward->what, text) : NULL;
    if (whole || e->code)
        l->forward->failed(l->forward->arg, whole ? whole : e->text);
}

static void on_channel_done(void *arg, const err *e)
{
    struct link *l = arg;
    l->channel = NULL;
    l->over = true;
    tell_trouble(l, e);
    if (stream_queued(l->local) && !l->deaf)
        stream_shutdown(l->local); // and on_drained frees it
    else
        link_free(l);
}

static const struct channel_ops channel_callbacks = {
    .open = on_open, .message = on_message, .drained = on_channel_drained, .done = on_channel_done};

static void on_data(void *arg, const char *bytes, size_t n)
{
    struct link *l = arg;
    if (!l->channel)
        return;
    channel_send(l->channel, DATA, bytes, n);
    if (channel_queued(l->channel) > ENOUGH)
        stream_pause(l->local, true);
}

static void on_drained(void *arg)
{
    struct link *l = arg;
    if (l->over)
        link_free(l);
    else
        channel_pause(l->channel, false);
}

// Bytes on their way are no silence: those to a slow pod, and those to a slow program here.
static void on_lingered(void *arg)
{
    struct link *l = arg;
    bool sends = l->channel && channel_queued(l->channel);
    if (sends || (!l->deaf && stream_queued(l->local)))
        linger_on(l);
    else
        link_free(l);
}

// The program here takes nothing more. What it sent before still goes to the pod, even the part
// that the system holds: a connection that is closed while the pod sends would drop it.
static void on_deaf(struct link *l)
{
    if (l->over) {
        link_free(l);
        return;
    }
    l->deaf = true;
    channel_pause(l->channel, false);
    linger_on(l);
}

// Has it gone, or does it only send no more? The pod may have an answer under way.
static void on_closed(void *arg, const err *reason)
{
    struct link *l = arg;
    if (l->linger) {
        on_deaf(l);
        return;
    }
    if (!l->open || reason->code) {
        link_free(l);
        return;
    }
    l->linger = loop_timer_new(client_loop(l->forward->client), on_lingered, l);
    linger_on(l);
}

static const struct stream_ops local_callbacks = {
    .data = on_data, .closed = on_closed, .drained = on_drained};

static void on_accepted(void *arg, stream *s)
{
    forward *f = arg;
    struct link *l = mem_alloc(sizeof *l);
    *l = (struct link){.forward = f, .local = s, .next = f->links, .at = &f->links};
    if (l->next)
        l->next->at = &l->next;
    f->links = l;
    f->n++;
    l->channel = channel_open(f->client,
        &(struct channel_spec){.path = f->path, .protocols = "v4.channel.k8s.io", .what = f->what},
        &channel_callbacks, l);
    stream_start(s, &local_callbacks, l);
    stream_pause(s, true);
}

forward *forward_open(client *c, const struct forward_spec *spec,
    void (*failed)(void *arg, const char *why), void *arg, err *e)
{
    AUTO_BUF path = {0};
    buf_str(&path, "/api/v1/namespaces/");
    url_escape(&path, spec->ns);
    buf_str(&path, "/pods/");
    url_escape(&path, spec->pod);
    buf_fmt(&path, "/portforward?ports=%d", spec->remote_port);
    forward *f = mem_alloc(sizeof *f);
    *f = (forward){.client = c, .port = spec->port, .failed = failed, .arg = arg};
    f->listener = listener_open_tcp(client_loop(c), spec->address, &f->port, on_accepted, f, e);
    if (!f->listener) {
        free(f);
        return NULL;
    }
    f->path = buf_take(&path);
    f->what = str_fmt(
        "forward to port %d of pod %s in namespace %s", spec->remote_port, spec->pod, spec->ns);
    return f;
}

int forward_port(const forward *f)
{
    return f->port;
}

size_t forward_connections(const forward *f)
{
    return f->n;
}

void forward_close(forward *f)
{
    if (!f)
        return;
    listener_close(f->listener);
    while (f->links)
        link_free(f->links);
    free(f->path);
    free(f->what);
    free(f);
}
