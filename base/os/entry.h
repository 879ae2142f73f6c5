// SPDX-License-Identifier: MIT
// What main does first about the descriptors and signals that its process inherits. Each main calls
// one of these once, before it starts threads or opens anything. Nothing is owned.
#pragma once

// For programs that a person or a script starts and that stay on its terminal. It opens 0, 1 and 2
// on /dev/null where they are closed, unblocks all signals, and makes sure that children can be
// waited for. Ignored signals stay ignored: nohup and the shell's & rely on that.
void entry_join(void);
// For programs that serve in the background (kernel, guard, sandbox). As above, and all signals get
// their defaults. It closes every other descriptor except `keep` (-1: none), which it makes
// close-on-exec. Such a process holds secrets, so it leaves no core dump, and only root can look
// into its memory. Its children can dump core as usual.
void entry_serve(int keep);
