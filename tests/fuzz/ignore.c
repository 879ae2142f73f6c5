// SPDX-License-Identifier: MIT
// Which files stay out of an image: the patterns are the text up to the last line, which is a path.
// With the path itself as the last pattern it stays out, if no character of it means something.
#include "k8s/image/ignore.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static bool ignored(const char *text, const char *path)
{
    char **patterns = ignore_parse(text, NULL);
    bool matches =
        !patterns || ignore_matches((const char *const *)patterns, path); // none: refused
    for (char **p = patterns; p && *p; p++)
        free(*p);
    free(patterns);
    return matches;
}

static bool plain(const char *path)
{
    return *path && !strpbrk(path, "*?[]!\\#/. \t\r\v\f\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO_FREE char *text = mem_strndup((const char *)data, n);
    AUTO_FREE char *whole = mem_strdup(text);
    char *path = strrchr(text, '\n');
    if (!path)
        return 0;
    *path++ = '\0';
    ignored(text, path);
    if (plain(path) && !ignored(whole, path))
        abort();
    return 0;
}
