// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/net/private.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { CONNECT_MS = 10000, KEEPALIVE_S = 15, DEAD_PEER_MS = 30000, READ_SIZE = 128 * 1024 };
static const size_t default_limit = (size_t)256 << 20;

static long status_of(const http_stream *s)
{
    long status = 0;
    curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t collect_header(char *bytes, size_t size, size_t n, void *arg)
{
    http_stream *s = arg;
    n *= size;
    s->heard = clock_mono();
    if (n >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
        buf_clear(&s->response.headers); // the earlier head was a 100 or a challenge
    else
        buf_add(&s->response.headers, bytes, n);
    if (n > 2 || status_of(s) / 100 != 2)
        return n;
    records_take(s); // the empty line ends the head
    if (s->ops->head) {
        s->head = true;
        stream_ready(s);
    }
    return n;
}

static size_t collect_body(char *bytes, size_t size, size_t n, void *arg)
{
    http_stream *s = arg;
    n *= size;
    s->heard = clock_mono();
    s->pool->reads = true;
    if (s->ops->data && status_of(s) / 100 == 2) {
        if (s->paused || s->pending.len >= HTTP_TURN) {
            s->held = true;
            return CURL_WRITEFUNC_PAUSE;
        }
        s->moved += (int64_t)n;
        buf_add(&s->pending, bytes, n);
        stream_ready(s);
        return n;
    }
    s->moved += (int64_t)n;
    size_t limit = s->request.limit ? s->request.limit : default_limit;
    if (n > limit - s->response.body.len) {
        err_set(&s->error, ERR_LIMIT, "%s: the answer is larger than %zu bytes", s->host, limit);
        return 0;
    }
    buf_add(&s->response.body, bytes, n);
    return n;
}

static size_t produce_body(char *out, size_t size, size_t n, void *arg)
{
    http_stream *s = arg;
    s->heard = clock_mono();
    ssize_t got = s->request.read(s->request.read_arg, out, size * n, &s->error);
    s->moved += got > 0 ? got : 0;
    return got < 0 ? CURL_READFUNC_ABORT : (size_t)got;
}

static size_t give_body(char *out, size_t size, size_t n, void *arg)
{
    http_stream *s = arg;
    size_t left = s->request.body_n - s->given, take = size * n < left ? size * n : left;
    s->heard = clock_mono();
    memcpy(out, (const char *)s->request.body + s->given, take);
    s->given += take;
    s->moved += (int64_t)take;
    return take;
}

static int no_rewind(void *arg, curl_off_t offset, int origin)
{
    return CURL_SEEKFUNC_FAIL;
}

static int rewind_body(void *arg, curl_off_t offset, int origin)
{
    http_stream *s = arg;
    if (offset != 0 || origin != SEEK_SET || !s->request.rewind)
        return CURL_SEEKFUNC_CANTSEEK;
    return s->request.rewind(s->request.read_arg) == 0 ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

// Notices a peer that vanishes: probes after 15 s of silence, and gives up after 30 s without an
// answer. (libcurl's multi interface has no HTTP/2 pings.)
static int set_up_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    unsigned ms = DEAD_PEER_MS;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
    return CURL_SOCKOPT_OK;
}

static bool has_header(const struct http_request *r, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *h = r->headers; h && *h; h++)
        if (strncasecmp(*h, name, n) == 0 && (*h)[n] == ':')
            return true;
    return false;
}

static void set_headers(http_stream *s, const struct http_request *r)
{
    for (const char *const *h = r->headers; h && *h; h++)
        s->headers = curl_slist_append(s->headers, *h);
    s->headers = curl_slist_append(s->headers, "Expect:"); // do not wait for 100 Continue
    if (!has_header(r, "Content-Type"))
        s->headers = curl_slist_append(s->headers, "Content-Type:"); // otherwise curl declares a
                                                                     // form
}

static void set_method(http_stream *s, const struct http_request *r)
{
    CURL *c = s->easy;
    const char *method = r->method ? r->method : "GET";
    if (r->read) {
        curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(c, CURLOPT_READFUNCTION, produce_body);
        curl_easy_setopt(c, CURLOPT_READDATA, s);
        curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, rewind_body);
        curl_easy_setopt(c, CURLOPT_SEEKDATA, s);
        curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->body_n);
    } else if (r->body && r->once) {
        curl_easy_setopt(c, CURLOPT_POST, 1L);
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_n);
        curl_easy_setopt(c, CURLOPT_READFUNCTION, give_body);
        curl_easy_setopt(c, CURLOPT_READDATA, s);
        curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, no_rewind);
        curl_easy_setopt(c, CURLOPT_SEEKDATA, s);
    } else if (r->body || str_eq(method, "POST") || str_eq(method, "PUT")) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_n);
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body ? r->body : "");
    } else if (str_eq(method, "HEAD")) {
        curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
    }
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
}

// In curl, SNI, the check of the certificate and HTTP's Host follow the URL. To verify another
// name, we put that name into the URL and connect to the real address.
static int set_server_name(http_stream *s, const char *url, const char *name)
{
    CURLU *u = curl_url();
    char *host = NULL, *port = NULL, *renamed = NULL;
    int result = -1;
    if (u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        curl_url_set(u, CURLUPART_HOST, name, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_URL, &renamed, 0) == CURLUE_OK) {
        AUTO_FREE char *to = str_fmt("%s:%s:%s:%s", name, port, host, port);
        AUTO_FREE char *header = str_fmt("Host: %s", s->host);
        s->connect_to = curl_slist_append(s->connect_to, to);
        s->headers = curl_slist_append(s->headers, header);
        curl_easy_setopt(s->easy, CURLOPT_URL, renamed);
        curl_easy_setopt(s->easy, CURLOPT_CONNECT_TO, s->connect_to);
        result = 0;
    }
    curl_free(host);
    curl_free(port);
    curl_free(renamed);
    curl_url_cleanup(u);
    return result;
}

// libcurl has the path of the system that it was built on compiled in; a bundle also runs on
// others.
static void trust_system(CURL *c)
{
    const char *usual = NULL;
    if (curl_easy_getinfo(c, CURLINFO_CAINFO, &usual) != CURLE_OK || !usual || path_exists(usual))
        return;
    AUTO_FREE char *file = http_authorities("");
    if (!file)
        return;
    curl_easy_setopt(c, CURLOPT_CAINFO, file);
    curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
}

static void set_tls(http_stream *s, const struct http_request *r)
{
    CURL *c = s->easy;
    const http_tls *t = r->tls;
    curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (!t || !t->ca)
        trust_system(c);
    if (!t)
        return;
    if (t->ca) {
        curl_easy_setopt(c, CURLOPT_CAINFO, t->ca);
        curl_easy_setopt(c, CURLOPT_CAPATH, NULL); // trust only `ca`
    }
    if (t->cert)
        curl_easy_setopt(c, CURLOPT_SSLCERT, t->cert);
    if (t->cert || t->key)
        curl_easy_setopt(c, CURLOPT_SSLKEY, t->key ? t->key : t->cert);
    if (t->insecure) {
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static void set_connection(http_stream *s, const struct http_request *r)
{
    CURL *c = s->easy;
    // A log has its own connection: it can be left unread without curl buffering it.
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION,
        r->pool == HTTP_POOL_LOGS ? (long)CURL_HTTP_VERSION_1_1 : (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(c, CURLOPT_FORBID_REUSE, (long)s->alone);
    // Waiting to see whether a connection speaks HTTP/2 is cheaper than opening another one.
    // Without TLS no server speaks it, and behind a server without HTTP/2 requests would wait in a
    // queue.
    curl_easy_setopt(c, CURLOPT_PIPEWAIT, (long)(!r->apart && str_starts(r->url, "https:")));
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_PROXY, r->proxy ? r->proxy : ""); // "": not the environment's
    curl_easy_setopt(c, CURLOPT_NOPROXY, "");
    curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_BUFFERSIZE, (long)READ_SIZE);
    curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(c, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
    curl_easy_setopt(c, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_S);
    curl_easy_setopt(c, CURLOPT_SOCKOPTFUNCTION, set_up_socket);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
        (long)(r->connect_timeout_ms ? r->connect_timeout_ms : CONNECT_MS));
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
    if (!r->no_compression)
        curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "gzip");
    if (!s->connection)
        return;
    curl_easy_setopt(c, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c, CURLOPT_HTTPPROXYTUNNEL, 1L); // the proxy must not read what follows
    curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
}

static int set_up(http_stream *s, const struct http_request *r, err *e)
{
    CURL *c = s->easy;
    curl_easy_setopt(c, CURLOPT_PRIVATE, (void *)s);
    curl_easy_setopt(c, CURLOPT_URL, r->url);
    curl_easy_setopt(c, CURLOPT_USERAGENT, s->http->user_agent);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, s->reason);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, collect_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, s);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, collect_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, s);
    set_connection(s, r);
    set_tls(s, r);
    set_headers(s, r);
    set_method(s, r);
    if (r->tls && r->tls->server_name && set_server_name(s, r->url, r->tls->server_name) != 0)
        return err_set(
            e, ERR_USAGE, "\"%s\" is no host name to verify %s by", r->tls->server_name, s->host);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, s->headers);
    return 0;
}

// Ends a transfer that moves too slowly.
static bool drips(http_stream *s, int64_t now)
{
    int64_t ms = (now - s->window) / CLOCK_MS, moved = s->moved;
    if (!s->request.least_speed || ms < s->request.idle_timeout_ms)
        return false;
    s->window = now;
    s->moved = 0;
    if (s->paused || moved == 0 || moved * 1000 / ms >= s->request.least_speed)
        return false; // without any byte, the idle time decides
    long head = 0;
    curl_easy_getinfo(s->easy, CURLINFO_HEADER_SIZE, &head);
    err_set(&s->error, ERR_UNAVAILABLE,
        head ? "%s: the answer comes too slowly: %lld bytes in %.1f s"
             : "%s: no answer: %lld bytes were sent, and nothing came back for %.1f s",
        s->host, (long long)moved, (double)ms / 1000);
    stream_finished(s, CURLE_OPERATION_TIMEDOUT);
    return true;
}

// curl's own check for slow transfers wakes up every second; a quiet stream should cost nothing.
static void on_idle(void *arg)
{
    http_stream *s = arg;
    int64_t now = clock_mono(), ms = (now - s->heard) / CLOCK_MS;
    if (s->paused)
        s->heard = now; // silence while paused is not the server's fault
    if (s->finished || drips(s, now))
        return;
    if (s->paused || ms < s->request.idle_timeout_ms) {
        int64_t left = s->request.idle_timeout_ms - (s->paused ? 0 : ms);
        loop_timer_start(s->idle, (uint64_t)left, 0);
        return;
    }
    err_set(&s->error, ERR_UNAVAILABLE, "%s: no answer for %.1f s", s->host, (double)ms / 1000);
    stream_finished(s, CURLE_OPERATION_TIMEDOUT);
}

static void stream_free(http_stream *s)
{
    http *h = s->http;
    loop_timer_free(s->idle);
    loop_timer_free(s->turn);
    if (s->is_ready) {
        http_stream **r = &h->ready;
        while (*r != s)
            r = &(*r)->ready_next;
        *r = s->ready_next;
    }
    if (h->serving == s)
        h->serving = NULL;
    if (s->link) {
        *s->link = s->next;
        if (s->next)
            s->next->link = s->link;
    }
    if (s->easy) {
        curl_multi_remove_handle(s->pool->multi, s->easy);
        curl_easy_cleanup(s->easy);
    }
    records_free(s->records);
    curl_slist_free_all(s->headers);
    curl_slist_free_all(s->connect_to);
    http_response_done(&s->response);
    buf_done(&s->pending);
    free(s->host);
    free(s->proxy);
    free(s);
}

static http_stream *open_stream(http *h, const struct http_request *r, bool connection,
    const struct http_stream_ops *ops, void *arg, err *e)
{
    if (h->closing) {
        err_set(e, ERR_CANCELLED, "the connections are being closed");
        return NULL;
    }
    http_stream *s = mem_alloc(sizeof *s);
    s->http = h;
    s->pool = &h->pools[r->pool];
    s->ops = ops;
    s->arg = arg;
    s->alone = r->pool == HTTP_POOL_LOGS && ops->data && !r->proxy;
    s->connection = connection;
    s->request = *r; // curl has copied headers and strings: we do not use them again
    s->host = url_host(r->url);
    s->proxy = r->proxy ? url_host(r->proxy) : NULL;
    s->started = s->heard = s->window = clock_mono();
    s->easy = curl_easy_init();
    if (!s->easy)
        err_set(e, ERR_FAILED, "libcurl has no memory");
    if (!s->easy || set_up(s, r, e) != 0) {
        stream_free(s);
        return NULL;
    }
    s->link = &h->streams;
    s->next = h->streams;
    if (s->next)
        s->next->link = &s->next;
    h->streams = s;
    if (r->idle_timeout_ms) {
        s->idle = loop_timer_new(h->loop, on_idle, s);
        loop_timer_start(s->idle, (uint64_t)r->idle_timeout_ms, 0);
    }
    curl_multi_add_handle(s->pool->multi, s->easy);
    return s;
}

http_stream *http_stream_open(
    http *h, const struct http_request *r, const struct http_stream_ops *ops, void *arg, err *e)
{
    return open_stream(h, r, false, ops, arg, e);
}

http_stream *stream_hold(
    http *h, const struct http_request *r, const struct http_stream_ops *ops, void *arg, err *e)
{
    return open_stream(h, r, true, ops, arg, e);
}

int http_stream_status(const http_stream *s)
{
    return (int)status_of(s);
}

static void release(http_stream *s)
{
    if (!s->held || s->finished || s->paused)
        return;
    s->held = false;
    curl_easy_pause(s->easy, CURLPAUSE_CONT);
}

static void on_turn(void *arg)
{
    http_stream *s = arg;
    if (s->pending.len < HTTP_TURN)
        release(s);
    stream_ready(s);
}

static loop_timer *turn_timer(http_stream *s)
{
    if (!s->turn)
        s->turn = loop_timer_new(s->http->loop, on_turn, s);
    return s->turn;
}

void http_stream_pause(http_stream *s, bool paused)
{
    s->paused = paused;
    if (!paused)
        loop_timer_start(turn_timer(s), 0, 0);
}

void http_stream_close(http_stream *s)
{
    if (s)
        stream_free(s);
}

void stream_finished(http_stream *s, CURLcode result)
{
    s->finished = true;
    s->result = result;
    s->response.status = (int)status_of(s);
    long sent = 0;
    curl_easy_getinfo(s->easy, CURLINFO_REQUEST_SIZE, &sent);
    s->response.sent = sent > 0 || s->given > 0;
    stream_ready(s);
}

// curl's message without the names of our memory files.
static const char *detail(http_stream *s)
{
    char *files = strstr(s->reason, " CAfile:");
    if (files)
        *files = '\0';
    return s->reason[0] ? s->reason : curl_easy_strerror(s->result);
}

static void explain_connect(http_stream *s, err *e)
{
    long number = 0;
    curl_easy_getinfo(s->easy, CURLINFO_OS_ERRNO, &number);
    char text[128];
    const char *reason = number ? strerror_r((int)number, text, sizeof text) : detail(s);
    if (s->proxy)
        err_set(e, ERR_UNAVAILABLE,
            "%s: cannot connect to the proxy %s (%s): is the proxy up? It is named by proxy-url in "
            "the kubeconfig, or by HTTPS_PROXY",
            s->host, s->proxy, reason);
    else
        err_set(e, ERR_UNAVAILABLE,
            "%s: cannot connect (%s): is the server up, and reachable from here?", s->host, reason);
}

// The proxy answered, but did not connect us to the host.
static void explain_lost(http_stream *s, err *e)
{
    long code = 0;
    curl_easy_getinfo(s->easy, CURLINFO_HTTP_CONNECTCODE, &code);
    if (s->proxy && code && code / 100 != 2)
        err_set(e, ERR_UNAVAILABLE, "%s: the proxy %s does not connect us: it answers %ld%s",
            s->host, s->proxy, code, code == 407 ? " (it wants a user and a password)" : "");
    else
        err_set(e, ERR_UNAVAILABLE, "%s: the connection%s%s was lost: %s", s->host,
            s->proxy ? " through the proxy " : "", s->proxy ? s->proxy : "", detail(s));
}

static void explain_timeout(http_stream *s, err *e)
{
    int64_t ms = (clock_mono() - s->started) / CLOCK_MS;
    bool ours = s->request.timeout_ms && ms >= s->request.timeout_ms;
    err_set(e, ours ? ERR_TIMEOUT : ERR_UNAVAILABLE, "%s: no answer for %.1f s", s->host,
        (double)ms / 1000);
}

static void explain(http_stream *s, err *e)
{
    switch (s->result) {
    case CURLE_OK:
        break;
    case CURLE_UNSUPPORTED_PROTOCOL:
        if (s->response.sent) {
            err_set(e, ERR_UNAVAILABLE, "%s: the answer is not HTTP", s->host);
            break;
        }
        __attribute__((fallthrough));
    case CURLE_URL_MALFORMAT:
        err_set(e, ERR_USAGE, "\"%s\" is not the host of an http:// or https:// address", s->host);
        break;
    case CURLE_COULDNT_RESOLVE_PROXY:
        err_set(e, ERR_UNAVAILABLE, "%s: its proxy %s has no address: check the name, and DNS",
            s->host, s->proxy);
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
        err_set(e, ERR_UNAVAILABLE, "%s: no such host: check the name, and this machine's DNS",
            s->host);
        break;
    case CURLE_COULDNT_CONNECT:
        explain_connect(s, e);
        break;
    case CURLE_OPERATION_TIMEDOUT:
        explain_timeout(s, e);
        break;
    case CURLE_SEND_FAIL_REWIND:
        err_set(e, ERR_UNAVAILABLE, "%s: the connection was lost before the answer came", s->host);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        err_set(e, ERR_FAILED,
            "%s: its certificate is not to be trusted (%s): check the certificate authority given "
            "for it, and the name it is called by",
            s->host, detail(s));
        break;
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
        err_set(e, ERR_FAILED, "%s: the certificates given for it cannot be used: %s", s->host,
            detail(s));
        break;
    default:
        explain_lost(s, e);
    }
}

void stream_serve(http_stream *s)
{
    http *h = s->http;
    h->serving = s;
    if (s->head) {
        s->head = false;
        s->ops->head(s->arg);
        if (h->serving != s)
            return; // the owner has closed it
    }
    if (s->pending.len && !s->paused) {
        AUTO_BUF bytes = s->pending;
        s->pending = (buf){0};
        s->ops->data(s->arg, bytes.data, bytes.len);
        if (h->serving != s)
            return;                                // the owner has closed it
        if (s->held && !s->paused && !s->finished) // continues in the loop's next turn
            loop_timer_start(turn_timer(s), 0, 0);
    }
    h->serving = NULL;
    if (!s->finished || s->pending.len)
        return;
    err e = s->error;
    if (e.code == ERR_NONE)
        explain(s, &e);
    h->serving = s; // no other stream is served meanwhile
    bool stands = s->connection && e.code == ERR_NONE;
    s->ops->done(s->arg, &s->response, &e);
    if (!stands)
        stream_free(s);
    else if (h->serving == s)
        h->serving = NULL;
}

void http_response_done(struct http_response *r)
{
    buf_done(&r->headers);
    buf_done(&r->body);
}

char *http_header(const struct http_response *r, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = buf_cstr(&r->headers); *line;) {
        size_t len = strcspn(line, "\r\n");
        if (len > n && line[n] == ':' && strncasecmp(line, name, n) == 0)
            return str_trim(line + n + 1, len - n - 1);
        line += len;
        line += strspn(line, "\r\n");
    }
    return NULL;
}

// A date in RFC 9110's form: "Sun, 06 Nov 1994 08:49:37 GMT".
static int64_t seconds_until(const char *date)
{
    struct tm tm = {0};
    const char *end = strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    return end && !*end ? timegm(&tm) - clock_wall() / CLOCK_SEC : 0;
}

int64_t http_retry_after(const struct http_response *r)
{
    AUTO_FREE char *value = http_header(r, "Retry-After");
    int64_t seconds = 0;
    if (value && !str_to_int(value, &seconds))
        seconds = seconds_until(value);
    return seconds > 0 ? seconds : 0;
}
