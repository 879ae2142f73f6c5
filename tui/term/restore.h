// SPDX-License-Identifier: MIT
// Gives the terminal back when the program dies. A signal handler can reach only what is global, so
// this is the one place with mutable globals: armed for one terminal of the process at a time.
#pragma once
#include <stddef.h>
#include <termios.h>

enum { RESTORE_SIZE = 512 };

// From now on SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGHUP, SIGINT and SIGQUIT write
// `bytes` to fd and set `modes`, and then do what they do by default. Whoever handles TERM or HUP
// with a loop_signal takes these over by that.
void restore_arm(int fd, const char *bytes, size_t n, const struct termios *modes);
void restore_disarm(void);
// What the handlers do, without dying.
void restore_now(void);
