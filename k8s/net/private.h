// SPDX-License-Identifier: MIT
// What the files of k8s/net share: the pools of an `http` and the life of a stream.
// Nothing outside this folder includes it.
//
//   loop ── socket ready, timer ──> curl_multi_socket_action
//                                      │ curl's callbacks only collect: bytes, headers, the end
//                                      ▼
//   owner <── data, done ── serve() ── http.ready: streams that have something to tell
//
// Owners are called from serve() alone, when curl is not running: so they may open and close
// streams as they like, which curl forbids from its own callbacks.
#pragma once
#include "k8s/net/http.h"

#include <curl/curl.h>
#include <pthread.h>

struct http_tls {
    struct http_tls *next;
    char *ca, *cert, *key; // "/proc/self/fd/N" of sealed memory files: keys never touch a disk
    int ca_fd, cert_fd, key_fd;
    char *server_name;
    bool insecure;
};
void tls_free_all(struct http_tls *first);

struct pool {
    http *http;
    CURLM *multi;
    loop_timer *timer; // curl's own; NULL before it wants one
};

struct http {
    loop *loop;
    char *user_agent;
    struct pool pools[HTTP_POOL_COUNT];
    http_stream *streams;    // all that are open
    http_stream *ready;      // have data or their end to tell, oldest first
    http_stream *serving;    // whose callback is running; NULL once it was closed there
    loop_timer *serve_timer; // serves what became ready outside curl's calls
    struct http_tls *tls;
    pthread_mutex_t tls_lock; // http_tls_new is called from any thread
    bool closing;             // nothing new is begun
};

struct http_stream {
    http *http;
    struct pool *pool;
    http_stream *next, **link; // in http.streams
    http_stream *ready_next;
    bool is_ready, paused, held, finished; // held: curl was told to wait
    bool head;                             // has come, and was not told yet
    size_t given;                          // of a body that leaves once: bytes that curl has
    const struct http_stream_ops *ops;
    void *arg;

    CURL *easy;
    struct curl_slist *headers, *connect_to;
    char *host; // for messages
    struct http_request request;
    char reason[CURL_ERROR_SIZE];
    int64_t started, heard; // clock_mono: of the last byte, either way
    loop_timer *idle;       // looks whether that is too long ago; NULL: nobody minds
    loop_timer *turn;       // when it may take more; NULL before it was made to wait
    int64_t window, moved;  // clock_mono when the speed was looked at last; bytes since

    struct http_response response;
    buf pending; // a 2xx body that was not handed out yet
    CURLcode result;
    err error; // ours, wins over curl's: limit, reader
};

// Puts a stream into the ready queue and sees to it that the queue is served.
void stream_ready(http_stream *s);
// Curl has ended this transfer.
void stream_finished(http_stream *s, CURLcode result);
// Tells the owner what there is to tell; the stream may be gone after it.
void stream_serve(http_stream *s);
void http_serve(http *h);
