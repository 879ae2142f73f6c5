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
    char key[257];    // of the signatures; "": there are none
    char session[33]; // names us in headers; of a client also the identity of its sockets
} wire;

struct wire_frame {
    const void *data;
    size_t n;
};
enum { WIRE_FRAMES = 6 }; // of what we send: what stands above from "<IDS|MSG>" to content

struct wire_message {
    cJSON *header, *parent, *metadata, *content;
    size_t identities; // number of frames before "<IDS|MSG>": the way back to who has sent it
};

// What we send; borrowed. parent, metadata, content NULL: {}.
struct wire_outgoing {
    const char *type, *id, *date; // date: RFC 3339
    const char *subshell; // who answers, of those in the kernel (JEP 91); NULL: the main one
    const cJSON *parent, *metadata, *content;
};

// Takes a random key and a random session.
void wire_init(wire *w);
// The frames of a message; each is new.
void wire_pack(const wire *w, const struct wire_outgoing *m, char *frames[WIRE_FRAMES]);
// Checks the signature and reads the message. Buffers are left out. Errors: ERR_INVALID, and what
// is wrong; then nothing is owned.
int wire_unpack(
    const wire *w, const struct wire_frame *frames, size_t n, struct wire_message *out, err *e);
void wire_done(struct wire_message *m);
