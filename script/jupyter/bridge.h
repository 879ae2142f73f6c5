// SPDX-License-Identifier: MIT
// One Jupyter kernel as a child, and the translation between its sockets and lines of JSON: the
// inside of firesteel-jupyter. Lines come and go on descriptors that the caller owns.
//
//   in    {"do": "start", "argv": […], "cwd", "folder", "watched", "by_message"}  first, once; with
//         "calls": N: the kernel gets a socket as its descriptor N, for lines of JSON of its own
//         "near": N: it gets the folder as its descriptor N, and paths below /proc/self/fd: XEUS
//         keeps 32 bytes for the address of a socket
//         {"do": "send", "channel", "type", "id", "content"}   a request; with "subshell": ID:
//         to that subshell of the kernel
//         {"do": "answer", "content"}                          a line to that socket
//         {"do": "interrupt"}
//         {"do": "end"}                                        as the end of the input does
//   out   {"is": "up", "info": {…}}                            its kernel_info_reply
//         {"is": "message", "channel", "type", "parent", "content"}   parent: the request's id
//         {"is": "call", "content"}                            a line from that socket
//         {"is": "opened"}     somebody has opened FOLDER/WATCHED, where that is a file, no link
//         {"is": "unwatched"}                                  nobody can tell that here
//         {"is": "fault", "text"}                              a message that could not be read
//         {"is": "down", "text", "code", "signal"}             the last one
//
// A message's text that is long comes in several pieces; a display or an error that is larger than
// journals keep comes as a text that says so.
#pragma once
#include "base/err.h"

// Runs until the kernel has ended, which it does at the end of the input. 0, or -1 when it could
// not even be started; the reason was then told in a "down".
int bridge_run(int in, int out);
