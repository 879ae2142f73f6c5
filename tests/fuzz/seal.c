// SPDX-License-Identifier: MIT
// Sealed records as a driver reads them from an executor, or from whoever has taken its place. The
// first byte chooses how the rest is used: as it is, which nothing may open; or as a text that is
// sealed, then changed at a place that the text chooses, so that the input gets past the tags.
#include "base/data/seal.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void take_as_it_is(const uint8_t *data, size_t n)
{
    err e;
    seal s;
    buf in = {0}, out = {0};
    seal_init(&s, "secret", "salt", 4, false);
    buf_add(&in, data, n);
    seal_take(&s, &in, &out, &e);
    if (out.len)
        abort(); // nobody makes a tag without the key
    buf_done(&in);
    buf_done(&out);
}

// What arrives is the start of what was sent, whatever was changed; without a change it is all.
static void take_changed(const uint8_t *data, size_t n, bool change)
{
    err e;
    seal caller, other;
    buf in = {0}, out = {0};
    seal_init(&caller, "secret", "salt", 4, true);
    seal_init(&other, "secret", "salt", 4, false);
    for (size_t at = 0; at < n; at += 97)
        seal_put(&caller, data + at, n - at < 97 ? n - at : 97, &in);
    if (change && in.len)
        in.data[(data[0] * 251u + data[n - 1]) % in.len] ^= (char)(1 << data[n / 2] % 8);
    int result = seal_take(&other, &in, &out, &e);
    if (out.len > n || memcmp(buf_cstr(&out), data, out.len) != 0 ||
        (!change && (result || out.len != n)) || (change && n && result == 0 && out.len == n))
        abort();
    buf_done(&in);
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 1)
        return 0;
    if (data[0] % 3 == 0)
        take_as_it_is(data + 1, n - 1);
    else
        take_changed(data + 1, n - 1, data[0] % 3 == 1);
    return 0;
}
