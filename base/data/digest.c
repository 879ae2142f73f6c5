// SPDX-License-Identifier: MIT
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
// nettle defines the short names as macros for its own symbols nettle_…
#undef sha256_init
#undef sha256_update

#include "base/data/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(sha256), "nettle's context fits");

void sha256_init(sha256 *h)
{
    nettle_sha256_init((struct sha256_ctx *)h);
}

void sha256_update(sha256 *h, const void *bytes, size_t n)
{
    nettle_sha256_update((struct sha256_ctx *)h, n, bytes);
}

void sha256_final(sha256 *h, uint8_t digest[SHA256_SIZE])
{
    nettle_sha256_digest((struct sha256_ctx *)h, SHA256_SIZE, digest);
}

void digest_hex(const uint8_t digest[SHA256_SIZE], char hex[SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_SIZE; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[SHA256_HEX - 1] = '\0';
}

void sha256_hex(const void *bytes, size_t n, char hex[SHA256_HEX])
{
    sha256 h;
    uint8_t digest[SHA256_SIZE];
    sha256_init(&h);
    sha256_update(&h, bytes, n);
    sha256_final(&h, digest);
    digest_hex(digest, hex);
}

static void shorten(const char hex[SHA256_HEX], char digits[SHA256_SHORT])
{
    memcpy(digits, hex, SHA256_SHORT - 1);
    digits[SHA256_SHORT - 1] = '\0';
}

void sha256_short(const void *bytes, size_t n, char digits[SHA256_SHORT])
{
    char hex[SHA256_HEX];
    sha256_hex(bytes, n, hex);
    shorten(hex, digits);
}

void digest_short(const uint8_t digest[SHA256_SIZE], char digits[SHA256_SHORT])
{
    char hex[SHA256_HEX];
    digest_hex(digest, hex);
    shorten(hex, digits);
}

int sha256_fd(int fd, const char *path, const struct work_watch *watch, int64_t *size,
    char hex[SHA256_HEX], err *e)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) // a pipe may block; a device never ends
        return err_set(e, ERR_FAILED, "cannot read %s: it is no regular file", path);
    sha256 h;
    sha256_init(&h);
    char chunk[65536];
    ssize_t n;
    bool goes_on = true;
    *size = 0;
    while (goes_on && ((n = read(fd, chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR))) {
        if (n > 0) {
            sha256_update(&h, chunk, (size_t)n);
            *size += n;
            work_step(work_of(watch), n);
        }
        goes_on = work_goes_on(watch);
    }
    if (!goes_on)
        return err_set(e, ERR_CANCELLED, "interrupted while %s was read", path);
    if (n < 0)
        return err_errno(e, errno, "cannot read %s", path);
    uint8_t digest[SHA256_SIZE];
    sha256_final(&h, digest);
    digest_hex(digest, hex);
    return 0;
}

int sha256_read(
    const char *path, const struct work_watch *watch, int64_t *size, char hex[SHA256_HEX], err *e)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, errno, "cannot read %s", path);
    int status = sha256_fd(fd, path, watch, size, hex, e);
    close(fd);
    return status;
}

int sha256_file(const char *path, char hex[SHA256_HEX], err *e)
{
    int64_t size;
    return sha256_read(path, NULL, &size, hex, e);
}

void hmac_sha256(
    const void *key, size_t key_n, const void *bytes, size_t n, uint8_t mac[SHA256_SIZE])
{
    struct hmac_sha256_ctx ctx;
    hmac_sha256_set_key(&ctx, key_n, key);
    hmac_sha256_update(&ctx, n, bytes);
    hmac_sha256_digest(&ctx, SHA256_SIZE, mac);
}

int digest_equal(const void *a, const void *b, size_t n)
{
    return memeql_sec(a, b, n);
}

void random_bytes(void *out, size_t n)
{
    char *p = out;
    while (n) {
        ssize_t got = getrandom(p, n < 256 ? n : 256, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            abort();
        p += got;
        n -= (size_t)got;
    }
}

void random_hex(char *out, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        unsigned char byte;
        random_bytes(&byte, 1);
        out[2 * i] = digits[byte >> 4];
        out[2 * i + 1] = digits[byte & 15];
    }
    out[2 * n] = '\0';
}
