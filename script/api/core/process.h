// SPDX-License-Identifier: MIT
// Runs a child process for a binding. Its output goes to the cell at once and is kept for the
// result; an interrupt ends it. Blocks the Lua thread; the caller owns the result.
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
    bool quiet; // keep its output, but do not show it
    bool data;  // keep up to KEPT_DATA of its output, else up to KEPT_LOG
    // Gets the output of descriptor 1 or 2 instead of the cell, on the loop's thread; may be NULL.
    void (*output)(void *arg, int fd, const char *bytes, size_t n);
    unsigned grace_ms; // between the signals of an interrupt; 0: a second
    int64_t within;    // ns: it is ended after so long, and not by an interrupt; 0: no
    // Called on the caller's own thread after each `every` ns; false: the process is ended, as by
    // an interrupt, and process_run returns 0. May be NULL.
    bool (*meanwhile)(void *arg);
    int64_t every;
    int extra_fd;
    // Gets the bytes written to extra_fd, on the loop's thread; may be NULL.
    void (*extra)(void *arg, const char *bytes, size_t n);
    void *arg;
};
struct process_result {
    int code;   // exit code, -1 when a signal ended it
    int signal; // 0: none
    buf output; // stdout and stderr in the order they came; the middle of more than was to be kept
                // is left out
    uint64_t left_out; // bytes of it
};

// Returns 0 when the process has ended by itself, with any exit code. Errors: ERR_NOT_FOUND naming
// the program; ERR_CANCELLED after an interrupt (ERR_TIMEOUT: after `within`), which sends SIGINT,
// SIGTERM and SIGKILL, one second (or the grace) apart. A process that even this cannot end, such
// as a set-user-ID program, is left to the guard.
int process_run(call *c, const struct process_spec *spec, struct process_result *result, err *e);

// Adds {name: sha256} to `files` for the names in a JSON array (NULL: none); null for missing
// files, and for those that an interrupt has left out. Relative names are below the folder `at`.
void process_hash_files(call *c, cJSON *files, const char *at, const cJSON *names);
// Records those that have a digest as inputs of the cell. Their names are below a folder; NULL: as
// they are.
void process_record_inputs(call *c, const char *below, const cJSON *files);
// Records the program that does the cell's work, by its size and date.
void process_record_program(call *c, const char *path);
// Verifies the record of a program that has run: did it end well, with its files, which are below
// the folder `at`, as they are now? Then shows its output again, unless quiet.
int process_verify(call *c, const char *at, const cJSON *recorded, bool quiet);
