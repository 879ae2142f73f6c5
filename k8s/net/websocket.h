// SPDX-License-Identifier: MIT
// A WebSocket (RFC 6455) on the loop's thread. libcurl makes the connection, with its TLS, proxies
// and certificates; the WebSocket protocol is our own code. A websocket belongs to whoever opened
// it. An idle websocket sends a ping every 10 s, so that no proxy drops the connection. After 60 s
// without a byte from the server the connection is lost.
#pragma once
#include "k8s/net/http.h"

typedef struct websocket websocket;
struct websocket_ops {
    // The server has agreed to use this protocol, one of those asked for.
    void (*open)(void *arg, const char *protocol);
    // A whole message, binary or text. The callback may close the websocket, or pause it.
    void (*message)(void *arg, const char *bytes, size_t n);
    void (*drained)(void *arg); // everything was sent; may be NULL
    // Called once at the end; the websocket is freed after it: do not close it. e->code is ERR_NONE
    // when the server closed the connection in order, and also when it refused with an HTTP
    // response: then the response has that status, which is not 101.
    void (*done)(void *arg, struct http_response *response, const err *e);
};
// Of the request, url, headers, tls and proxy are used; protocols as in Sec-WebSocket-Protocol.
websocket *websocket_open(http *h, const struct http_request *r, const char *protocols,
    const struct websocket_ops *ops, void *arg, err *e);
// Queues a binary message: `head` followed by `bytes`. Call it after `open`.
void websocket_send(websocket *w, const void *head, size_t head_n, const void *bytes, size_t n);
size_t websocket_queued(const websocket *w); // bytes not yet sent
// Hands out no messages, and takes no bytes from the server, until it is called with false.
void websocket_pause(websocket *w, bool paused);
// Ends it without calling `done`; what is queued is dropped. NULL is fine.
void websocket_close(websocket *w);
