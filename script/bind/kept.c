// SPDX-License-Identifier: MIT
#include "script/bind/kept.h"

#include "base/str.h"

#include <string.h>

enum { HALF = 512 << 10 };

void kept_add(struct kept *k, const char *bytes, size_t n)
{
    size_t room = k->head.len < HALF ? HALF - k->head.len : 0;
    size_t first = n < room ? n : room;
    buf_add(&k->head, bytes, first);
    for (bytes += first, n -= first; n > 0;) {
        if (k->tail.len < HALF) {
            size_t part = n < HALF - k->tail.len ? n : HALF - k->tail.len;
            buf_add(&k->tail, bytes, part);
            bytes += part;
            n -= part;
            continue;
        }
        size_t part = n < HALF - k->at ? n : HALF - k->at;
        memcpy(k->tail.data + k->at, bytes, part);
        k->at = (k->at + part) % HALF;
        k->left_out += part;
        bytes += part;
        n -= part;
    }
}

void kept_take(struct kept *k, buf *out)
{
    AUTO_BUF all = {0};
    buf_add(&all, k->head.data, k->head.len);
    if (k->left_out > 0)
        buf_fmt(&all, "\n[… %llu bytes left out …]\n", (unsigned long long)k->left_out);
    if (k->tail.len > 0) {
        buf_add(&all, k->tail.data + k->at, k->tail.len - k->at);
        buf_add(&all, k->tail.data, k->at);
    }
    for (size_t i = 0; i < all.len; i++)
        if (all.data[i] == '\0')
            all.data[i] = ' '; // our JSON strings cannot have NULs
    utf8_clean(out, buf_cstr(&all), all.len);
    buf_done(&k->head);
    buf_done(&k->tail);
    *k = (struct kept){0};
}
