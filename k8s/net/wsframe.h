// SPDX-License-Identifier: MIT
// Frames of the WebSocket protocol (RFC 6455), from a client's side: whole messages come out of
// bytes in any pieces, and bytes of frames out of messages. A reader is a plain value:
// `struct wsframe_reader r = {0};`, wsframe_done frees.
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
enum { WSFRAME_CONTROL_MOST = 125 }; // bytes of a close, ping or pong

struct wsframe_reader {
    buf bytes;    // that are no whole frame yet
    size_t at;    // what is before it in `bytes` was read
    buf whole;    // the frames of a message whose end has not come
    int kind;     // of that message; 0: none is under way
    bool given;   // `whole` was handed out
    size_t limit; // the longest message; 0: 16 MiB
};
void wsframe_done(struct wsframe_reader *r);
void wsframe_add(struct wsframe_reader *r, const char *bytes, size_t n);

struct wsframe_message {
    enum wsframe_kind kind; // never WSFRAME_MORE
    const char *bytes;      // valid until the next call
    size_t n;
};
// The next whole message, or a close, ping or pong between its frames: 1; 0: more bytes are needed;
// -1: these are no frames of a server (ERR_INVALID), or the message is too long (ERR_LIMIT).
int wsframe_next(struct wsframe_reader *r, struct wsframe_message *out, err *e);

// Appends a frame that is a whole message: `head` and then `bytes`, masked as a client's have to
// be. A close, ping or pong has WSFRAME_CONTROL_MOST bytes at most.
void wsframe_write(buf *out, enum wsframe_kind kind, const uint8_t mask[4], const void *head,
    size_t head_n, const void *bytes, size_t n);
