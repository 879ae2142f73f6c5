// SPDX-License-Identifier: MIT
// SHA-256 and HMAC-SHA-256 (nettle), and random bytes from the kernel.
// A digest is a plain value; nothing is owned.
#pragma once
#include "base/err.h"
#include "base/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_HEX = 65, SHA256_SHORT = 17 };

typedef struct sha256 {
    _Alignas(8) unsigned char state[128]; // nettle's struct sha256_ctx
} sha256;

void sha256_init(sha256 *h);
void sha256_update(sha256 *h, const void *bytes, size_t n);
// Ends and resets h.
void sha256_final(sha256 *h, uint8_t digest[SHA256_SIZE]);
// 64 lower-case hexadecimal digits and a NUL.
void sha256_hex(const void *bytes, size_t n, char hex[SHA256_HEX]);
void digest_hex(const uint8_t digest[SHA256_SIZE], char hex[SHA256_HEX]);
// The first 16 of these digits and a NUL: enough to tell values apart, too few to prove anything.
void sha256_short(const void *bytes, size_t n, char digits[SHA256_SHORT]);
void digest_short(const uint8_t digest[SHA256_SIZE], char digits[SHA256_SHORT]);
// The digest of a regular file's content.
int sha256_file(const char *path, char hex[SHA256_HEX], err *e);
// The same, and its size. The watch (may be NULL) counts bytes; if it stops, reading ends with
// ERR_CANCELLED.
int sha256_read(
    const char *path, const struct work_watch *watch, int64_t *size, char hex[SHA256_HEX], err *e);

// The same for what is left of an open regular file; path is for errors.
int sha256_fd(int fd, const char *path, const struct work_watch *watch, int64_t *size,
    char hex[SHA256_HEX], err *e);

void hmac_sha256(
    const void *key, size_t key_n, const void *bytes, size_t n, uint8_t mac[SHA256_SIZE]);
// Compares in time that does not depend on the content.
int digest_equal(const void *a, const void *b, size_t n);

// n bytes from getrandom(2), which cannot fail for n <= 256; abort()s if it fails.
void random_bytes(void *out, size_t n);
// 2n hexadecimal digits and a NUL.
void random_hex(char *out, size_t n);
