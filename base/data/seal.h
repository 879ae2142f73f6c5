// SPDX-License-Identifier: MIT
// Encrypts and authenticates both directions of a connection whose two ends share a secret: records
// of ChaCha20-Poly1305 (RFC 8439, nettle), with keys by HKDF-SHA-256 (RFC 5869) from the secret and
// a salt that is new for each connection. A seal is a plain value; seal_done erases its keys.
//    4 bytes  n, little-endian, 1 … SEAL_RECORD_MOST
//    n bytes  ciphertext
//    16 bytes tag
// The tag covers the length, too. A direction's nonce is the number of its record, counted from 0;
// it is not sent. A record that is missing, repeated or out of order does not open. The end of the
// stream is not authenticated: the protocol inside must say when it is complete.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL_KEY = 32, SEAL_HEADER = 4, SEAL_TAG = 16, SEAL_RECORD_MOST = 1 << 16 };

typedef struct seal {
    uint8_t out_key[SEAL_KEY], in_key[SEAL_KEY];
    uint64_t out_count, in_count;
} seal;

// caller: the end that opened the connection; the other end passes false.
void seal_init(seal *s, const char *secret, const void *salt, size_t salt_n, bool caller);
void seal_done(seal *s);
// Appends the bytes as records to `out`.
void seal_put(seal *s, const void *bytes, size_t n, buf *out);
// Moves the content of all complete records from `in` to `out`. ERR_INVALID: a length that no
// record has, or a record that the other end did not send; nothing more can be read then.
int seal_take(seal *s, buf *in, buf *out, err *e);
