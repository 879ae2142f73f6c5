// SPDX-License-Identifier: MIT
#include "script/api/core/kept.h"

#include "base/str.h"

#include <string.h>

static size_t half_of(const struct kept *k)
{
    return (k->most ? k->most : KEPT_LOG) / 2;
}

void kept_add(struct kept *k, const char *bytes, size_t n)
{
    size_t half = half_of(k);
    size_t room = k->head.len < half ? half - k->head.len : 0;
    size_t first = n < room ? n : room;
    buf_add(&k->head, bytes, first);
    for (bytes += first, n -= first; n > 0;) {
        if (k->tail.len < half) {
            size_t part = n < half - k->tail.len ? n : half - k->tail.len;
            buf_add(&k->tail, bytes, part);
            bytes += part;
            n -= part;
            continue;
        }
        size_t part = n < half - k->at ? n : half - k->at;
        memcpy(k->tail.data + k->at, bytes, part);
        k->at = (k->at + part) % half;
        k->left_out += part;
        bytes += part;
        n -= part;
    }
}

uint64_t kept_take(struct kept *k, buf *out)
{
    uint64_t left_out = k->left_out;
    AUTO_BUF all = {0};
    buf_add(&all, k->head.data, k->head.len);
    if (k->left_out > 0)
        buf_fmt(&all, "\n[… %llu bytes left out …]\n", (unsigned long long)k->left_out);
    if (k->tail.len > 0) {
        buf_add(&all, k->tail.data + k->at, k->tail.len - k->at);
        buf_add(&all, k->tail.data, k->at);
    }
    buf_done(&k->head);
    buf_done(&k->tail);
    *k = (struct kept){.most = k->most};
    for (size_t i = 0; i < all.len; i++)
        if (all.data[i] == '\0')
            all.data[i] = ' '; // our JSON strings cannot have NULs
    utf8_clean(out, buf_cstr(&all), all.len);
    return left_out;
}
