// SPDX-License-Identifier: MIT
#include "base/err.h"

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

int err_vset(err *e, err_code code, const char *fmt, va_list args)
{
    if (e) {
        char text[sizeof e->text]; // the arguments may point into e->text
        vsnprintf(text, sizeof text, fmt, args);
        memcpy(e->text, text, sizeof text);
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
        return ERR_UNAVAILABLE;
    default:
        return ERR_IO;
    }
}

int err_errno(err *e, int number, const char *fmt, ...)
{
    char what[sizeof e->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    char reason[128];
    return err_set(
        e, code_of_errno(number), "%s: %s", what, strerror_r(number, reason, sizeof reason));
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
