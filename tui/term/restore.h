// SPDX-License-Identifier: MIT
// Gives the terminal back when the program dies. A signal handler can reach only globals, so this
// is the only file with mutable globals: it is armed for one terminal at a time.
#pragma once
#include <stddef.h>
#include <termios.h>

enum { RESTORE_SIZE = 512 };

// From now on SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGHUP, SIGINT and SIGQUIT write
// `bytes` to fd and set `modes`, and then have their default effect. A loop_signal for TERM or HUP
// replaces this.
void restore_arm(int fd, const char *bytes, size_t n, const struct termios *modes);
void restore_disarm(void);
// Does what the handlers do, but does not end the program.
void restore_now(void);
