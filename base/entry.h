// SPDX-License-Identifier: MIT
// What a program does first about what it inherits from who started it: called once by each main,
// before there are threads and before anything is opened. Nothing is owned.
#pragma once

// For programs that a person or a script starts and that stay on its terminal: 0, 1 and 2 are open
// (on /dev/null where they were closed), no signal is blocked, and children can be waited for. What
// is ignored stays so, for that is how nohup and the shell's & ask for it.
void entry_join(void);
// For programs that serve in the background (kernel, guard, sandbox): as above, but all signals are
// at their defaults; every other descriptor is closed, but `keep` (-1: none), which no child gets;
// and since such a process holds what is secret, no core dump of it is written and only root can
// look into its memory. Its children are as dumpable as any.
void entry_serve(int keep);
