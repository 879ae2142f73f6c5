// SPDX-License-Identifier: MIT
// Keeps secrets out of journal, spools, reports and terminals. Every registered value is replaced
// by "[secret]", as it is and in all the ways that people and programs print it: in either case,
// quoted by JSON, Lua, Python, C, shells and HTML at any depth, percent-encoded, in hexadecimal
// digits, in base64 (also as a part of a longer text, in both alphabets), with lines broken
// anywhere and colours in between. The password of every URL "scheme://user:password@host" is
// replaced, too.
// A text may have been cut before it comes here, which its mark shows (base/str.h): "…", "...", or
// "[… 12 bytes left out …]" on a line of its own. The beginning of a value before such a mark, and
// its end or middle after one, are therefore hidden, too, from 6 bytes on, beside three dots from
// 12. A cut without a mark cannot be recognised: tests/lint looks for code that makes some.
// A mask owns copies of its secrets; any thread may add and apply (it locks inside).
#pragma once
#include "base/buf.h"
#include "base/json/json.h"
#include "base/json/secret.h"

#include <stdbool.h>
#include <stddef.h>

#define MASK_TEXT SECRET_TOLD
enum { MASK_MIN = 6 }; // shorter values are not registered: ordinary text would be replaced

typedef struct mask mask;

mask *mask_new(void);
void mask_free(mask *m);
// Registers a value, without trailing newlines. If it has several lines, each line of 6 bytes or
// more is registered, too.
void mask_add(mask *m, const char *secret, size_t n);
// Registers the value of a variable or a parameter: all of it if the name is a secret's
// (base/json/secret.h); otherwise the password of a URL in it.
void mask_add_named(mask *m, const char *name, const char *value);
// Registers the password of a URL, if it has one.
void mask_add_url(mask *m, const char *url);
// Registers every "NAME=VALUE".
void mask_add_env(mask *m, const char *const *env);

// Appends the text with all secrets replaced; true if there was one.
bool mask_text(mask *m, const char *text, size_t n, buf *out);
// Replaces secrets in every string of a JSON tree, also in keys; true if there was one.
bool mask_json(mask *m, cJSON *j);

// A stream in chunks. Bytes that may be the start of a secret are held back until more bytes decide
// (at most as many as the longest secret has in that spelling). Flush it before a prompt and at the
// end.
typedef struct mask_stream {
    mask *mask;
    buf held;      // what was output last, and what is held back
    size_t passed; // how much of `held` was output already
} mask_stream;
void mask_stream_init(mask_stream *s, mask *m);
void mask_stream_done(mask_stream *s);
void mask_stream_feed(mask_stream *s, const char *bytes, size_t n, buf *out);
void mask_stream_flush(mask_stream *s, buf *out);
