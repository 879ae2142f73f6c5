// SPDX-License-Identifier: MIT
// How every child process of every program is started. The child gets what its spec names and
// nothing else, whatever this process has opened or inherited. The caller owns the process and
// reaps it.
//
//   descriptors   those of `fds`; 0, 1 and 2 are /dev/null where they are not named
//   signals       all at their defaults, none blocked
//   environment   as given
//   left as is    umask, limits, user, working folder unless `cwd` names one
//
// So the child never sees a client's socket, or a lock that the user's shell holds on descriptor 9,
// and it does not ignore an interrupt only because a script's & made its starter ignore it.
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

struct spawn_fd {
    int from; // the number here
    int to;   // the number in the child; `from` and `to` of several may overlap
};
enum { SPAWN_FDS_MAX = 16 };

enum spawn_place {
    SPAWN_SESSION, // a session and process group of its own, without a terminal
    SPAWN_GROUP,   // another process group in this session
    SPAWN_HERE,    // in this process group, on this terminal: for programs that a person uses
};

struct spawn_spec {
    const char *const *argv; // argv[0] without a slash is looked up in PATH of the child's `env`
    const char *const *env;  // NULL: this process's environment
    const char *cwd;         // NULL: this process's working folder
    const struct spawn_fd *fds;
    size_t fd_n; // at most SPAWN_FDS_MAX
    enum spawn_place place;
    pid_t group; // with SPAWN_GROUP: an existing one to join; 0: a new one
    // Sent to the child when the thread that started it ends; 0: it may outlive us.
    int death_signal;
};

// Returns when the program runs, or when it could not be started; then no process is left. Errors
// name the program; ERR_NOT_FOUND: there is no such program.
int spawn(const struct spawn_spec *spec, pid_t *pid, err *e);
