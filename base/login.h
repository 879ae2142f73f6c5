// SPDX-License-Identifier: MIT
// Do processes end when the person who started them logs out? systemd's logind may do that. A plain
// function on files; nothing is owned.
#pragma once
#include "base/buf.h"

enum login_end {
    LOGIN_NO_SYSTEMD, // nothing ends with a login
    LOGIN_LEAVES,     // logind leaves processes alone
    LOGIN_LINGERS,    // the user's own manager outlives the login, and we are below it
    LOGIN_KILLS,      // what belongs to the session is killed at its end (KillUserProcesses)
    LOGIN_LAST,       // we are below the user's own manager, which ends with the last login
};

// root: "" for this machine's files. cgroup: the text of /proc/self/cgroup. user: the name, NULL:
// it has none. remedy gets what to do, where processes end.
// Sources: logind.conf(5), loginctl(1) enable-linger, systemd-run(1).
enum login_end login_end_of(const char *root, const char *cgroup, const char *user, buf *remedy);
// The same for this process.
enum login_end login_end_here(buf *remedy);
// Why processes end, for people; NULL: they do not.
const char *login_end_reason(enum login_end end);
