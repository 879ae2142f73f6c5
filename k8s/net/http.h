// SPDX-License-Identifier: MIT
// HTTP and HTTPS on a base/loop loop: whole requests for threads that wait, streams for the loop's
// thread. Only this folder includes curl's header. An `http` belongs to whoever made it, a stream
// to whoever opened it; TLS material belongs to its `http`.
//
// Transfers of different pools never share a connection, so a log that is not read cannot hold up a
// watch. Within a pool, HTTP/2 (where the server offers it by TLS) shares one connection; dead
// peers are found by TCP keepalive and TCP_USER_TIMEOUT within about 45 s. However fast a server
// sends, a stream takes HTTP_TURN bytes of it in a turn of the loop, so that timers, signals and
// other descriptors have their turn. Redirects are never followed: a 3xx is a response like any
// other, so no credential goes to a host the caller did not name.
#pragma once
#include "base/buf.h"
#include "base/loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct http http;
// user_agent: "firesteel/0.2.0". On any thread; from then on it belongs to the loop's thread.
http *http_new(loop *l, const char *user_agent, err *e);
// Ends all requests with ERR_CANCELLED. The owners must have closed every stream.
void http_free(http *h);

// The authorities to trust, and our own certificate, as PEM bytes; NULL: none.
struct http_tls_options {
    const void *ca; // the only authorities to trust; NULL: the system's
    size_t ca_n;
    const void *cert, *key; // the client's certificate (chain) and key
    size_t cert_n, key_n;
    const char *server_name; // verified and sent in place of the URL's host; NULL: the URL's host
    bool insecure;           // trust anyone: only where the user's kubeconfig says so
};
typedef struct http_tls http_tls;
// The file with the authorities that a system trusts, at the place that Debian, Red Hat, SUSE or
// Alpine has for it. root: the root of that system, "" for this one. New; NULL: not found.
char *http_authorities(const char *root);
// Checks that the bytes are PEM of the right kind. The result lives until http_free. From any
// thread.
const http_tls *http_tls_new(http *h, const struct http_tls_options *options, err *e);

enum { HTTP_TURN = 128 << 10 };
// In bytes a second: an answer that is slower is given up. 6 KB take a minute at this speed.
enum { HTTP_LEAST_SPEED = 100 };

#define HTTP_POOLS(X) X(REQUESTS) X(WATCHES) X(LOGS) X(WEBSOCKETS)
typedef enum http_pool {
#define X(name) HTTP_POOL_##name,
    HTTP_POOLS(X)
#undef X
        HTTP_POOL_COUNT
} http_pool;

struct http_request {
    const char *method;         // NULL: GET
    const char *url;            // http: or https:, without user:password@
    const char *const *headers; // "Name: value", ended by NULL; NULL: none
    const void *body;           // NULL: no body, unless `read` is set
    size_t body_n;
    // Send the body at most once: if it came twice, the server might act on it twice. (curl itself
    // sends a request again when a connection that it had kept was lost.)
    bool once;
    // Produces the body while it is sent: fills up to n bytes and returns how many, 0 at the end,
    // -1 with *e on an error. body_n is the whole length. It is called on the loop's thread.
    ssize_t (*read)(void *arg, char *out, size_t n, err *e);
    // Rewinds the reader to its start, for a second try on a new connection; NULL: it cannot be
    // rewound.
    int (*rewind)(void *arg);
    void *read_arg;
    const http_tls *tls; // NULL: the system's authorities, no client certificate
    const char *proxy;   // "http://host:port", "socks5h://…"; NULL: none
    http_pool pool;
    int connect_timeout_ms; // 0: 10 s
    int64_t timeout_ms;     // for the whole transfer; 0: none
    int idle_timeout_ms;    // silence for so long ends it with ERR_UNAVAILABLE; 0: never
    int least_speed;        // bytes a second, averaged over idle_timeout_ms, either way; 0: any
    bool apart;             // takes its own connection at once instead of waiting to share one
    bool no_compression;    // otherwise gzip is offered, and decompressed
    size_t limit;           // largest body to keep, in bytes; 0: 256 MiB. Beyond: ERR_LIMIT
};

struct http_response {
    int status;  // 200, 404, …; 0: no response
    bool sent;   // was any byte of the request sent? If not, sending it again is safe
    buf headers; // of the final response: "Name: value\r\n" lines
    buf body;    // the bytes kept
};
void http_response_done(struct http_response *r);
// The value of the first header of this name (in any case), new; NULL if there is none.
char *http_header(const struct http_response *r, const char *name);
// The number of seconds after which the server asks to try again (Retry-After: a number, or a
// date); 0: it does not say.
int64_t http_retry_after(const struct http_response *r);

// Sends one request and waits for its end; call it on another thread than the loop's. 0 when there
// was a response of any status. Errors: ERR_UNAVAILABLE (host away, name not found, cut in the
// middle), ERR_FAILED (we do not trust its certificate, or it does not accept ours), ERR_CANCELLED,
// ERR_TIMEOUT, ERR_LIMIT, ERR_USAGE for an invalid URL. Texts name host and reason, never a header
// or a URL's query.
int http_do(http *h, canceller *c, int64_t deadline, const struct http_request *request,
    struct http_response *response, err *e);
// The same, but a successful (2xx) body goes to `sink` on the loop's thread as it arrives, when
// response->status is known. If sink
// returns -1 with *e set, the transfer ends with that error. Other bodies are kept in
// response->body.
int http_download(http *h, canceller *c, int64_t deadline, const struct http_request *request,
    int (*sink)(void *arg, const char *bytes, size_t n, err *e), void *sink_arg,
    struct http_response *response, err *e);

// A transfer on the loop's thread that reports to callbacks. The request and its strings are
// copied; body and reader must stay until `done`.
typedef struct http_stream http_stream;
struct http_stream_ops {
    // The head of a successful (2xx) answer has arrived; its body may take long. May be NULL.
    // The callback may close the stream.
    void (*head)(void *arg);
    // Bytes of a successful (2xx) body, decompressed. NULL: they are kept in the response, as the
    // bodies of all other statuses are. The callback may close the stream.
    void (*data)(void *arg, const char *bytes, size_t n);
    // Called once at the end, however it ended: e->code is ERR_NONE when the response is complete
    // (also with 404 …). The stream is freed after this call: do not close or use it afterwards.
    // Use buf_take to keep a part of the response.
    void (*done)(void *arg, struct http_response *response, const err *e);
};
http_stream *http_stream_open(http *h, const struct http_request *request,
    const struct http_stream_ops *ops, void *arg, err *e);
// The status, once the head of the response has arrived; before: 0.
int http_stream_status(const http_stream *s);
// Stops taking bytes from the server until it is called with false.
void http_stream_pause(http_stream *s, bool paused);
// Ends the stream without calling `done`; NULL is fine.
void http_stream_close(http_stream *s);

// Percent-encodes a part of a URL (unreserved characters of RFC 3986 stay). Below: the host of a
// URL, for messages.
void url_escape(buf *out, const char *text);
char *url_host(const char *url); // "host:port", new; "" when the URL has none
