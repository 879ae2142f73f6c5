// SPDX-License-Identifier: MIT
// What a server sends to a WebSocket: the answer, then frames. Cut anywhere, they give the same
// messages; and what we write is read as it was.
#include "k8s/net/wsframe.h"
#include "k8s/net/wshake.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void read_all(const char *bytes, size_t n, size_t step, buf *out)
{
    struct wsframe_reader r = {.limit = 1 << 12};
    int result = 0;
    for (size_t i = 0; i < n && result >= 0; i += step) {
        struct wsframe_message m;
        wsframe_add(&r, bytes + i, i + step < n ? step : n - i);
        while ((result = wsframe_next(&r, &m, NULL)) > 0) {
            buf_fmt(out, "%d %zu ", (int)m.kind, m.n);
            buf_add(out, m.bytes, m.n);
        }
    }
    buf_fmt(out, "%d", result);
    wsframe_done(&r);
}

// A server's frame is a client's without the mask.
static void write_and_read(const char *bytes, size_t n)
{
    static const uint8_t none[4] = {0};
    AUTO_BUF frame = {0};
    struct wsframe_reader r = {0};
    struct wsframe_message m;
    size_t half = n / 2;
    wsframe_write(&frame, WSFRAME_BINARY, none, bytes, half, bytes + half, n - half);
    size_t head = frame.len - n;
    frame.data[1] &= 0x7f;
    memmove(frame.data + head - 4, frame.data + head, n);
    wsframe_add(&r, frame.data, frame.len - 4);
    if (wsframe_next(&r, &m, NULL) != 1 || m.n != n || memcmp(m.bytes, bytes, n) != 0)
        abort();
    wsframe_done(&r);
}

static void read_answer(const char *bytes, size_t n)
{
    for (int ended = 0; ended < 2; ended++) {
        struct http_response r = {0};
        size_t used = 0;
        char *protocol = NULL;
        if (wshake_answer(bytes, n, ended, &r, &used, NULL) > 0 &&
            (used > n || r.status < 101 || r.body.len > n))
            abort();
        wshake_check(&r, "dGhlIHNhbXBsZSBub25jZQ==", "v5.channel.k8s.io", &protocol, NULL);
        free(protocol);
        http_response_done(&r);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const char *text = (const char *)bytes;
    AUTO_BUF whole = {0}, pieces = {0};
    read_all(text, n, n ? n : 1, &whole);
    read_all(text, n, n ? bytes[0] % 7 + 1u : 1, &pieces);
    if (whole.len != pieces.len || memcmp(whole.data, pieces.data, whole.len) != 0)
        abort();
    write_and_read(text, n);
    read_answer(text, n);
    return 0;
}
