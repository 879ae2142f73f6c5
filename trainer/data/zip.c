// SPDX-License-Identifier: MIT
#include "trainer/data/zip.h"

#include "base/mem.h"
#include "base/os/available.h"
#include "trainer/data/deflate.h"

#include <string.h>

enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END = 0x06054b50,
    END64 = 0x06064b50,
    LOCATOR64 = 0x07064b50,
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR64_SIZE = 20,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1,
    EXTRA64 = 1,
    VERSION64 = 45,
    RATIO_MAX = 1032, // https://zlib.net/zlib_tech.html
};
static const uint32_t IN_EXTRA = 0xffffffff; // the number is in the zip64 field

static uint64_t number(const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | p[bytes];
    return value;
}

static int damaged(err *e, const char *what)
{
    return err_set(e, ERR_CORRUPT, "the archive is damaged: %s", what);
}

// Finds the end record, after which there may be a comment of up to 64 KiB.
static const uint8_t *find_end(const uint8_t *p, size_t n)
{
    for (size_t back = END_SIZE; back <= n && back <= END_SIZE + UINT16_MAX; back++)
        if (number(p + n - back, 4) == END && number(p + n - back + 20, 2) == back - END_SIZE)
            return p + n - back;
    return NULL;
}

int zip_open(zip *z, const void *bytes, size_t n, err *e)
{
    *z = (zip){.bytes = bytes, .n = n};
    const uint8_t *end = find_end(bytes, n);
    if (!end)
        return err_set(e, ERR_CORRUPT, "no ZIP archive, or its end is missing");
    z->left = number(end + 10, 2);
    z->at = number(end + 16, 4);
    size_t before = (size_t)(end - z->bytes);
    const uint8_t *locator = before >= LOCATOR64_SIZE ? end - LOCATOR64_SIZE : NULL;
    if (!locator || number(locator, 4) != LOCATOR64)
        return 0;
    uint64_t at = number(locator + 8, 8);
    if (at > n || n - at < END64_SIZE || number(z->bytes + at, 4) != END64)
        return damaged(e, "its zip64 end is not where it should be");
    z->left = number(z->bytes + at + 32, 8);
    z->at = number(z->bytes + at + 48, 8);
    return 0;
}

// The numbers that did not fit, in the order of the format; each is there only if it is needed.
static int read_extra(const uint8_t *p, size_t n, zip_member *m, uint64_t *local, err *e)
{
    uint64_t *wide[] = {&m->size, &m->packed, local};
    while (n >= 4) {
        size_t length = number(p + 2, 2);
        if (length > n - 4)
            return damaged(e, "an extra field is cut off");
        const uint8_t *at = p + 4, *end = at + length;
        for (size_t i = 0; number(p, 2) == EXTRA64 && i < ARRAY_LEN(wide); i++) {
            if (*wide[i] != IN_EXTRA)
                continue;
            if (end - at < 8)
                return damaged(e, "a zip64 field is cut off");
            *wide[i] = number(at, 8);
            at += 8;
        }
        p += 4 + length;
        n -= 4 + length;
    }
    return 0;
}

static int find_bytes(const zip *z, zip_member *m, uint64_t local, err *e)
{
    if (local > z->n || z->n - local < LOCAL_SIZE || number(z->bytes + local, 4) != LOCAL)
        return damaged(e, "a member is not where it should be");
    const uint8_t *p = z->bytes + local;
    uint64_t skip = LOCAL_SIZE + number(p + 26, 2) + number(p + 28, 2);
    if (z->n - local < skip || z->n - local - skip < m->packed)
        return damaged(e, "a member is cut off");
    m->bytes = p + skip;
    return 0;
}

int zip_next(zip *z, zip_member *m, err *e)
{
    if (z->left == 0)
        return 0;
    if (z->at > z->n || z->n - z->at < CENTRAL_SIZE || number(z->bytes + z->at, 4) != CENTRAL)
        return damaged(e, "its list of members is cut off");
    const uint8_t *p = z->bytes + z->at;
    size_t name = number(p + 28, 2), extra = number(p + 30, 2), comment = number(p + 32, 2);
    if (z->n - z->at - CENTRAL_SIZE < name + extra + comment)
        return damaged(e, "its list of members is cut off");
    *m = (zip_member){.name = (const char *)p + CENTRAL_SIZE,
        .name_n = name,
        .method = (int)number(p + 10, 2),
        .crc = (uint32_t)number(p + 16, 4),
        .packed = number(p + 20, 4),
        .size = number(p + 24, 4)};
    uint64_t local = number(p + 42, 4);
    if (read_extra(p + CENTRAL_SIZE + name, extra, m, &local, e) < 0)
        return -1;
    if (number(p + 8, 2) & ENCRYPTED)
        return err_set(e, ERR_INVALID, "the archive is encrypted");
    z->left--;
    z->at += CENTRAL_SIZE + name + extra + comment;
    return find_bytes(z, m, local, e) < 0 ? -1 : 1;
}

size_t zip_first(const zip_member *m, void *out, size_t room)
{
    if (m->method == DEFLATED)
        return inflate_first(m->bytes, m->packed, out, room);
    size_t n = m->packed < room ? m->packed : room;
    memcpy(out, m->bytes, m->method == STORED ? n : 0);
    return m->method == STORED ? n : 0;
}

uint8_t *zip_unpack(const zip_member *m, err *e)
{
    if (m->method != STORED && m->method != DEFLATED) {
        err_set(e, ERR_INVALID, "packed by method %d (stored and deflated are read)", m->method);
        return NULL;
    }
    if (m->method == STORED ? m->size != m->packed : m->size / RATIO_MAX > m->packed) {
        damaged(e, "a size does not fit");
        return NULL;
    }
    if (memory_check(m->size, "what is unpacked", e) < 0)
        return NULL;
    AUTO_FREE uint8_t *out = mem_try_array(m->size + 1, 1);
    if (!out) {
        err_set(e, ERR_LIMIT, "no memory for %llu bytes", (unsigned long long)m->size);
        return NULL;
    }
    if (m->method == DEFLATED ? inflate_into(m->bytes, m->packed, out, m->size) < 0
                              : !memcpy(out, m->bytes, m->size)) {
        damaged(e, "its packed bytes make no sense");
        return NULL;
    }
    if (deflate_sum(out, m->size) != m->crc) {
        damaged(e, "the sum of its bytes is another");
        return NULL;
    }
    return STEAL(out);
}

static void put(buf *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_char(out, (char)(value >> 8 * i));
}

// The fields that the local and the central header share. Sizes are always in the zip64 field, as
// NumPy writes them.
static void put_common(buf *out, int method, uint32_t crc, size_t name)
{
    enum { YEAR_1980 = 1 << 5 | 1 };
    put(out, VERSION64, 2);
    put(out, 0, 2);
    put(out, (uint64_t)method, 2);
    put(out, 0, 2);
    put(out, YEAR_1980, 2);
    put(out, crc, 4);
    put(out, IN_EXTRA, 4);
    put(out, IN_EXTRA, 4);
    put(out, name, 2);
}

int zip_add(zip_writer *w, const char *name, const void *bytes, size_t n, err *e)
{
    AUTO_BUF packed = {0};
    uint64_t at = w->out->len;
    uint32_t crc = deflate_sum(bytes, n);
    size_t length = strlen(name);
    int method = w->deflate ? DEFLATED : STORED;
    if (length > UINT16_MAX)
        return err_set(e, ERR_USAGE, "a name of %zu bytes is too long for an archive", length);
    if (w->deflate && deflate_onto(&packed, bytes, n, e) < 0)
        return -1;
    size_t here = w->deflate ? packed.len : n;
    put(w->out, LOCAL, 4);
    put_common(w->out, method, crc, length);
    put(w->out, 20, 2);
    buf_add(w->out, name, length);
    put(w->out, EXTRA64, 2);
    put(w->out, 16, 2);
    put(w->out, n, 8);
    put(w->out, here, 8);
    buf_add(w->out, w->deflate ? packed.data : bytes, here);

    put(&w->directory, CENTRAL, 4);
    put(&w->directory, VERSION64, 2);
    put_common(&w->directory, method, crc, length);
    put(&w->directory, 28, 2);
    put(&w->directory, 0, 2 + 2); // comment, disk
    put(&w->directory, 0, 2 + 4); // attributes
    put(&w->directory, IN_EXTRA, 4);
    buf_add(&w->directory, name, length);
    put(&w->directory, EXTRA64, 2);
    put(&w->directory, 24, 2);
    put(&w->directory, n, 8);
    put(&w->directory, here, 8);
    put(&w->directory, at, 8);
    w->members++;
    return 0;
}

void zip_finish(zip_writer *w)
{
    uint64_t at = w->out->len, size = w->directory.len;
    buf_add(w->out, w->directory.data, w->directory.len);
    uint64_t end = w->out->len;
    put(w->out, END64, 4);
    put(w->out, END64_SIZE - 12, 8);
    put(w->out, VERSION64, 2);
    put(w->out, VERSION64, 2);
    put(w->out, 0, 8); // disks
    put(w->out, w->members, 8);
    put(w->out, w->members, 8);
    put(w->out, size, 8);
    put(w->out, at, 8);
    put(w->out, LOCATOR64, 4);
    put(w->out, 0, 4);
    put(w->out, end, 8);
    put(w->out, 1, 4);
    put(w->out, END, 4);
    put(w->out, 0, 4);
    put(w->out, 0xffff, 2);
    put(w->out, 0xffff, 2);
    put(w->out, IN_EXTRA, 4);
    put(w->out, IN_EXTRA, 4);
    put(w->out, 0, 2);
    buf_done(&w->directory);
}
