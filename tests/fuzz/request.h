// SPDX-License-Identifier: MIT
// HTTP requests of a fuzz input, one after the other, each up to a NUL byte:
//
//   PUT /v2/a/blobs/uploads/1?digest=…      method, path (not encoded), query
//   Content-Type: application/json          headers
//                                           an empty line
//   body
#pragma once
#include "base/mem.h"
#include "base/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct fuzz_request {
    char *text, *method, *path, **headers, **queries; // lines "name: value", words "name=value"
    const char *body;
    size_t body_n;
};

// Splits the first line and removes it.
static inline void fuzz_request_line(struct fuzz_request *r, char *line)
{
    char *space = strchr(line, ' ');
    r->method = line;
    r->path = space ? space + 1 : line + strlen(line);
    if (space)
        *space = '\0';
    char *query = strchr(r->path, '?');
    r->queries = strv_split(query ? query + 1 : "", '&');
    if (query)
        *query = '\0';
}

// Reads the next request; returns the place where the one after it begins. The caller makes sure
// that *text is NUL-terminated.
static inline const char *fuzz_request_read(struct fuzz_request *r, const char *at, const char *end)
{
    const char *stop = memchr(at, '\0', (size_t)(end - at));
    stop = stop ? stop : end;
    r->text = mem_strndup(at, (size_t)(stop - at));
    char *blank = strstr(r->text, "\n\n"), *line = strchr(r->text, '\n');
    r->body = blank ? blank + 2 : "";
    r->body_n = strlen(r->body);
    if (blank)
        *blank = '\0';
    r->headers = strv_split(line && line != blank ? line + 1 : "", '\n');
    if (line)
        *line = '\0';
    fuzz_request_line(r, r->text);
    return stop < end ? stop + 1 : end;
}

static inline void fuzz_request_done(struct fuzz_request *r)
{
    strv_free(r->headers);
    strv_free(r->queries);
    free(r->text);
}

static inline const char *fuzz_request_find(char *const *pairs, const char *name, char separator)
{
    size_t n = strlen(name);
    for (; *pairs; pairs++)
        if (strncasecmp(*pairs, name, n) == 0 && (*pairs)[n] == separator)
            return *pairs + n + 1 + ((*pairs)[n + 1] == ' ');
    return NULL;
}
