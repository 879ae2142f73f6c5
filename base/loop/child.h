// SPDX-License-Identifier: MIT
// Child processes, each in a session and process group of its own, with their output as events. No
// shell is involved. The caller owns a child; child_free kills its group if it still runs.
// base/os/spawn.h says what a child inherits. A child is killed when the loop's thread ends.
#pragma once
#include "base/loop/loop.h"

#include <stddef.h>

typedef struct child child;
struct child_ops {
    // Output of descriptor 1 or 2 (or `extra_fd`), in the pieces in which it was read.
    void (*output)(void *arg, int fd, const char *bytes, size_t n);
    // Called once, after the child was reaped and all its output was delivered. Output that a
    // surviving grandchild holds open is waited for at most 200 ms. code is the exit code, or -1 if
    // a signal ended the child; then signal is its number.
    void (*exited)(void *arg, int code, int signal);
};
struct child_spec {
    const char *const *argv; // argv[0] is looked up in PATH of `env`
    const char *const *env;  // NULL: this process's
    const char *cwd;         // NULL: this process's
    const void *input;       // the child reads this from descriptor 0, then end of file
    size_t input_n;          // 0: /dev/null, unless keep_stdin
    bool keep_stdin;         // descriptor 0 is a pipe for child_write
    bool merge_output;       // descriptor 2 is a copy of 1, which keeps both in order
    int extra_fd;            // the child can write to a third pipe under this number; 0: none
    int output_file;         // descriptors 1 and 2 go to this open descriptor instead; 0: no
};
// Errors: ERR_NOT_FOUND naming the program when it is not in PATH.
child *child_spawn(
    loop *l, const struct child_spec *spec, const struct child_ops *ops, void *arg, err *e);
int child_pid(const child *c);
void child_write(child *c, const void *bytes, size_t n);
void child_close_stdin(child *c);
void child_kill(child *c, int signum); // the whole group; no error if it has ended
// NULL is fine; no callback comes after it. We give up after a second on a child that we may not
// kill (one that runs as another user).
void child_free(child *c);
