// SPDX-License-Identifier: MIT
//
//   http_stream (stream_hold) ── connection stands ──> our own poll on its socket
//   send ──> out ── curl_easy_send ──> server ── curl_easy_recv ──> answer (wshake), then frames
//
// Callbacks run inside on_events and on_turn alone. A callback may close the websocket: `busy`
// keeps it until these are left.
#include "k8s/net/websocket.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "k8s/net/private.h"
#include "k8s/net/wsframe.h"
#include "k8s/net/wshake.h"

#include <string.h>

enum { PING_MS = 10000, SILENCE_MS = 60000, PIECE = 16 << 10, CLOSE_NORMAL = 1000 };

struct websocket {
    http_stream *stream;
    loop_poll *poll;   // NULL until connected
    loop_timer *alive; // pings, and notices silence
    loop_timer *turn;  // continues after a full turn, and with data that came while it was paused
    const struct websocket_ops *ops;
    void *arg;
    char *protocols, key[WSHAKE_KEY];
    buf out; // the bytes from out_at on are still to be sent
    size_t out_at;
    buf in; // the start of the answer
    struct http_response answer;
    struct wsframe_reader frames;
    bool open, paused, ended; // ended: the server sends nothing more
    bool mute;                // the server takes nothing more
    bool busy, closed;
    int64_t heard, said; // clock_mono of the last byte
};

static void release(websocket *w)
{
    loop_poll_free(w->poll);
    loop_timer_free(w->alive);
    loop_timer_free(w->turn);
    http_stream_close(w->stream);
    buf_done(&w->out);
    buf_done(&w->in);
    http_response_done(&w->answer);
    wsframe_done(&w->frames);
    free(w->protocols);
    free(w);
}

void websocket_close(websocket *w)
{
    if (!w)
        return;
    w->closed = true;
    if (!w->busy)
        release(w);
}

// Tells the owner that the websocket has ended; frees it when no callback runs in it.
static void finish(websocket *w, const err *e)
{
    if (w->closed)
        return;
    w->closed = true;
    w->ops->done(w->arg, &w->answer, e);
}

static void lost(websocket *w, err_code code, const char *reason)
{
    err e = {0};
    err_set(&e, code, "%s: %s", w->stream->host, reason);
    finish(w, &e);
}

static void listen_to(websocket *w)
{
    if (w->poll && !w->closed)
        loop_poll_set(w->poll,
            (w->paused || w->ended ? 0 : LOOP_READ) | (w->out_at < w->out.len ? LOOP_WRITE : 0));
}

// The server takes nothing more. What it sent before may still be on its way, and is important: the
// reason why a command ended comes just before the end. So go on reading; `receive` reports the
// end.
static void stop_sending(websocket *w)
{
    w->mute = true;
    buf_clear(&w->out);
    w->out_at = 0;
    if (!w->paused)
        loop_timer_start(w->turn, 0, 0);
}

static void send_queue(websocket *w)
{
    bool had = w->out_at < w->out.len;
    while (!w->closed && w->out_at < w->out.len) {
        size_t n = 0;
        CURLcode result =
            curl_easy_send(w->stream->easy, w->out.data + w->out_at, w->out.len - w->out_at, &n);
        w->out_at += n;
        w->said = n ? clock_mono() : w->said;
        if (result == CURLE_AGAIN)
            return;
        if (result != CURLE_OK)
            return stop_sending(w);
    }
    buf_clear(&w->out);
    w->out_at = 0;
    if (had && w->open && !w->closed && w->ops->drained)
        w->ops->drained(w->arg);
}

static void queue_frame(websocket *w, enum wsframe_kind kind, const void *head, size_t head_n,
    const void *bytes, size_t n)
{
    uint8_t mask[4];
    if (w->mute)
        return;
    random_bytes(mask, sizeof mask);
    buf_consume(&w->out, w->out_at);
    w->out_at = 0;
    wsframe_write(&w->out, kind, mask, head, head_n, bytes, n);
}

void websocket_send(websocket *w, const void *head, size_t head_n, const void *bytes, size_t n)
{
    queue_frame(w, WSFRAME_BINARY, head, head_n, bytes, n);
    listen_to(w);
}

size_t websocket_queued(const websocket *w)
{
    return w->out.len - w->out_at;
}

void websocket_pause(websocket *w, bool paused)
{
    w->paused = paused;
    if (!paused) // TLS and `frames` may hold bytes that cause no event
        loop_timer_start(w->turn, 0, 0);
    listen_to(w);
}

// A close frame: a number and a reason in words, or nothing.
static void on_close(websocket *w, const struct wsframe_message *m)
{
    static const err none = {0};
    unsigned code =
        m->n < 2 ? CLOSE_NORMAL : (unsigned)(uint8_t)m->bytes[0] << 8 | (uint8_t)m->bytes[1];
    queue_frame(w, WSFRAME_CLOSE, m->bytes, m->n < 2 ? m->n : 2, NULL, 0);
    send_queue(w); // as much as the server takes
    if (code == CLOSE_NORMAL)
        return finish(w, &none);
    err e = {0};
    err_set(&e, ERR_UNAVAILABLE, "%s: the server closed the connection: %.*s (%u)", w->stream->host,
        m->n > 2 ? (int)(m->n - 2) : 13, m->n > 2 ? m->bytes + 2 : "without words", code);
    finish(w, &e);
}

static void take_messages(websocket *w)
{
    struct wsframe_message m;
    err e = {0};
    int result = 0;
    while (!w->closed && !w->paused && (result = wsframe_next(&w->frames, &m, &e)) > 0) {
        if (m.kind == WSFRAME_BINARY || m.kind == WSFRAME_TEXT)
            w->ops->message(w->arg, m.bytes, m.n);
        else if (m.kind == WSFRAME_PING)
            queue_frame(w, WSFRAME_PONG, m.bytes, m.n, NULL, 0);
        else if (m.kind == WSFRAME_CLOSE)
            on_close(w, &m);
    }
    if (result < 0 && !w->closed)
        lost(w, e.code, e.text);
    else if (w->ended && !w->closed && !w->paused)
        lost(w, ERR_UNAVAILABLE, "the connection was lost");
}

static void take_answer(websocket *w)
{
    err e = {0};
    size_t used = 0;
    AUTO_FREE char *protocol = NULL;
    int result = wshake_answer(buf_cstr(&w->in), w->in.len, w->ended, &w->answer, &used, &e);
    if (result == 0 && w->ended)
        return lost(w, ERR_UNAVAILABLE, "the connection was lost before the answer came");
    if (result == 0)
        return;
    if (result > 0 && w->answer.status == 101)
        result = wshake_check(&w->answer, w->key, w->protocols, &protocol, &e);
    if (result < 0)
        return lost(w, ERR_UNAVAILABLE, e.text);
    if (!protocol)
        return finish(w, &e); // a refusal
    wsframe_add(&w->frames, w->in.data + used, w->in.len - used);
    buf_done(&w->in);
    w->open = true;
    w->ops->open(w->arg, protocol);
}

static void take(websocket *w, const char *bytes, size_t n)
{
    if (w->open)
        wsframe_add(&w->frames, bytes, n);
    else
        buf_add(&w->in, bytes, n);
    if (!w->open)
        take_answer(w);
    if (w->open)
        take_messages(w);
}

static void receive(websocket *w)
{
    char bytes[PIECE];
    size_t total = 0;
    while (!w->closed && !w->paused && !w->ended && total < HTTP_TURN) {
        size_t n = 0;
        CURLcode result = curl_easy_recv(w->stream->easy, bytes, sizeof bytes, &n);
        if (result == CURLE_AGAIN)
            return;
        w->ended = result != CURLE_OK || n == 0;
        w->heard = clock_mono();
        total += n;
        take(w, bytes, n);
    }
    if (total >= HTTP_TURN)
        loop_timer_start(w->turn, 0, 0);
}

static void leave(websocket *w)
{
    w->busy = false;
    if (w->closed)
        release(w);
    else
        listen_to(w);
}

static void on_events(void *arg, int events)
{
    websocket *w = arg;
    w->busy = true;
    if (events & (LOOP_READ | LOOP_ERROR))
        receive(w);
    if (!w->closed)
        send_queue(w);
    leave(w);
}

static void on_turn(void *arg)
{
    websocket *w = arg;
    w->busy = true;
    if (w->open)
        take_messages(w);
    receive(w);
    if (!w->closed)
        send_queue(w);
    leave(w);
}

static void on_alive(void *arg)
{
    websocket *w = arg;
    int64_t now = clock_mono();
    w->busy = true;
    if (w->poll)
        receive(w); // first read what came while this thread was busy
    if (w->paused)
        w->heard = now; // silence while paused is not the server's fault
    if (w->closed)
        return leave(w);
    if ((now - w->heard) / CLOCK_MS >= SILENCE_MS)
        lost(w, ERR_UNAVAILABLE, "no answer for 60 s");
    else if (w->open && (now - w->said) / CLOCK_MS >= PING_MS - 100)
        queue_frame(w, WSFRAME_PING, NULL, 0, NULL, 0);
    leave(w);
}

// The stream has ended: the connection could not be made, or everything is being closed.
static void on_failed(websocket *w, const err *e)
{
    w->stream = NULL; // the stream frees itself
    w->busy = true;
    finish(w, e);
    leave(w);
}

static void on_connection(void *arg, struct http_response *response, const err *e)
{
    websocket *w = arg;
    curl_socket_t fd = CURL_SOCKET_BAD;
    err why = *e;
    if (why.code != ERR_NONE)
        return on_failed(w, &why);
    curl_easy_getinfo(w->stream->easy, CURLINFO_ACTIVESOCKET, &fd);
    w->poll =
        fd == CURL_SOCKET_BAD ? NULL : loop_poll_new(w->stream->http->loop, fd, on_events, w, &why);
    if (!w->poll) {
        w->busy = true;
        lost(w, ERR_UNAVAILABLE, why.code ? why.text : "the connection was lost");
        return leave(w);
    }
    w->heard = w->said = clock_mono();
    listen_to(w);
}

static const struct http_stream_ops connection_ops = {.done = on_connection};

websocket *websocket_open(http *h, const struct http_request *r, const char *protocols,
    const struct websocket_ops *ops, void *arg, err *e)
{
    websocket *w = mem_alloc(sizeof *w);
    struct http_request connection = {.url = r->url,
        .tls = r->tls,
        .proxy = r->proxy,
        .pool = HTTP_POOL_WEBSOCKETS,
        .connect_timeout_ms = r->connect_timeout_ms};
    *w = (websocket){.ops = ops, .arg = arg, .protocols = mem_strdup(protocols)};
    wshake_key(w->key);
    wshake_request(&w->out, r, h->user_agent, protocols, w->key);
    w->heard = clock_mono();
    w->stream = stream_hold(h, &connection, &connection_ops, w, e);
    if (!w->stream) {
        release(w);
        return NULL;
    }
    w->alive = loop_timer_new(h->loop, on_alive, w);
    loop_timer_start(w->alive, PING_MS, PING_MS);
    w->turn = loop_timer_new(h->loop, on_turn, w);
    return w;
}
