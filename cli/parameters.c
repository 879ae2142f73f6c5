// SPDX-License-Identifier: MIT
#include "cli/parameters.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#include <string.h>

enum { VALUE_LIMIT = 1 << 20 };

// The file in "NAME@FILE"; NULL: there is none. A name cannot contain "@", so this is unambiguous.
static const char *file_of(const char *given)
{
    static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    size_t n = strspn(given, name);
    return n > 0 && given[n] == '@' ? given + n + 1 : NULL;
}

static int read_value(char **given, const char *file, err *e)
{
    AUTO_BUF text = {0};
    const char *path = str_eq(file, "-") ? "/dev/stdin" : file;
    int name = (int)(file - *given - 1);
    if (path_read(path, &text, VALUE_LIMIT, e) < 0) {
        e->code = ERR_USAGE;
        return err_wrap(e, "-p %.*s", name, *given);
    }
    while (text.len > 0 && strchr("\r\n", text.data[text.len - 1]))
        text.len--;
    if (text.len > 0 && memchr(text.data, '\0', text.len))
        return err_set(e, ERR_USAGE, "-p %.*s: %s is not a text", name, *given, path);
    char *whole = str_fmt("%.*s=%.*s", name, *given, (int)text.len, buf_cstr(&text));
    explicit_bzero(text.data, text.len);
    free(*given);
    *given = whole;
    return 0;
}

int parameters_read(char **list, err *e)
{
    for (; list && *list; list++) {
        const char *file = file_of(*list);
        if (file && read_value(list, file, e) < 0)
            return -1;
    }
    return 0;
}
