// SPDX-License-Identifier: MIT
// Keyboards, pastes and what terminals report: the events are the same however the bytes are cut,
// but for Esc before a letter that is there twice, and whatever came before, Esc and Ctrl-C get
// through once the line is silent.
#include "tui/term/input.h"

#include "base/buf.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static void note(const struct term_event *ev, buf *out)
{
    buf_fmt(out, "%d %x %d %d,%d %d%u ", ev->kind, ev->key, (int)ev->mouse.kind, ev->mouse.x,
        ev->mouse.y, ev->on, ev->mode);
    if (ev->kind == EVENT_PASTE)
        buf_add(out, ev->text, ev->n);
    if (ev->kind == EVENT_KEY && !ev->key)
        abort();
    if (ev->kind == EVENT_MOUSE && (ev->mouse.x < 0 || ev->mouse.y < 0))
        abort();
    buf_char(out, '\n');
}

static void events(const char *bytes, size_t n, size_t chunk, buf *out)
{
    input *in = input_new();
    input_add_key(in, "\x1b[11^", FK_F1 | KEY_CTRL);
    for (size_t i = 0; i < n; i += chunk) {
        input_feed(in, bytes + i, n - i < chunk ? n - i : chunk);
        for (struct term_event ev; (ev = input_next(in, false)).kind != EVENT_NONE;)
            note(&ev, out);
    }
    input_free(in);
}

// "Esc d d" in one packet was typed; in pieces it is Alt-d and d.
static bool has_typed_twice(const char *bytes, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++)
        if (bytes[i] == '\x1b' && bytes[i + 1] == bytes[i + 2] && bytes[i + 1] != '\x1b' &&
            !((unsigned char)bytes[i + 1] & 0x80))
            return true;
    return false;
}

// Silence after each piece, and then somebody presses Ctrl-C.
static void silence(const char *bytes, size_t n)
{
    input *in = input_new();
    struct term_event ev = {0}, last = {0};
    for (size_t i = 0; i < n; i += 7) {
        input_feed(in, bytes + i, n - i < 7 ? n - i : 7);
        while (input_next(in, true).kind != EVENT_NONE)
            continue;
    }
    input_feed(in, "\x03", 1);
    for (int wait = 0; wait >= 0; wait = input_wait_ms(in, 25))
        while ((ev = input_next(in, true)).kind != EVENT_NONE)
            last = ev;
    if (last.kind != EVENT_KEY || (last.key & ~(key)(KEY_ALT | KEY_ESCAPED)) != ('c' | KEY_CTRL))
        abort();
    input_free(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *bytes = (const char *)data;
    AUTO_BUF whole = {0}, pieces = {0};
    events(bytes, n, n ? n : 1, &whole);
    events(bytes, n, 1, &pieces);
    if (!has_typed_twice(bytes, n) && !str_eq(buf_cstr(&whole), buf_cstr(&pieces)))
        abort();
    silence(bytes, n);
    return 0;
}
