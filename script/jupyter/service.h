// SPDX-License-Identifier: MIT
// The other side of bridge.h: we are the kernel, and Jupyter has started us. The sockets that its
// connection file asks for, and the translation between them and lines of JSON: the inside of
// `firesteel-jupyter --serve FILE`. Lines come and go on descriptors that the caller owns.
//
//   in    {"do": "send", "channel", "type", "parent", "content", "metadata"}   parent: a header
//         on shell, control and stdin "to": the `from` of the message that it answers
//   out   {"is": "up"}                                            the sockets are there
//         {"is": "message", "channel", "type", "header", "from", "content", "metadata"}
//         {"is": "fault", "text"}                                 a message that could not be read
//         {"is": "down", "text"}                                  they are not; the last one
//
// `from` is a text that only this program reads. A client that subscribes to what is shown gets an
// iopub_welcome.
#pragma once
#include "base/err.h"

// Runs until the end of the input. 0, or -1 when the sockets could not be made; the reason was then
// told in a "down".
int service_run(const char *connection, int in, int out);
