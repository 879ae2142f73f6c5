// SPDX-License-Identifier: MIT
// Jupyter's messages (protocol 5.4) as the frames that go through a socket: signed, and checked
// when they come. It knows no socket. A wire is a plain value; messages own their JSON.
//
//   identities…  "<IDS|MSG>"  signature  header  parent_header  metadata  content  buffers…
//                             HMAC-SHA256 of the next four, in hexadecimal digits
#pragma once
#include "base/json/json.h"

#include <stddef.h>

typedef struct wire {
    char key[65];     // of the signatures
    char session[33]; // names this client in headers; also the identity of its sockets
} wire;

struct wire_frame {
    const void *data;
    size_t n;
};
enum { WIRE_FRAMES = 6 }; // of a request: what stands above from "<IDS|MSG>" to content

struct wire_message {
    cJSON *header, *parent, *metadata, *content;
};

// Takes a random key and a random session.
void wire_init(wire *w);
// The frames of a request with this id; each is new. `date` is RFC 3339.
void wire_pack(const wire *w, const char *type, const char *id, const char *date,
    const cJSON *content, char *frames[WIRE_FRAMES]);
// Checks the signature and reads the message. Buffers are left out. Errors: ERR_INVALID, and what
// is wrong; then nothing is owned.
int wire_unpack(
    const wire *w, const struct wire_frame *frames, size_t n, struct wire_message *out, err *e);
void wire_done(struct wire_message *m);
