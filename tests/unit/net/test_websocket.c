// SPDX-License-Identifier: MIT
// WebSocket without a network: the examples of RFC 6455, messages in pieces, and what is refused.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/net/wsframe.h"
#include "k8s/net/wshake.h"
#include "tests/support/tap.h"

#include <stdlib.h>

static int next(struct wsframe_reader *r, struct wsframe_message *m)
{
    err e;
    return wsframe_next(r, m, &e);
}

TEST(the_examples_of_the_rfc_are_read)
{
    struct wsframe_reader r = {0};
    struct wsframe_message m;
    wsframe_add(&r, "\x81\x05Hello\x01\x03Hel\x89\x05Hello\x80\x02lo\x82\x7e\x01", 27);
    CHECK_INT(next(&r, &m), 1);
    CHECK_INT(m.kind, WSFRAME_TEXT);
    CHECK(m.n == 5 && memcmp(m.bytes, "Hello", 5) == 0);
    CHECK_INT(next(&r, &m), 1); // between the two pieces of a message
    CHECK_INT(m.kind, WSFRAME_PING);
    CHECK(m.n == 5 && memcmp(m.bytes, "Hello", 5) == 0);
    CHECK_INT(next(&r, &m), 1);
    CHECK_INT(m.kind, WSFRAME_TEXT);
    CHECK(m.n == 5 && memcmp(m.bytes, "Hello", 5) == 0);
    CHECK_INT(next(&r, &m), 0);
    char binary[257] = {0};
    wsframe_add(&r, binary, sizeof binary); // the other half of the length, and 256 bytes
    CHECK_INT(next(&r, &m), 1);
    CHECK_INT(m.kind, WSFRAME_BINARY);
    CHECK_INT(m.n, 256);
    CHECK_INT(next(&r, &m), 0);
    wsframe_done(&r);
}

TEST(a_frame_is_masked_as_in_the_rfc)
{
    AUTO_BUF out = {0};
    static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    wsframe_write(&out, WSFRAME_TEXT, mask, "He", 2, "llo", 3);
    CHECK_INT(out.len, 11);
    CHECK(memcmp(out.data, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11) == 0);
}

TEST(lengths_are_written_as_short_as_they_can_be)
{
    static const struct {
        size_t n, head;
    } cases[] = {{0, 6}, {125, 6}, {126, 8}, {65535, 8}, {65536, 14}};
    static const uint8_t mask[4] = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = {0};
        AUTO_FREE char *bytes = mem_alloc(cases[i].n + 1);
        wsframe_write(&out, WSFRAME_BINARY, mask, NULL, 0, bytes, cases[i].n);
        CHECK_INT(out.len, cases[i].head + cases[i].n);
    }
}

TEST(what_is_no_frame_of_a_server_is_refused)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } cases[] = {
        {"HTTP/1.1 200 OK", 15, "no WebSocket frames"},
        {"\x81\x85....Hello", 11, "masked"},
        {"\x80\x02lo", 4, "no beginning"},
        {"\x01\x01H\x81\x01H", 6, "inside another"},
        {"\x83\x00", 2, "no WebSocket frames"},
        {"\x8b\x00", 2, "no WebSocket frames"},
        {"\x09\x00", 2, "cut in pieces"},
        {"\x89\x7e\x00\x7e", 4, "too long"},
        {"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 10, "more than 16777216 bytes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wsframe_reader r = {0};
        struct wsframe_message m;
        err e = {0};
        int result;
        wsframe_add(&r, cases[i].bytes, cases[i].n);
        while ((result = wsframe_next(&r, &m, &e)) > 0)
            continue;
        CHECK_INT(result, -1);
        CHECK_HAS(e.text, cases[i].why);
        wsframe_done(&r);
    }
}

TEST(a_message_of_pieces_has_the_limit_too)
{
    struct wsframe_reader r = {.limit = 8};
    struct wsframe_message m;
    err e = {0};
    wsframe_add(&r, "\x02\x05Hello\x80\x04 you", 13);
    CHECK_INT(wsframe_next(&r, &m, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    wsframe_done(&r);
}

TEST(a_request_asks_for_the_path_with_our_headers)
{
    AUTO_BUF out = {0};
    static const char *const headers[] = {"Authorization: Bearer x", NULL};
    wshake_request(&out,
        &(struct http_request){.url = "https://10.0.0.1:6443/api/v1/x?a=b", .headers = headers},
        "us/1", "v5.channel.k8s.io", "KEY=");
    CHECK_STR(buf_cstr(&out),
        "GET /api/v1/x?a=b HTTP/1.1\r\nHost: 10.0.0.1:6443\r\nUser-Agent: us/1\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: KEY=\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
        "Authorization: Bearer x\r\n\r\n");
}

TEST(a_key_has_the_answer_of_the_rfc)
{
    char key[WSHAKE_KEY], other[WSHAKE_KEY], accept[WSHAKE_ACCEPT];
    wshake_accept("dGhlIHNhbXBsZSBub25jZQ==", accept);
    CHECK_STR(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    wshake_key(key);
    wshake_key(other);
    CHECK_INT(strlen(key), WSHAKE_KEY - 1);
    CHECK(!str_eq(key, other));
}

static int answer(const char *text, bool ended, struct http_response *out, size_t *used)
{
    err e;
    *out = (struct http_response){0};
    return wshake_answer(text, strlen(text), ended, out, used, &e);
}

TEST(an_agreement_ends_with_its_head)
{
    struct http_response r;
    size_t used;
    static const char text[] =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n"
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: b\r\n\r\n";
    AUTO_FREE char *more = str_fmt("%s\x81\x02hi", text);
    CHECK_INT(answer(more, false, &r, &used), 1);
    CHECK_INT(r.status, 101);
    CHECK_INT(used, strlen(text));
    AUTO_FREE char *protocol = NULL;
    err e = {0};
    CHECK_OK(wshake_check(&r, "dGhlIHNhbXBsZSBub25jZQ==", "a, b", &protocol, &e) == 0, e);
    CHECK_STR(protocol, "b");
    CHECK(wshake_check(&r, "dGhlIHNhbXBsZSBub25jZQ==", "a, c", &protocol, &e) != 0);
    CHECK_HAS(e.text, "none of our protocols (a, c)");
    CHECK(wshake_check(&r, "AAAAIHNhbXBsZSBub25jZQ==", "a, b", &protocol, &e) != 0);
    CHECK_HAS(e.text, "no WebSocket");
    http_response_done(&r);
}

TEST(a_refusal_is_read_with_its_words)
{
    static const char *const texts[] = {
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 5\r\n\r\nwords and more",
        "HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3\r\nwor\r\n2\r\nds\r\n0\r\n\r\n",
    };
    struct http_response r;
    size_t used;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CHECK_INT(answer(texts[i], false, &r, &used), 1);
        CHECK_INT(r.status, 400);
        CHECK_STR(buf_cstr(&r.body), "words");
        http_response_done(&r);
    }
    CHECK_INT(answer("HTTP/1.1 500 No\r\n\r\nwords", false, &r, &used), 0);
    http_response_done(&r);
    CHECK_INT(answer("HTTP/1.1 500 No\r\n\r\nwords", true, &r, &used), 1);
    CHECK_STR(buf_cstr(&r.body), "words");
    http_response_done(&r);
}

TEST(what_is_no_http_is_no_answer)
{
    struct http_response r;
    size_t used;
    CHECK_INT(answer("SSH-2.0-x\r\n\r\n", false, &r, &used), -1);
    CHECK_INT(answer("HTTP/1.1 101 Swit", false, &r, &used), 0);
    CHECK_INT(answer("HTTP/1.1 101 Swit", true, &r, &used), -1);
    CHECK_INT(answer("", false, &r, &used), 0);
}

int main(void)
{
    return tap_run();
}
