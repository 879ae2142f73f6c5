// SPDX-License-Identifier: MIT
// A WebSocket (RFC 6455) on the loop's thread. libcurl makes the connection, with its TLS, proxies
// and certificates; what follows is ours. A websocket belongs to whoever opened it.
//
// While nothing is said, a ping goes out every 10 s, so that no proxy forgets the connection; after
// 60 s without a byte from the server it is lost.
#pragma once
#include "k8s/net/http.h"

typedef struct websocket websocket;
struct websocket_ops {
    // The server has agreed, to this one of the protocols.
    void (*open)(void *arg, const char *protocol);
    // A whole message, binary or text. The callback may close the websocket, or pause it.
    void (*message)(void *arg, const char *bytes, size_t n);
    void (*drained)(void *arg); // all that was sent has left; may be NULL
    // Called once at the end, and the websocket is gone with it: do not close it. e->code is
    // ERR_NONE when the server has ended it in order, and when it has refused in words: then the
    // response has its status, which is not 101.
    void (*done)(void *arg, struct http_response *response, const err *e);
};
// The request's url, headers, tls and proxy count; protocols as in Sec-WebSocket-Protocol.
websocket *websocket_open(http *h, const struct http_request *r, const char *protocols,
    const struct websocket_ops *ops, void *arg, err *e);
// Sends a binary message, of `head` followed by `bytes`. After `open`; it is queued.
void websocket_send(websocket *w, const void *head, size_t head_n, const void *bytes, size_t n);
size_t websocket_queued(const websocket *w); // bytes that have not left
// Hands out no messages, and takes no bytes from the server, until it is called with false.
void websocket_pause(websocket *w, bool paused);
// Ends it without calling `done`; what is queued is dropped. NULL is fine.
void websocket_close(websocket *w);
