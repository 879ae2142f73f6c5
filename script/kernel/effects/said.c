// SPDX-License-Identifier: MIT
#include "script/kernel/effects/said.h"

#include "base/buf.h"
#include "base/data/digest.h"
#include "base/str.h"

#include <string.h>

// A cut text is a little longer than its halves; it must not be cut again.
enum { HALF = 512 << 10, NOTE_MOST = 256 };

const char *const said_output[] = {"output", NULL};

static void tell_left_out(cJSON *result, const char *name, uint64_t bytes)
{
    if (bytes > 0)
        json_set_int(json_object_at(result, "left_out"), name, (int64_t)bytes);
}

void call_said(cJSON *result, const char *name, const char *text, uint64_t left_out)
{
    json_set_str(result, name, text);
    tell_left_out(result, name, left_out);
}

static void shorten(cJSON *result, const char *name, const char *text, size_t n)
{
    char digits[SHA256_SHORT];
    size_t first = HALF - utf8_partial(text, HALF), last = n - HALF;
    while (last < n && ((unsigned char)text[last] & 0xC0) == 0x80)
        last++;
    uint64_t before = (uint64_t)json_int_or(json_get(result, "left_out"), name, 0);
    uint64_t left_out = before + (last - first);
    sha256_short(text + first, last - first, digits); // compares the result of a repeated command
    AUTO_BUF cut = {0};
    buf_add(&cut, text, first);
    buf_fmt(&cut, "\n[… %llu bytes left out, SHA-256 %s…]\n", (unsigned long long)left_out, digits);
    buf_add(&cut, text + last, n - last);
    call_said(result, name, buf_cstr(&cut), left_out);
}

void said_shorten(cJSON *result, const char *const *names)
{
    for (; names && *names; names++) {
        const char *text = json_str(result, *names);
        size_t n = text ? strlen(text) : 0;
        if (n > 2 * HALF + NOTE_MOST)
            shorten(result, *names, text, n);
    }
}
