// SPDX-License-Identifier: MIT
// Runs a child process for a binding: its output goes to the cell as it comes and is kept for the
// result, an interrupt ends it. Blocks the Lua thread; the caller owns the result.
#pragma once
#include "base/buf.h"
#include "script/kernel/effects/binding.h"

#include <stdbool.h>

struct process_spec {
    const char *const *argv;
    const char *const *env;
    const char *cwd; // NULL: the working folder
    const char *input;
    size_t input_n;
    bool quiet; // its output is kept, not shown
    int extra_fd;
    // Bytes it wrote to extra_fd, on the loop's thread; may be NULL.
    void (*extra)(void *arg, const char *bytes, size_t n);
    void *arg;
};
struct process_result {
    int code;   // exit code, -1 when a signal ended it
    int signal; // 0: none
    buf output; // stdout and stderr in the order they came; the middle of more than 1 MiB is left
                // out
};

// Returns 0 when it ran to its end, however that was. Errors: ERR_NOT_FOUND naming the program;
// ERR_CANCELLED, after it was ended: asked to (SIGINT), told to (SIGTERM), killed, a second apart
// each. What not even that ends, as a set-user-ID program, is left to the guard.
int process_run(call *c, const struct process_spec *spec, struct process_result *result, err *e);

// Adds {name: sha256} to `files` for the names in a JSON array (NULL: none), null for those that
// are not there. `at` is the folder of relative names.
void process_hash_files(cJSON *files, const char *at, const cJSON *names);
// Are they all there, and as `recorded` says? One that was not there then is never the same.
bool process_files_same(const char *at, const cJSON *recorded);
