// SPDX-License-Identifier: MIT
// HTTP as its callers see it: whole requests, streams, verified TLS, and failures.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/fake.h"
#include "tests/support/tap.h"

#include <pthread.h>
#include <unistd.h>

static const http_tls *trusting(struct fake *f, const char *name)
{
    AUTO_FREE char *ca = fake_read(f, "tls.crt");
    const http_tls *t = http_tls_new(f->http,
        &(struct http_tls_options){.ca = ca, .ca_n = strlen(ca), .server_name = name}, &f->e);
    CHECK_OK(t, f->e);
    return t;
}

// One request to a path of the fake; the answer's status, or -1 with f->e.
static int ask(struct fake *f, const char *path, struct http_request r, struct http_response *out)
{
    AUTO_FREE char *url = str_fmt("https://127.0.0.1:%d%s", f->port, path);
    r.url = url;
    r.tls = r.tls ? r.tls : trusting(f, NULL);
    f->e = (err){0};
    return http_do(f->http, NULL, 0, &r, out, &f->e) == 0 ? out->status : -1;
}

static cJSON *body_of(struct http_response *r)
{
    cJSON *j = json_parse(buf_cstr(&r->body), r->body.len, NULL);
    http_response_done(r);
    CHECK(j);
    return j;
}

TEST(a_request_carries_method_headers_and_body)
{
    struct fake *f = fake_open(false);
    struct http_response r;
    const char *const headers[] = {"Content-Type: text/special", NULL};
    int status = ask(f, "/_echo",
        (struct http_request){.method = "PATCH", .headers = headers, .body = "hello", .body_n = 5},
        &r);
    CHECK_OK(status == 200, f->e);
    AUTO_FREE char *type = http_header(&r, "content-TYPE");
    CHECK_STR(type, "application/json");
    AUTO_JSON *echo = body_of(&r);
    CHECK_STR(json_str(echo, "method"), "PATCH");
    CHECK_STR(json_str(echo, "type"), "text/special");
    CHECK_STR(json_str(echo, "agent"), "firesteel-test");
    CHECK_STR(json_str(echo, "body"), "hello");
    fake_close(f);
}

static ssize_t produce(void *arg, char *out, size_t n, err *e)
{
    int *left = arg;
    if (*left < 0)
        return err_set(e, ERR_IO, "the disk is gone");
    size_t give = (size_t)*left < n ? (size_t)*left : n;
    memset(out, 'x', give);
    *left -= (int)give;
    return (ssize_t)give;
}

TEST(a_body_is_produced_while_it_is_sent)
{
    struct fake *f = fake_open(false);
    struct http_response r;
    int left = 1 << 20;
    int status = ask(f, "/_echo",
        (struct http_request){
            .method = "PUT", .read = produce, .read_arg = &left, .body_n = 1 << 20},
        &r);
    CHECK_OK(status == 200, f->e);
    AUTO_JSON *echo = body_of(&r);
    CHECK_INT(strlen(json_str(echo, "body")), 1 << 20);
    left = -1;
    CHECK_INT(ask(f, "/_echo",
                  (struct http_request){
                      .method = "PUT", .read = produce, .read_arg = &left, .body_n = 1 << 20},
                  &r),
        -1);
    CHECK_STR(f->e.text, "the disk is gone");
    fake_close(f);
}

TEST(a_redirect_is_an_answer)
{
    struct fake *f = fake_open(false);
    struct http_response r;
    CHECK_INT(ask(f, "/_redirect", (struct http_request){0}, &r), 302);
    AUTO_FREE char *to = http_header(&r, "Location");
    CHECK_STR(to, "https://example.invalid/");
    http_response_done(&r);
    fake_close(f);
}

TEST(an_answer_that_drips_is_ended)
{
    struct fake *f = fake_open(false);
    struct http_response r;
    struct http_request slow = {.idle_timeout_ms = 500, .least_speed = 1000};
    CHECK_INT(ask(f, "/_drip", slow, &r), -1);
    CHECK_INT(f->e.code, ERR_UNAVAILABLE);
    CHECK_HAS(f->e.text, "127.0.0.1");
    CHECK_HAS(f->e.text, "the answer comes too slowly");
    fake_close(f);
}

// A request with a body has moved bytes, none of them of an answer.
TEST(a_request_without_an_answer_is_no_slow_answer)
{
    struct fake *f = fake_open(false);
    struct http_response r;
    struct http_request silent = {
        .method = "PUT", .body = "x", .body_n = 1, .idle_timeout_ms = 500, .least_speed = 1000};
    CHECK_INT(ask(f, "/_silent", silent, &r), -1);
    CHECK_INT(f->e.code, ERR_UNAVAILABLE);
    CHECK_HAS(f->e.text, "no answer");
    CHECK(!strstr(f->e.text, "slowly"));
    fake_close(f);
}

TEST(what_does_not_speak_http_is_said_to)
{
    struct fake *f = fake_open(false);
    struct http_response r;
    CHECK_INT(ask(f, "/_garbage", (struct http_request){0}, &r), -1);
    CHECK_INT(f->e.code, ERR_UNAVAILABLE);
    CHECK_HAS(f->e.text, "the answer is not HTTP");
    CHECK(!strstr(f->e.text, "is not the host"));
    fake_close(f);
}

TEST(bodies_are_unpacked_and_bounded)
{
    struct fake *f = fake_open(false);
    struct http_response r;
    CHECK_INT(ask(f, "/_gzip", (struct http_request){0}, &r), 200);
    CHECK_INT(r.body.len, 6000);
    http_response_done(&r);
    CHECK_INT(ask(f, "/_large", (struct http_request){.limit = 100000}, &r), -1);
    CHECK_INT(f->e.code, ERR_LIMIT);
    fake_close(f);
}

static int swallow(void *arg, const char *bytes, size_t n, err *e)
{
    size_t *room = arg;
    if (n > *room)
        return err_set(e, ERR_NO_SPACE, "full");
    *room -= n;
    return 0;
}

TEST(a_download_goes_to_its_sink_or_ends_with_its_error)
{
    struct fake *f = fake_open(false);
    AUTO_FREE char *url = str_fmt("https://127.0.0.1:%d/_large", f->port);
    struct http_request q = {.url = url, .tls = trusting(f, NULL)};
    struct http_response r;
    size_t room = 5 << 20;
    CHECK_OK(http_download(f->http, NULL, 0, &q, swallow, &room, &r, &f->e) == 0, f->e);
    CHECK_INT(room, (5 << 20) - (4 << 20));
    http_response_done(&r);
    room = 1 << 20;
    CHECK_INT(http_download(f->http, NULL, 0, &q, swallow, &room, &r, &f->e), -1);
    CHECK_INT(f->e.code, ERR_NO_SPACE);
    fake_close(f);
}

TEST(the_name_on_the_certificate_counts)
{
    struct fake *f = fake_open(false);
    struct http_response r;
    int status = ask(f, "/_echo", (struct http_request){.tls = trusting(f, "fake.example")}, &r);
    CHECK_OK(status == 200, f->e);
    AUTO_JSON *echo = body_of(&r);
    AUTO_FREE char *host = str_fmt("127.0.0.1:%d", f->port);
    CHECK_STR(json_str(echo, "host"), host); // the server still hears its own name
    CHECK_INT(ask(f, "/_echo", (struct http_request){.tls = trusting(f, "other.example")}, &r), -1);
    CHECK_INT(f->e.code, ERR_FAILED);
    CHECK_HAS(f->e.text, "its certificate is not to be trusted");
    const http_tls *blind =
        http_tls_new(f->http, &(struct http_tls_options){.insecure = true}, &f->e);
    CHECK_INT(ask(f, "/_echo", (struct http_request){.tls = blind}, &r), 200);
    http_response_done(&r);
    CHECK(!http_tls_new(f->http, &(struct http_tls_options){.ca = "junk", .ca_n = 4}, &f->e));
    CHECK_HAS(f->e.text, "the certificate authority is not PEM");
    fake_close(f);
}

TEST(what_does_not_answer_is_named)
{
    struct fake *f = fake_open(false);
    struct http_response r;
    CHECK_INT(ask(f, "/_silent", (struct http_request){.timeout_ms = 300}, &r), -1);
    CHECK_INT(f->e.code, ERR_TIMEOUT);
    CHECK_INT(ask(f, "/_silent", (struct http_request){.idle_timeout_ms = 300}, &r), -1);
    CHECK_INT(f->e.code, ERR_UNAVAILABLE);
    CHECK_HAS(f->e.text, "no answer for 0.3 s");
    static const struct {
        const char *url, *text;
        err_code code;
        const char *proxy;
    } cases[] = {
        {"https://api.example/", "api.example: cannot connect to the proxy 127.0.0.1:1 (",
            ERR_UNAVAILABLE, "http://user:hunter2@127.0.0.1:1"},
        {"https://api.example/", "api.example: its proxy nowhere.invalid:3128 has no address",
            ERR_UNAVAILABLE, "http://user:hunter2@nowhere.invalid:3128"},
        {"https://user:hunter2@127.0.0.1:1/x?token=hunter2", "127.0.0.1:1: cannot connect",
            ERR_UNAVAILABLE},
        {"https://nowhere.invalid/", "nowhere.invalid: no such host", ERR_UNAVAILABLE},
        {"gopher://127.0.0.1/", "is not the host of an http:// or https://", ERR_USAGE},
        {"https://", "is not the host of an http:// or https://", ERR_USAGE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_request q = {.url = cases[i].url, .proxy = cases[i].proxy};
        CHECK_INT(http_do(f->http, NULL, 0, &q, &r, &f->e), -1);
        CHECK_HAS(f->e.text, cases[i].text);
        CHECK_INT(f->e.code, cases[i].code);
        CHECK(!strstr(f->e.text, "hunter2"));
        CHECK(!r.sent);
    }
    fake_close(f);
}

// A stream that is not read stops, and later continues at the same place.
struct slow {
    struct fake *fake;
    http_stream *stream;
    char *url;
    const http_tls *tls;
    pthread_mutex_t lock;
    size_t got, when_paused;
    bool done;
};

static void slow_data(void *arg, const char *bytes, size_t n)
{
    struct slow *s = arg;
    pthread_mutex_lock(&s->lock);
    if (!s->got)
        http_stream_pause(s->stream, true);
    s->got += n;
    pthread_mutex_unlock(&s->lock);
}

static void slow_done(void *arg, struct http_response *r, const err *e)
{
    struct slow *s = arg;
    pthread_mutex_lock(&s->lock);
    s->done = e->code == ERR_NONE && r->status == 200;
    pthread_mutex_unlock(&s->lock);
}

static const struct http_stream_ops slow_ops = {.data = slow_data, .done = slow_done};

static void slow_open(void *arg)
{
    struct slow *s = arg;
    s->stream = http_stream_open(s->fake->http,
        &(struct http_request){.url = s->url, .tls = s->tls, .pool = HTTP_POOL_LOGS}, &slow_ops, s,
        NULL);
}

static void slow_resume(void *arg)
{
    http_stream_pause(((struct slow *)arg)->stream, false);
}

static size_t slow_got(struct slow *s, bool *done)
{
    pthread_mutex_lock(&s->lock);
    size_t got = s->got;
    *done = s->done;
    pthread_mutex_unlock(&s->lock);
    return got;
}

TEST(a_paused_stream_takes_no_more_and_loses_nothing)
{
    struct slow s = {.fake = fake_open(false), .lock = PTHREAD_MUTEX_INITIALIZER};
    bool done = false;
    s.url = str_fmt("https://127.0.0.1:%d/_large", s.fake->port);
    s.tls = trusting(s.fake, NULL);
    loop_post(s.fake->loop, slow_open, &s);
    for (int i = 0; i < 500 && !slow_got(&s, &done); i++)
        usleep(10000);
    usleep(300000);
    size_t paused = slow_got(&s, &done);
    CHECK(paused > 0 && paused < 4 << 20);
    CHECK(!done);
    loop_post(s.fake->loop, slow_resume, &s);
    for (int i = 0; i < 500 && !done; i++) {
        usleep(10000);
        slow_got(&s, &done);
    }
    CHECK(done);
    CHECK_INT(slow_got(&s, &done), 4 << 20);
    free(s.url);
    fake_close(s.fake);
}

// Each system keeps them elsewhere.
TEST(the_authorities_of_a_system_are_found)
{
    static const char *const files[] = {"/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt"};
    err e = {0};
    CHECK(!http_authorities(tap_dir()));
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = str_fmt("%s%s", tap_dir(), files[i]), *folder = path_dirname(path);
        CHECK_OK(
            path_make_dirs(folder, 0700, &e) == 0 && path_write(path, "x", 1, 0600, &e) == 0, e);
        AUTO_FREE char *found = http_authorities(tap_dir());
        CHECK_STR(found, path);
    }
}

TEST(urls_are_escaped_and_their_hosts_shown)
{
    AUTO_BUF text = {0};
    url_escape(&text, "a b/c~é");
    CHECK_STR(buf_cstr(&text), "a%20b%2Fc~%C3%A9");
    static const char *const hosts[][2] = {{"https://a:1/b", "a:1"}, {"http://u:p@h/x@y", "h"},
        {"https://[::1]:6443", "[::1]:6443"}, {"nothing", ""}};
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        AUTO_FREE char *host = url_host(hosts[i][0]);
        CHECK_STR(host, hosts[i][1]);
    }
}

int main(void)
{
    int result = tap_run();
    fake_end();
    return result;
}
