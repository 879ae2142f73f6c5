// SPDX-License-Identifier: MIT
// The error contract of the whole program: a caller-owned value, with nothing to free. Functions
// take `err *e` last and return 0 or -1, or a pointer or NULL. The caller may pass NULL for `e` if
// it does not need the reason. A function that reads what is in `e` says ERR_GUARD(e) first.
#pragma once
#include <stdarg.h>
#include <stdbool.h>

// What went wrong, for callers that handle some errors differently. People read the text.
#define ERR_CODES(X)                                                                               \
    X(NONE, "none", 0)                 /* no error */                                              \
    X(FAILED, "failed", 1)             /* it did not work, and nothing below says it better */     \
    X(USAGE, "usage", 2)               /* the caller's arguments do not fit */                     \
    X(REFUSED, "refused", 3)           /* the gate or a guard refused */                           \
    X(TIMEOUT, "timeout", 4)           /* a time-out of ours passed */                             \
    X(CANCELLED, "cancelled", 130)     /* interrupted */                                           \
    X(NOT_FOUND, "not_found", 1)       /* no such file, object, name */                            \
    X(EXISTS, "exists", 1)             /* it is there already */                                   \
    X(CONFLICT, "conflict", 1)         /* somebody else changed it */                              \
    X(INVALID, "invalid", 1)           /* input that does not parse or check */                    \
    X(CORRUPT, "corrupt", 1)           /* stored data that is damaged */                           \
    X(UNAUTHORIZED, "unauthorized", 1) /* no or wrong credentials (401) */                         \
    X(FORBIDDEN, "forbidden", 1)       /* not allowed (403) */                                     \
    X(GONE, "gone", 1)                 /* expired (410) */                                         \
    X(UNAVAILABLE, "unavailable", 1)   /* a server is away or says 5xx: try again */               \
    X(IO, "io", 1)                     /* the operating system said no */                          \
    X(NO_SPACE, "no_space", 1)         /* ENOSPC, EDQUOT */                                        \
    X(LIMIT, "limit", 1)               /* a limit of ours was reached */

typedef enum err_code {
#define X(name, text, exit) ERR_##name,
    ERR_CODES(X)
#undef X
} err_code;

typedef struct err {
    err_code code;
    char text[1000]; // UTF-8: the thing, the reason, the remedy
} err;

// Makes `e` non-NULL, so that the function can read and write it: a NULL from the caller is
// replaced by a local value. tests/lint reports each `e->` and `*e` without a guard before it.
#define ERR_GUARD(e)                                                                               \
    err guard_of_##e = {0};                                                                        \
    e = e ? e : &guard_of_##e

// Sets code and text; returns -1, so that `return err_set(e, …)` reads well.
int err_set(err *e, err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_vset(err *e, err_code code, const char *fmt, va_list args);
// "<fmt>: <strerror(number)>", with NOT_FOUND, EXISTS, NO_SPACE, FORBIDDEN or IO as the code. If a
// limit was reached (open files, memory), the text names it: base/limits.h.
int err_errno(err *e, int number, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
// The same for a thread or a process that cannot be started.
int err_start(err *e, int number, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
// Copies an error that was kept elsewhere, and returns -1. If `from` is no error, leaves e as it is
// and returns 0.
int err_give(err *e, const err *from);
void err_clear(err *e);
// Puts what was being done in front of the text: "<fmt>: <text>". Keeps the code; returns -1.
int err_wrap(err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// The code's name in lower case with underscores, "not_found".
const char *err_name(err_code code);
// The exit code of a command that ends with this error.
int err_exit_code(err_code code);
