// SPDX-License-Identifier: MIT
// HTTP and HTTPS on a base/loop loop: whole requests for threads that wait, streams for the loop's
// thread. The one folder that names curl. An `http` belongs to whoever made it, a stream to whoever
// opened it; TLS material belongs to its `http`.
//
// Transfers of different pools never share a connection, so a log that is not read cannot hold up
// a watch. Within a pool, HTTP/2 (where the server offers it) shares one connection; dead peers
// are found by TCP keepalive and TCP_USER_TIMEOUT within about 45 s. However fast a server sends, a
// stream takes HTTP_TURN bytes of it in a turn of the loop, so that timers, signals and other
// descriptors have theirs. Redirects are never followed:
// a 3xx is a response like any other, so no credential goes to a host the caller did not name.
#pragma once
#include "base/buf.h"
#include "base/loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct http http;
// user_agent: "firesteel/0.1.0". Both on the loop's thread, or while the loop does not run.
http *http_new(loop *l, const char *user_agent, err *e);
// Ends what is under way with ERR_CANCELLED; every stream must have been closed by its owner.
void http_free(http *h);

// Whom to trust and who we are. PEM bytes; NULL where there is none.
struct http_tls_options {
    const void *ca; // the only authorities to trust; NULL: the system's
    size_t ca_n;
    const void *cert, *key; // the client's certificate (chain) and key
    size_t cert_n, key_n;
    const char *server_name; // verified and sent in place of the URL's host; NULL: the URL's host
    bool insecure;           // trust anyone: only where the user's kubeconfig says so
};
typedef struct http_tls http_tls;
// Checks that the bytes are PEM of the right kind and lives until http_free. From any thread.
const http_tls *http_tls_new(http *h, const struct http_tls_options *options, err *e);

enum { HTTP_TURN = 128 << 10 };
// Bytes a second, below which a whole answer is none: a minute for 6 KB.
enum { HTTP_LEAST_SPEED = 100 };

#define HTTP_POOLS(X) X(REQUESTS) X(WATCHES) X(LOGS)
typedef enum http_pool {
#define X(name) HTTP_POOL_##name,
    HTTP_POOLS(X)
#undef X
        HTTP_POOL_COUNT
} http_pool;

struct http_request {
    const char *method;         // NULL: GET
    const char *url;            // http: or https:; no user:password@ in it
    const char *const *headers; // "Name: value", ended by NULL; NULL: none
    const void *body;           // NULL: no body, unless `read` is set
    size_t body_n;
    // The body leaves once at most: what a server does with it twice would be done twice. (curl
    // sends again, by itself, what was lost on a connection that had been kept.)
    bool once;
    // A body that is produced while it is sent: fills up to n bytes, returns how many, 0 at the
    // end, -1 with *e on an error. body_n is its whole length. Called on the loop's thread.
    ssize_t (*read)(void *arg, char *out, size_t n, err *e);
    // Puts the reader back to its start for a second try on a new connection; NULL: it cannot.
    int (*rewind)(void *arg);
    void *read_arg;
    const http_tls *tls; // NULL: the system's authorities, no client certificate
    const char *proxy;   // "http://host:port", "socks5h://…"; NULL: none
    http_pool pool;
    int connect_timeout_ms; // 0: 10 s
    int64_t timeout_ms;     // of the whole transfer; 0: none
    int idle_timeout_ms;    // no byte for so long ends it with ERR_UNAVAILABLE; 0: never
    int least_speed;        // bytes a second over each idle_timeout_ms, either way; 0: any
    bool no_compression;    // else gzip is offered and undone
    size_t limit;           // largest body that is kept, in bytes; 0: 256 MiB. Beyond: ERR_LIMIT
};

struct http_response {
    int status;  // 200, 404, …; 0: none came
    bool sent;   // did any byte of the request leave? Else it is safe to send it again
    buf headers; // of the final response: "Name: value\r\n" lines
    buf body;    // what was kept
};
void http_response_done(struct http_response *r);
// Value of the first header of that name (any case), new; NULL if there is none.
char *http_header(const struct http_response *r, const char *name);

// One request from another thread than the loop's, which waits for its end. 0 when there was a
// response of any status. Errors: ERR_UNAVAILABLE (host away, name not found, cut in the middle),
// ERR_FAILED (its certificate is not to be trusted, ours is not accepted), ERR_CANCELLED,
// ERR_TIMEOUT, ERR_LIMIT, ERR_USAGE for a URL that is none. Texts name host and reason, never a
// header or a URL's query.
int http_do(http *h, canceller *c, int64_t deadline, const struct http_request *request,
    struct http_response *response, err *e);
// The same with a successful (2xx) body handed to `sink` on the loop's thread as it comes; -1 from
// it, with *e set, ends the transfer with that error. Other bodies are kept in response->body.
int http_download(http *h, canceller *c, int64_t deadline, const struct http_request *request,
    int (*sink)(void *arg, const char *bytes, size_t n, err *e), void *sink_arg,
    struct http_response *response, err *e);

// A transfer on the loop's thread, seen by callbacks. It and its request's strings are copied; body
// and reader must stay until done.
typedef struct http_stream http_stream;
struct http_stream_ops {
    // The head of a successful (2xx) answer has come; its body may be long in coming. May be NULL.
    // The stream may be closed from here.
    void (*head)(void *arg);
    // Bytes of a successful (2xx) body, decompressed. NULL: they are kept in the response, as those
    // of any other status are. The stream may be closed from here.
    void (*data)(void *arg, const char *bytes, size_t n);
    // Once, at the end, whatever it was: e->code is ERR_NONE when the response ended in order
    // (also with 404 …). The stream ends with this call: do not close it, nor use it after.
    // What it wants to keep of the response it takes (buf_take).
    void (*done)(void *arg, struct http_response *response, const err *e);
};
http_stream *http_stream_open(http *h, const struct http_request *request,
    const struct http_stream_ops *ops, void *arg, err *e);
// Has the head of the response come? Its status, else 0.
int http_stream_status(const http_stream *s);
// Stops taking bytes from the server until resumed.
void http_stream_pause(http_stream *s, bool paused);
// Ends it without `done`; NULL is fine.
void http_stream_close(http_stream *s);

// Words of a URL, percent-encoded (RFC 3986 unreserved stay), and a host from a URL for messages.
void url_escape(buf *out, const char *text);
char *url_host(const char *url); // "host:port", new; "" when it has none
