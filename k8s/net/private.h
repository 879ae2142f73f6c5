// SPDX-License-Identifier: MIT
// What the files of k8s/net share: the pools of an `http` and the life of a stream.
// Nothing outside this folder includes it.
//
//   loop ── socket ready, timer ──> curl_multi_socket_action
//                                      │ curl's callbacks only collect: bytes, headers, the end
//                                      ▼
//   owner <── data, done ── serve() ── http.ready: streams that have something to report
//
// Only serve() calls the owners, when curl is not running. So they may open and close streams as
// they like, which curl forbids in its own callbacks.
#pragma once
#include "base/data/digest.h"
#include "k8s/net/http.h"

#include <curl/curl.h>
#include <pthread.h>

// Load libcurl, and GnuTLS (base/os/late.h).
int curl_late(err *e);
int gnutls_late(err *e);

struct http_tls {
    struct http_tls *next;
    char *ca, *cert, *key; // "/proc/self/fd/N" of sealed memory files: keys never touch a disk
    int ca_fd, cert_fd, key_fd;
    char *server_name;
    bool insecure;
    char digest[SHA256_HEX]; // of the bytes it was made from
};
void tls_free_all(struct http_tls *first);

// A socket that curl wants to have watched.
struct watched {
    struct pool *pool;
    struct watched *next, **link; // in pool.watched
    curl_socket_t fd;
    loop_poll *poll;
    int events;   // that curl wants
    bool resting; // not polled until the pool's rest_timer fires
};

// Bytes of a connection that were read from the socket, and that GnuTLS has not asked for yet.
struct records {
    struct pool *pool;
    http_stream *stream;
    struct records *next; // in pool.records
    bool waits;           // is in that list
    curl_socket_t fd;
    size_t at, len;
    char bytes[];
};
// Reads the stream's connection this way from now on, if curl shares it with no other stream and it
// is TLS by GnuTLS, which we know how to do. Call records_free after the connection's end.
void records_take(http_stream *s);
void records_free(struct records *r); // NULL is fine
// Takes the next reader that holds bytes from the pool's list, so that its caller can call curl for
// the socket; NULL: none.
struct records *records_next(struct pool *p);

struct pool {
    http *http;
    CURLM *multi;
    loop_timer *timer;       // for curl; NULL until curl wants one
    struct watched *watched; // all sockets
    struct watched *active;  // whose event is being handled; NULL once curl has removed it
    bool reads;              // that event brought bytes of a body
    loop_timer *rest_timer;
    bool rests;              // rest_timer runs
    struct records *records; // readers that hold bytes
};

struct http {
    loop *loop;
    char *user_agent;
    struct pool pools[HTTP_POOL_COUNT];
    http_stream *streams;    // all open streams
    http_stream *ready;      // have data or their end to report, oldest first
    http_stream *serving;    // its callback is running; NULL once the callback has closed it
    loop_timer *serve_timer; // serves streams that became ready outside curl's calls
    struct http_tls *tls;
    pthread_mutex_t tls_lock; // any thread may call http_tls_new
    bool closing;             // no new streams are opened
};

struct http_stream {
    http *http;
    struct pool *pool;
    http_stream *next, **link; // in http.streams
    http_stream *ready_next;
    bool is_ready, paused, held, finished; // held: curl was told to wait
    bool head;                             // it has arrived, and has not been reported yet
    bool alone;                            // its connection is closed with it
    bool connection;                       // see stream_hold
    struct records *records;               // NULL: its connection is read by curl itself
    size_t given;                          // for a body to be sent once: bytes given to curl
    const struct http_stream_ops *ops;
    void *arg;

    CURL *easy;
    struct curl_slist *headers, *connect_to;
    char *host, *proxy; // for messages; proxy may be NULL
    struct http_request request;
    char reason[CURL_ERROR_SIZE];
    int64_t started, heard; // clock_mono: start, last byte in either direction
    loop_timer *idle;       // checks for silence; NULL: no timeout
    loop_timer *turn;       // goes on in the loop's next turn; NULL until it first had to wait
    int64_t window, moved;  // clock_mono of the last check of the speed; bytes since

    struct http_response response;
    buf pending; // bytes of a 2xx body not handed out yet
    CURLcode result;
    err error; // our own error, stronger than curl's: limit, reader
};

// Makes a connection to the request's host and sends nothing: the owner exchanges bytes with
// curl_easy_send and _recv. `done` is called when the connection stands. The stream then stays
// until http_stream_close, or until a second `done` with an error.
http_stream *stream_hold(http *h, const struct http_request *request,
    const struct http_stream_ops *ops, void *arg, err *e);

// Puts a stream into the ready queue and makes sure that the queue is served.
void stream_ready(http_stream *s);
// Curl has ended this transfer.
void stream_finished(http_stream *s, CURLcode result);
// Reports to the owner; the stream may be gone afterwards.
void stream_serve(http_stream *s);
void http_serve(http *h);
