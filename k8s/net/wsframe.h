// SPDX-License-Identifier: MIT
// Frames of the WebSocket protocol (RFC 6455), on the client's side: joins bytes in any pieces to
// whole messages, and makes frames of messages. A reader is a plain value: `struct wsframe_reader r
// = {0};`; wsframe_done frees what it holds.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum wsframe_kind { // RFC 6455, 5.2
    WSFRAME_MORE = 0,
    WSFRAME_TEXT = 1,
    WSFRAME_BINARY = 2,
    WSFRAME_CLOSE = 8,
    WSFRAME_PING = 9,
    WSFRAME_PONG = 10,
};
enum { WSFRAME_CONTROL_MOST = 125 }; // the most bytes of a close, ping or pong

struct wsframe_reader {
    buf bytes;    // received, but not yet a whole frame
    size_t at;    // the bytes before it are parsed
    buf whole;    // the frames so far of a message that is not complete
    int kind;     // of that message; 0: there is none
    bool given;   // `whole` was returned
    size_t limit; // the longest message; 0: 16 MiB
};
void wsframe_done(struct wsframe_reader *r);
void wsframe_add(struct wsframe_reader *r, const char *bytes, size_t n);

struct wsframe_message {
    enum wsframe_kind kind; // never WSFRAME_MORE
    const char *bytes;      // valid until the next call
    size_t n;
};
// Returns the next whole message, or a close, ping or pong that came between its frames. 1:
// *message is set; 0: more bytes are needed; -1: these are not frames of a server (ERR_INVALID), or
// the message is too long (ERR_LIMIT).
int wsframe_next(struct wsframe_reader *r, struct wsframe_message *out, err *e);

// Appends a whole message as one frame: `head`, then `bytes`, masked as RFC 6455 demands of
// clients. A close, ping or pong has at most WSFRAME_CONTROL_MOST bytes.
void wsframe_write(buf *out, enum wsframe_kind kind, const uint8_t mask[4], const void *head,
    size_t head_n, const void *bytes, size_t n);
