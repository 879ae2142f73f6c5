// SPDX-License-Identifier: MIT
// A secret on the first line, a text below it: the masked text does not contain the secret, and is
// the same in one piece and in many.
#include "script/journal/mask/mask.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void feed(mask *m, const char *text, size_t n, size_t piece, buf *out)
{
    mask_stream s;
    mask_stream_init(&s, m);
    for (size_t at = 0; at < n; at += piece)
        mask_stream_feed(&s, text + at, n - at < piece ? n - at : piece, out);
    mask_stream_flush(&s, out);
    mask_stream_done(&s);
}

static bool same(const buf *a, const buf *b)
{
    return a->len == b->len && (!a->len || memcmp(a->data, b->data, a->len) == 0);
}

static void check(mask *m, const char *secret, size_t secret_n, const char *text, size_t n)
{
    AUTO_BUF whole = {0}, pieces = {0}, stream = {0};
    bool hidden = mask_text(m, text, n, &whole);
    feed(m, text, n, n ? n : 1, &stream);
    feed(m, text, n, n % 7 + 1, &pieces);
    if (!same(&whole, &stream) || !same(&whole, &pieces))
        abort();
    if (!hidden && (whole.len != n || (n && memcmp(whole.data, text, n) != 0)))
        abort();
    bool in_mark = memmem(MASK_TEXT, strlen(MASK_TEXT), secret, secret_n) != NULL;
    if (secret_n >= MASK_MIN && !in_mark && whole.len && memmem(text, n, secret, secret_n) &&
        !hidden)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data, *line = n ? memchr(text, '\n', n) : NULL;
    if (!line)
        return 0;
    size_t secret_n = (size_t)(line - text);
    AUTO_FREE char *named = mem_strndup(text, secret_n);
    mask *m = mask_new();
    mask_add(m, text, secret_n);
    mask_add_url(m, named);
    check(m, text, secret_n, line + 1, n - secret_n - 1);
    AUTO_JSON *tree = json_parse(line + 1, n - secret_n - 1, NULL);
    if (tree)
        mask_json(m, tree);
    mask_free(m);
    return 0;
}
