// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/net/http.h"

#include <ctype.h>
#include <string.h>

void url_escape(buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (isalnum((unsigned char)*c) || strchr("-._~", *c))
            buf_char(out, *c);
        else
            buf_fmt(out, "%%%02X", (unsigned char)*c);
    }
}

char *url_host(const char *url)
{
    const char *start = strstr(url, "://");
    if (!start)
        return mem_strdup("");
    start += 3;
    size_t n = strcspn(start, "/?#");
    const char *at = memrchr(start, '@', n); // never shown: a password may precede it
    if (at) {
        n -= (size_t)(at + 1 - start);
        start = at + 1;
    }
    const char *colon = *start == '[' ? NULL : memchr(start, ':', n);
    if (colon && strspn(colon + 1, "0123456789") < (size_t)(start + n - colon - 1))
        return str_fmt("%.*s" STR_CUT, (int)(colon + 1 - start), start); // part of a password
    return mem_strndup(start, n);
}
