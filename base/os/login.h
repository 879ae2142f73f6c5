// SPDX-License-Identifier: MIT
// Tells whether processes end when the user who started them logs out, which systemd's logind may
// see to. A plain function on files; nothing is owned.
#pragma once
#include "base/buf.h"

enum login_end {
    LOGIN_NO_SYSTEMD, // no systemd: logging out ends nothing
    LOGIN_LEAVES,     // logind leaves processes alone
    LOGIN_LINGERS,    // our process belongs to the user's own manager, which lingers after logout
    LOGIN_KILLS,      // logind kills the session's processes at its end (KillUserProcesses)
    LOGIN_LAST,       // our process belongs to the user's own manager, which ends with the last
                      // session
};

// root: "" for this machine's files. cgroup: the text of /proc/self/cgroup. user: the login name,
// or NULL. If processes end, appends to `remedy` what the user can do. Sources: logind.conf(5),
// loginctl(1) enable-linger, systemd-run(1).
enum login_end login_end_of(const char *root, const char *cgroup, const char *user, buf *remedy);
// The same for this process.
enum login_end login_end_here(buf *remedy);
// Why processes end, for people; NULL: they do not.
const char *login_end_reason(enum login_end end);
