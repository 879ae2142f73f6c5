// SPDX-License-Identifier: MIT
// Questions to people, which any client may answer. What is asked stays until it is answered or
// taken back; so a client that attaches later sees it in the journal and can answer.
//
// asks_person is the way of other threads, which wait; the rest belongs to the loop's.
#pragma once
#include "script/kernel/port/port.h"

#include <stdbool.h>
#include <stdint.h>

// A question, as it is put: a plain value that borrows all it names.
struct question {
    const char *text;
    const char *const *choices; // ended by NULL; NULL: any text
    const cJSON *effect;        // to be allowed; NULL: it is about none
    const char *cell;           // who asks; NULL: nobody
    bool secret;                // a password
};

typedef struct asks asks;
// changed(arg), on the loop's thread: a question was asked, or is over. Without `people` there is
// nobody to ask: a headless run.
asks *asks_new(loop *l, port *p, bool people, void (*changed)(void *arg), void *arg);
void asks_free(asks *a);
bool asks_open_now(const asks *a); // does a question wait?
// Asks, and calls fn once: with the answer, or with NULL when the question is taken back. Returns
// its number.
int64_t asks_ask(
    asks *a, const struct question *q, void (*fn)(void *arg, const char *answer), void *arg);
void asks_take_back(asks *a, int64_t number);
// A client's answer. ERR_NOT_FOUND when nothing waits under this number.
int asks_answer(asks *a, int64_t number, const char *value, err *e);
// From another thread: asks a person and waits. The answer is new; NULL: ERR_CANCELLED, or
// ERR_REFUSED when there is nobody.
char *asks_person(asks *a, canceller *waits, const struct question *q, err *e);
