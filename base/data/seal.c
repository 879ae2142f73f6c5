// SPDX-License-Identifier: MIT
#include "base/data/seal.h"

#include <nettle/chacha-poly1305.h>
#include <nettle/hkdf.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>

_Static_assert(SEAL_KEY == CHACHA_POLY1305_KEY_SIZE, "nettle's key");
_Static_assert(SEAL_TAG == CHACHA_POLY1305_DIGEST_SIZE, "nettle's tag");

static void derive(
    const uint8_t master[SHA256_DIGEST_SIZE], const char *what, uint8_t key[SEAL_KEY])
{
    struct hmac_sha256_ctx hmac;
    hmac_sha256_set_key(&hmac, SHA256_DIGEST_SIZE, master);
    hkdf_expand(&hmac, (nettle_hash_update_func *)hmac_sha256_update,
        (nettle_hash_digest_func *)hmac_sha256_digest, SHA256_DIGEST_SIZE, strlen(what),
        (const uint8_t *)what, SEAL_KEY, key);
    explicit_bzero(&hmac, sizeof hmac);
}

void seal_init(seal *s, const char *secret, const void *salt, size_t salt_n, bool caller)
{
    uint8_t master[SHA256_DIGEST_SIZE];
    struct hmac_sha256_ctx hmac;
    *s = (seal){0};
    hmac_sha256_set_key(&hmac, salt_n, salt);
    hkdf_extract(&hmac, (nettle_hash_update_func *)hmac_sha256_update,
        (nettle_hash_digest_func *)hmac_sha256_digest, SHA256_DIGEST_SIZE, strlen(secret),
        (const uint8_t *)secret, master);
    derive(master, "firesteel from the caller", caller ? s->out_key : s->in_key);
    derive(master, "firesteel to the caller", caller ? s->in_key : s->out_key);
    explicit_bzero(&hmac, sizeof hmac);
    explicit_bzero(master, sizeof master);
}

void seal_done(seal *s)
{
    explicit_bzero(s, sizeof *s);
}

static void put_little_endian(uint8_t *at, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void begin(struct chacha_poly1305_ctx *c, const uint8_t key[SEAL_KEY], uint64_t count,
    const uint8_t header[SEAL_HEADER])
{
    uint8_t nonce[CHACHA_POLY1305_NONCE_SIZE] = {0};
    put_little_endian(nonce, count, 8);
    chacha_poly1305_set_key(c, key);
    chacha_poly1305_set_nonce(c, nonce);
    chacha_poly1305_update(c, SEAL_HEADER, header);
}

static void put_record(seal *s, const void *bytes, size_t n, buf *out)
{
    struct chacha_poly1305_ctx c;
    buf_reserve(out, SEAL_HEADER + n + SEAL_TAG);
    uint8_t *at = (uint8_t *)out->data + out->len;
    put_little_endian(at, n, SEAL_HEADER);
    begin(&c, s->out_key, s->out_count++, at);
    chacha_poly1305_encrypt(&c, n, at + SEAL_HEADER, bytes);
    chacha_poly1305_digest(&c, SEAL_TAG, at + SEAL_HEADER + n);
    explicit_bzero(&c, sizeof c);
    out->len += SEAL_HEADER + n + SEAL_TAG;
    out->data[out->len] = 0;
}

void seal_put(seal *s, const void *bytes, size_t n, buf *out)
{
    for (const char *at = bytes; n > 0;) {
        size_t piece = n < SEAL_RECORD_MOST ? n : SEAL_RECORD_MOST;
        put_record(s, at, piece, out);
        at += piece;
        n -= piece;
    }
}

// Appends the content of the record at `at`; removes it again if the tag is wrong.
static int take_record(seal *s, const uint8_t *at, size_t n, buf *out, err *e)
{
    struct chacha_poly1305_ctx c;
    uint8_t tag[SEAL_TAG];
    buf_reserve(out, n);
    begin(&c, s->in_key, s->in_count++, at);
    chacha_poly1305_decrypt(&c, n, (uint8_t *)out->data + out->len, at + SEAL_HEADER);
    chacha_poly1305_digest(&c, SEAL_TAG, tag);
    explicit_bzero(&c, sizeof c);
    bool right = nettle_memeql_sec(tag, at + SEAL_HEADER + n, SEAL_TAG);
    out->len += right ? n : 0;
    out->data[out->len] = 0;
    return right ? 0
                 : err_set(e, ERR_INVALID,
                       "bytes were changed, repeated or left out on the way between driver and "
                       "executor");
}

int seal_take(seal *s, buf *in, buf *out, err *e)
{
    size_t used = 0;
    int result = 0;
    while (result == 0 && in->len - used >= SEAL_HEADER) {
        const uint8_t *at = (const uint8_t *)in->data + used;
        size_t n = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
        if (n < 1 || n > SEAL_RECORD_MOST) {
            result = err_set(e, ERR_INVALID, "a record of %zu bytes: no record has so many", n);
            break;
        }
        if (in->len - used < SEAL_HEADER + n + SEAL_TAG)
            break;
        result = take_record(s, at, n, out, e);
        used += SEAL_HEADER + n + SEAL_TAG;
    }
    buf_consume(in, used);
    return result;
}
