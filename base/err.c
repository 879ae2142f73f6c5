// SPDX-License-Identifier: MIT
#include "base/err.h"

#include "base/limits.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int exit_code;
} codes[] = {
#define X(name, text, exit) {text, exit},
    ERR_CODES(X)
#undef X
};

// Every error's text is made here, so every one is UTF-8 whatever its arguments hold: file names
// are bytes, servers send anything. A long text ends with STR_CUT.
int err_vset(err *e, err_code code, const char *fmt, va_list args)
{
    enum { WHOLE = sizeof e->text - 1, MOST = WHOLE - (sizeof STR_CUT - 1) };
    if (e) {
        char text[sizeof e->text + sizeof STR_CUT]; // the arguments may point into e->text
        int n = vsnprintf(text, sizeof text, fmt, args);
        str_shorten(e->text, text, strlen(text), n >= (int)sizeof text, MOST, WHOLE);
        e->code = code;
    }
    return -1;
}

int err_set(err *e, err_code code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    err_vset(e, code, fmt, args);
    va_end(args);
    return -1;
}

static err_code code_of_errno(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return ERR_NOT_FOUND;
    case EEXIST:
        return ERR_EXISTS;
    case ENOSPC:
    case EDQUOT:
        return ERR_NO_SPACE;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_FORBIDDEN;
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ETIMEDOUT:
        return ERR_UNAVAILABLE;
    default:
        return ERR_IO;
    }
}

// Describes the limit that caused an error of the system; "" if no limit did.
static void limit_of(int number, bool starts, char out[LIMITS_WORDS])
{
    out[0] = '\0';
    if (starts && number == EAGAIN)
        limits_threads(out);
    else if (number == EMFILE)
        limits_files(out);
    else if (number == ENOMEM)
        limits_memory(out, 0);
}

static int set_errno(err *e, int number, bool starts, const char *fmt, va_list args)
{
    char what[sizeof e->text], reason[128], limit[LIMITS_WORDS];
    vsnprintf(what, sizeof what, fmt, args);
    limit_of(number, starts, limit);
    return err_set(e, code_of_errno(number), "%s: %s%s%s%s", what,
        strerror_r(number, reason, sizeof reason), *limit ? " (" : "", limit, *limit ? ")" : "");
}

int err_errno(err *e, int number, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_errno(e, number, false, fmt, args);
    va_end(args);
    return -1;
}

int err_start(err *e, int number, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_errno(e, number, true, fmt, args);
    va_end(args);
    return -1;
}

int err_give(err *e, const err *from)
{
    if (from->code && e)
        *e = *from;
    return from->code ? -1 : 0;
}

void err_clear(err *e)
{
    if (e)
        *e = (err){0};
}

int err_wrap(err *e, const char *fmt, ...)
{
    if (!e)
        return -1;
    char what[sizeof e->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return err_set(e, e->code, "%s: %s", what, e->text);
}

const char *err_name(err_code code)
{
    return codes[code].name;
}

int err_exit_code(err_code code)
{
    return codes[code].exit_code;
}
