// SPDX-License-Identifier: MIT
// A client's bytes, cut into lines, parsed, and checked against message.def. The lines are the same
// however the bytes are cut.
#include "script/protocol/frame.h"
#include "script/protocol/message.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static int on_line(void *arg, const char *text, size_t n, err *e)
{
    buf *all = arg;
    buf_fmt(all, "%zu:", n);
    buf_add(all, text, n);
    AUTO_JSON *message = json_parse(text, n, NULL);
    if (message && message_check(message, NULL) == 0 && message_type_of(message) == MESSAGE_NONE)
        abort();
    return 0;
}

static void feed(const uint8_t *data, size_t n, size_t piece, buf *all)
{
    frame_reader r = {0};
    err e = {0};
    for (size_t at = 0; at < n; at += piece)
        frame_reader_feed(
            &r, (const char *)data + at, n - at < piece ? n - at : piece, on_line, all, &e);
    frame_reader_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_BUF whole = {0}, cut = {0};
    feed(data, n, n ? n : 1, &whole);
    feed(data, n, n % 7 + 1, &cut);
    if (whole.len != cut.len || (whole.len && memcmp(whole.data, cut.data, whole.len) != 0))
        abort();
    return 0;
}
