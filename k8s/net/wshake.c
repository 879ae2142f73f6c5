// SPDX-License-Identifier: MIT
#include "k8s/net/wshake.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"

#include <nettle/base64.h>
#include <nettle/sha1.h>
#include <string.h>
#include <strings.h>

enum { HEAD_MOST = 64 << 10, BODY_MOST = 1 << 20, KEY_BYTES = 16 };

// Fails to compile unless WSHAKE_KEY and WSHAKE_ACCEPT are the sizes of the callers' arrays.
static void to_base64(const uint8_t *bytes, size_t n, char *out)
{
    base64_encode_raw(out, n, bytes);
    out[BASE64_ENCODE_RAW_LENGTH(n)] = '\0';
}

void wshake_key(char key[WSHAKE_KEY])
{
    uint8_t bytes[KEY_BYTES];
    random_bytes(bytes, sizeof bytes);
    to_base64(bytes, sizeof bytes, key);
}

void wshake_accept(const char *key, char accept[WSHAKE_ACCEPT])
{
    uint8_t digest[SHA1_DIGEST_SIZE];
    struct sha1_ctx sha1;
    AUTO_FREE char *text = str_fmt("%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    sha1_init(&sha1);
    sha1_update(&sha1, strlen(text), (const uint8_t *)text);
    sha1_digest(&sha1, sizeof digest, digest);
    to_base64(digest, sizeof digest, accept);
}

void wshake_request(buf *out, const struct http_request *r, const char *user_agent,
    const char *protocols, const char *key)
{
    AUTO_FREE char *host = url_host(r->url);
    const char *authority = strstr(r->url, "://");
    const char *path = authority ? strchr(authority + 3, '/') : NULL;
    buf_fmt(out,
        "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
        "Sec-WebSocket-Protocol: %s\r\n",
        path ? path : "/", host, user_agent, key, protocols);
    for (const char *const *h = r->headers; h && *h; h++)
        buf_fmt(out, "%s\r\n", *h);
    buf_str(out, "\r\n");
}

// The length of the head with the empty line at its end; 0: it is not complete.
static size_t head_length(const char *bytes, size_t n)
{
    const char *end = memmem(bytes, n, "\r\n\r\n", 4);
    return end ? (size_t)(end - bytes) + 4 : 0;
}

static int status_of(const char *bytes, size_t n)
{
    static const char start[] = "HTTP/1.";
    size_t at = sizeof start - 1 + 2; // "1 "
    if (n < at + 3 || memcmp(bytes, start, sizeof start - 1) != 0 || bytes[at - 1] != ' ')
        return -1;
    int status = 0;
    for (size_t i = at; i < at + 3; i++) {
        if (bytes[i] < '0' || bytes[i] > '9')
            return -1;
        status = status * 10 + bytes[i] - '0';
    }
    return status >= 100 ? status : -1;
}

// Decodes the chunked coding (RFC 9112, 7.1). 1: the end has come; 0: not yet, or the coding is
// wrong.
static int read_chunks(const char *bytes, size_t n, buf *out)
{
    for (;;) {
        const char *line = memmem(bytes, n, "\r\n", 2);
        AUTO_FREE char *digits = line ? mem_strndup(bytes, (size_t)(line - bytes)) : NULL;
        unsigned long long size = digits ? strtoull(digits, NULL, 16) : 0;
        if (!line || size > BODY_MOST)
            return 0;
        if (size == 0)
            return 1;
        size_t left = n - (size_t)(line + 2 - bytes);
        if (left < size + 2)
            return 0;
        buf_add(out, line + 2, (size_t)size);
        bytes = line + 2 + size + 2;
        n = left - (size_t)size - 2;
    }
}

// 1: the body of a refusal is complete; 0: not yet.
static int read_body(const char *bytes, size_t n, bool ended, struct http_response *out)
{
    AUTO_FREE char *length = http_header(out, "Content-Length"),
                   *coding = http_header(out, "Transfer-Encoding");
    int64_t wanted = -1;
    if (length && !str_to_int(length, &wanted))
        wanted = -1;
    buf_clear(&out->body);
    if (coding && strcasecmp(coding, "chunked") == 0) {
        int whole = read_chunks(bytes, n, &out->body);
        return whole || ended || n > BODY_MOST;
    }
    bool whole = (wanted >= 0 && n >= (uint64_t)wanted) || ended || n > BODY_MOST;
    size_t take = wanted >= 0 && n > (uint64_t)wanted ? (size_t)wanted : n;
    if (whole)
        buf_add(&out->body, bytes, take);
    return whole;
}

int wshake_answer(
    const char *bytes, size_t n, bool ended, struct http_response *out, size_t *used, err *e)
{
    size_t at = 0, head;
    int status;
    for (;;) {
        head = head_length(bytes + at, n - at);
        status = status_of(bytes + at, n - at);
        if ((head && status < 0) || (!head && (n - at > HEAD_MOST || ended)))
            return err_set(e, ERR_INVALID, "the answer is not HTTP/1.1");
        if (!head)
            return 0;
        if (status / 100 != 1 || status == 101)
            break;
        at += head; // the earlier head was a 100
    }
    const char *line = memmem(bytes + at, head, "\r\n", 2);
    out->status = status;
    out->sent = true;
    buf_clear(&out->headers);
    buf_add(&out->headers, line + 2, head - (size_t)(line + 2 - bytes - at));
    *used = at + head;
    if (status == 101)
        return 1;
    *used = n;
    return read_body(bytes + at + head, n - at - head, ended, out);
}

static bool is_offered(const char *protocols, const char *one)
{
    for (const char *p = protocols; *p;) {
        size_t n = strcspn(p, ",");
        AUTO_FREE char *name = str_trim(p, n);
        if (str_eq(name, one))
            return true;
        p += n;
        p += *p == ',';
    }
    return false;
}

int wshake_check(const struct http_response *answer, const char *key, const char *protocols,
    char **protocol, err *e)
{
    char wanted[WSHAKE_ACCEPT];
    wshake_accept(key, wanted);
    AUTO_FREE char *upgrade = http_header(answer, "Upgrade"),
                   *accept = http_header(answer, "Sec-WebSocket-Accept"),
                   *chosen = http_header(answer, "Sec-WebSocket-Protocol");
    if (!upgrade || strcasecmp(upgrade, "websocket") != 0 || !str_eq(accept, wanted))
        return err_set(e, ERR_INVALID,
            "what answers is no WebSocket: is there a proxy between us and the server?");
    if (!chosen || !is_offered(protocols, chosen))
        return err_set(e, ERR_INVALID,
            "the server speaks none of our protocols (%s) there, but %s: is it too old?", protocols,
            chosen ? chosen : "none");
    *protocol = STEAL(chosen);
    return 0;
}
