// SPDX-License-Identifier: MIT
// What a kernel of Jupyter is asked besides its cells: a request and its reply. Between cells the
// kernel itself answers. While one runs, a subshell does (JEP 91), in kernels that have them;
// nobody waits for a kernel to start.
#pragma once
#include "script/api/python/session.h"

// On the call's thread: asks, and waits for a->reply, which the caller frees. What was not sent of
// the requests is freed. Errors: ERR_NOT_FOUND: no cell has started the kernel; ERR_UNAVAILABLE: it
// starts, or it is at a cell and has no subshells; ERR_TIMEOUT.
int asked_ask(call *c, struct asked *a, err *e);

// On the loop's thread: takes a message, if it is one of ours.
bool asked_take(struct session *s, const cJSON *line);
// The kernel has ended.
void asked_lost(struct session *s);
