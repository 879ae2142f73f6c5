// SPDX-License-Identifier: MIT
// Describes a limit of this process (ulimit) for an error: its name, what it limits, and its value.
// The functions allocate nothing, because the limit that was reached may be that of memory.
#pragma once
#include <stddef.h>

enum { LIMITS_WORDS = 200 };

// "the address space is limited to 976 MiB (ulimit -v), and 951 MiB are taken"; "the system has no
// more" when no limit of this process is near.
void limits_memory(char out[LIMITS_WORDS], size_t wanted);
// "the open files are limited to 64 (ulimit -n)"
void limits_files(char out[LIMITS_WORDS]);
// "processes and threads of this user are limited to 100 (ulimit -u)", or the text of
// limits_memory, since each thread needs a stack.
void limits_threads(char out[LIMITS_WORDS]);
