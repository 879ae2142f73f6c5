// SPDX-License-Identifier: MIT
// Questions to people, which any client may answer. A question stays until it is answered or
// withdrawn. A client that attaches later finds it in the journal and can answer.
// Other threads call asks_person, which waits. All other functions belong to the loop's thread.
#pragma once
#include "script/kernel/port/port.h"

#include <stdbool.h>
#include <stdint.h>

// A question: a plain value that borrows everything it points to.
struct question {
    const char *text;
    const char *const *choices; // the possible answers, NULL-terminated; NULL: any text
    const cJSON *effect;        // the effect to be allowed; NULL: none
    const char *cell;           // the cell that asks; NULL: none
    bool secret;                // the answer is a password
};

typedef struct asks asks;
// changed(arg) is called on the loop's thread when a question was asked or has ended. people false:
// nobody can be asked, as in a headless run.
asks *asks_new(loop *l, port *p, bool people, void (*changed)(void *arg), void *arg);
void asks_free(asks *a);
bool asks_open_now(const asks *a); // does any question wait?
// Asks, and calls fn once: with the answer, or with NULL if the question was withdrawn. Returns the
// question's number.
int64_t asks_ask(
    asks *a, const struct question *q, void (*fn)(void *arg, const char *answer), void *arg);
void asks_take_back(asks *a, int64_t number);
// Gives a client's answer. ERR_NOT_FOUND when no question with this number waits.
int asks_answer(asks *a, int64_t number, const char *value, err *e);
// Nobody there can be asked: what asked fails, with ERR_REFUSED and these words.
int asks_refuse(asks *a, int64_t number, const char *why, err *e);
// From another thread: asks a person and waits. The answer is new. NULL: ERR_CANCELLED, or
// ERR_REFUSED if nobody can be asked.
char *asks_person(asks *a, canceller *waits, const struct question *q, err *e);
