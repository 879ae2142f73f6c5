// SPDX-License-Identifier: MIT
// A certificate authority of our own, and a server certificate signed by it, for loopback. Both are
// made in memory with GnuTLS (ECDSA P-256, a few milliseconds). The caller frees the PEM texts with
// tls_done.
#pragma once
#include "base/err.h"

#include <stdint.h>

struct tls {
    char *ca;          // certificate of the authority
    char *certificate; // certificate of the server: 127.0.0.1, ::1, localhost
    char *key;         // key of the server
};
// Valid from an hour before `now` (wall ns) for ten years.
int tls_make(struct tls *t, int64_t now, err *e);
void tls_done(struct tls *t);
