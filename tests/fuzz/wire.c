// SPDX-License-Identifier: MIT
// Frames of Jupyter: lines of the input are the four that are signed. Rightly signed they are a
// message or an error, with another signature always an error, and nothing is left of it.
#include "script/jupyter/wire.h"

#include "base/data/digest.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 4 };

static const wire w = {.key = "a key", .session = "s"};

// The lines; what is left of the input is the last one.
static void cut(const char *text, size_t n, struct wire_frame parts[PARTS])
{
    for (size_t i = 0; i < PARTS; i++) {
        const char *end = i + 1 < PARTS && n ? memchr(text, '\n', n) : NULL;
        size_t line = end ? (size_t)(end - text) : n;
        parts[i] = (struct wire_frame){text, line};
        text += line + (end != NULL);
        n -= line + (end != NULL);
    }
}

static void sign(const struct wire_frame parts[PARTS], char hex[SHA256_HEX])
{
    uint8_t mac[SHA256_SIZE];
    AUTO_BUF all = {0};
    for (size_t i = 0; i < PARTS; i++)
        buf_add(&all, parts[i].data, parts[i].n);
    hmac_sha256(w.key, strlen(w.key), buf_cstr(&all), all.len, mac);
    digest_hex(mac, hex);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char hex[SHA256_HEX];
    struct wire_message m;
    struct wire_frame frames[2 + PARTS] = {{"<IDS|MSG>", 9}, {hex, SHA256_HEX - 1}};
    cut((const char *)data, n, frames + 2);
    sign(frames + 2, hex);
    if (wire_unpack(&w, frames, 2 + PARTS, &m, NULL) == 0 && !m.content)
        abort();
    wire_done(&m);
    hex[n % (SHA256_HEX - 1)] ^= 1;
    if (wire_unpack(&w, frames, 2 + PARTS, &m, NULL) == 0 || m.header || m.content)
        abort();
    return 0;
}
