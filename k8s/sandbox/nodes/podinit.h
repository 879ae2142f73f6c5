// SPDX-License-Identifier: MIT
// The process between the sandbox's fork and a container's first instruction: `firesteel-sandbox
// --pod OPTIONS -- COMMAND…`. It sets limits, makes sure that it dies with the sandbox, lays a
// writable layer over the image's root (overlayfs in a user namespace), and becomes bubblewrap.
//
//   --parent PID      die when that process is gone
//   --overlay LOWER UPPER WORK MERGED   mounts it, before COMMAND (bwrap --bind MERGED / …) starts
//   --data BYTES      RLIMIT_DATA: what a process may allocate
//   --cpus LIST       CPU numbers it may run on, "0,3"
//   --guard           stay as a subreaper and kill every descendant when the command or the sandbox
//                     ends: for machines where there is no pid namespace
#pragma once
#include "base/err.h"

// argv: the arguments after `--pod`, NULL-terminated. It does not return on success. On an error
// the program prints "firesteel-pod: TEXT" to descriptor 2 and exits with PODINIT_FAILED.
enum { PODINIT_FAILED = 125 };
int podinit_run(char **argv, err *e);
