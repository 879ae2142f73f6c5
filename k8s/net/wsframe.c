// SPDX-License-Identifier: MIT
#include "k8s/net/wsframe.h"

//   byte 0: FIN, three reserved bits, four bits of kind
//   byte 1: MASK, seven bits of length: 126 → two bytes of it follow, 127 → eight
//   the mask's four bytes, if MASK is set, and then the payload
enum { FIN = 0x80, RESERVED = 0x70, KIND = 0x0f, MASK = 0x80, LENGTH = 0x7f, CONTROL = 0x08 };
enum { SHORT_MOST = 125, TWO_BYTES = 126, EIGHT_BYTES = 127 };
static const size_t default_limit = (size_t)16 << 20;

struct head {
    uint8_t first;
    size_t n, payload; // bytes of the head, and of the payload after it
};

void wsframe_done(struct wsframe_reader *r)
{
    buf_done(&r->bytes);
    buf_done(&r->whole);
}

void wsframe_add(struct wsframe_reader *r, const char *bytes, size_t n)
{
    buf_consume(&r->bytes, r->at);
    r->at = 0;
    buf_add(&r->bytes, bytes, n);
}

static uint64_t big_endian(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

static int check_head(const struct wsframe_reader *r, uint8_t first, uint64_t length, err *e)
{
    int kind = first & KIND;
    size_t limit = r->limit ? r->limit : default_limit;
    bool control = kind & CONTROL;
    if (first & RESERVED || (control ? kind > WSFRAME_PONG : kind > WSFRAME_BINARY))
        return err_set(
            e, ERR_INVALID, "the server sends no WebSocket frames (first byte 0x%02x)", first);
    if (control && (!(first & FIN) || length > WSFRAME_CONTROL_MOST))
        return err_set(e, ERR_INVALID, "the server sends a control frame that is %s",
            first & FIN ? "too long" : "cut in pieces");
    if (!control && (kind == WSFRAME_MORE) != (r->kind != 0))
        return err_set(e, ERR_INVALID, "the server sends %s",
            r->kind ? "a message inside another" : "the end of a message that has no beginning");
    if (!control && length > limit - (r->kind ? r->whole.len : 0))
        return err_set(e, ERR_LIMIT, "the server sends a message of more than %zu bytes", limit);
    return 0;
}

// 1: the frame is complete; 0: not yet.
static int read_head(const struct wsframe_reader *r, struct head *out, err *e)
{
    const uint8_t *b = (const uint8_t *)r->bytes.data + r->at;
    size_t n = r->bytes.len - r->at;
    if (n < 2)
        return 0;
    if (b[1] & MASK)
        return err_set(e, ERR_INVALID, "the server sends masked frames");
    uint64_t length = b[1] & LENGTH;
    size_t more = length == TWO_BYTES ? 2 : length == EIGHT_BYTES ? 8 : 0;
    if (n < 2 + more)
        return 0;
    if (more)
        length = big_endian(b + 2, more);
    if (check_head(r, b[0], length, e) != 0)
        return -1;
    *out = (struct head){b[0], 2 + more, (size_t)length};
    return n - out->n >= out->payload;
}

int wsframe_next(struct wsframe_reader *r, struct wsframe_message *out, err *e)
{
    struct head h = {0};
    int result;
    if (r->given)
        buf_clear(&r->whole);
    r->given = false;
    while ((result = read_head(r, &h, e)) > 0) {
        const char *payload = r->bytes.data + r->at + h.n;
        int kind = h.first & KIND;
        r->at += h.n + h.payload;
        if (kind & CONTROL || (h.first & FIN && kind != WSFRAME_MORE)) {
            *out = (struct wsframe_message){(enum wsframe_kind)kind, payload, h.payload};
            return 1;
        }
        buf_add(&r->whole, payload, h.payload);
        r->kind = kind == WSFRAME_MORE ? r->kind : kind;
        if (!(h.first & FIN))
            continue;
        *out =
            (struct wsframe_message){(enum wsframe_kind)r->kind, buf_cstr(&r->whole), r->whole.len};
        r->kind = 0;
        r->given = true;
        return 1;
    }
    return result;
}

static void add_length(buf *out, size_t n)
{
    size_t more = n <= SHORT_MOST ? 0 : n <= UINT16_MAX ? 2 : 8;
    buf_char(out, (char)(MASK | (more == 0 ? n : more == 2 ? TWO_BYTES : EIGHT_BYTES)));
    for (size_t i = more; i > 0; i--)
        buf_char(out, (char)((uint64_t)n >> 8 * (i - 1)));
}

void wsframe_write(buf *out, enum wsframe_kind kind, const uint8_t mask[4], const void *head,
    size_t head_n, const void *bytes, size_t n)
{
    buf_char(out, (char)(FIN | kind));
    add_length(out, head_n + n);
    buf_add(out, mask, 4);
    size_t start = out->len;
    buf_add(out, head, head_n);
    buf_add(out, bytes, n);
    for (size_t i = start; i < out->len; i++)
        out->data[i] = (char)(out->data[i] ^ mask[(i - start) % 4]);
}
