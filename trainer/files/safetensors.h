// SPDX-License-Identifier: MIT
// The safetensors container: named tensors and text metadata in one run of bytes. Reading checks
// everything first and then borrows the bytes; writing appends to a buf.
// https://huggingface.co/docs/safetensors: the format, and what readers must refuse.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "trainer/tensor/tensor.h"

typedef struct safetensors {
    cJSON *header;
    const char *data; // after the header
    size_t n;
} safetensors;

// Do the bytes begin like the container, which may be damaged otherwise? A length can look like the
// first bytes of other formats.
bool safetensors_begins(const void *bytes, size_t n);
// Opens the container. ERR_CORRUPT: the text says what is wrong: lengths, JSON, dtypes, shapes,
// offsets that overlap or leave holes.
int safetensors_open(safetensors *s, const void *bytes, size_t n, err *e);
void safetensors_done(safetensors *s);
// A text of __metadata__, borrowed; NULL when it is missing.
const char *safetensors_text(const safetensors *s, const char *key);
bool safetensors_has(const safetensors *s, const char *name);
// The name of the i-th tensor, as the file lists them, borrowed; NULL after the last.
const char *safetensors_name(const safetensors *s, size_t i);
// A copy of a tensor. F64, F16, BF16 and F8 become F32; BOOL becomes U8, U16, U32, U64 and I8
// become I64. ERR_CORRUPT when it is missing.
tensor *safetensors_get(const safetensors *s, const char *name, err *e);

// For writing: add everything, then finish.
typedef struct safetensors_writer {
    cJSON *header;
    buf data;
} safetensors_writer;

void safetensors_begin(safetensors_writer *w);
void safetensors_add_text(safetensors_writer *w, const char *key, const char *text);
// As the tensor's own dtype; bytes with a scale become F32.
void safetensors_add(safetensors_writer *w, const char *name, const tensor *t);
// Appends the container to out and frees the writer.
void safetensors_finish(safetensors_writer *w, buf *out);
