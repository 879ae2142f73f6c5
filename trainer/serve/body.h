// SPDX-License-Identifier: MIT
// Reads the body of a request of KServe's v2 REST protocol while it arrives, in pieces of any size.
// The numbers of each input's `data` become floats at once, its texts stand one after another, and
// neither becomes a tree; all else, the frame, is parsed as JSON when the body is whole. So a
// request costs what its tensors take. A body belongs to its maker; one thread at a time uses it.
//
//   {"id": "7", "inputs": [{"name": "x", "shape": [2, 2], "data": [ 1, 2, 3, 4 ]}], …}
//    └────────────────────── the frame ─────────────────────────── └── taken ──┘ ┘ ──┘
#pragma once
#include "base/json/json.h"
#include "trainer/tensor/tensor.h"

typedef struct body body;
body *body_new(void);
void body_free(body *b); // NULL is fine
// ERR_INVALID: not a valid request, and the text says where; ERR_LIMIT: not enough memory. The
// remaining bytes need not be fed then.
int body_feed(body *b, const char *bytes, size_t n, err *e);
// The body is whole.
int body_end(body *b, err *e);
// Then, without errors: the frame, borrowed.
const cJSON *body_frame(const body *b);
// Bytes of memory that it takes.
size_t body_held(const body *b);

// For an object of "inputs" in the frame. Errors are ERR_INVALID; they name the input, and the row
// if there is one (from 0).

// The name; an error when there is none.
const char *body_name(const cJSON *input, err *e);
bool body_is_text(const cJSON *input); // of datatype BYTES
// Its numbers, F32: the caller's. They fit its datatype and its shape, with rows first.
tensor *body_take_tensor(body *b, const cJSON *input, err *e);
// Its texts, each with a NUL behind it, borrowed; *n: how many, as its shape says.
const char *body_texts(const body *b, const cJSON *input, size_t *n, err *e);
