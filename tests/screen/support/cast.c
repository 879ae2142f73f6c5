// SPDX-License-Identifier: MIT
#include "tests/screen/support/cast.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <stdio.h>

struct cast {
    FILE *file;
    int64_t started;
    buf held; // the start of a character whose rest has not been read yet
};

cast *cast_open(const char *path, int w, int h)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return NULL;
    fprintf(file,
        "{\"version\": 2, \"width\": %d, \"height\": %d, \"env\": {\"TERM\": "
        "\"xterm-256color\"}}\n",
        w, h);
    cast *c = mem_alloc(sizeof *c);
    *c = (cast){.file = file, .started = clock_mono()};
    return c;
}

static void event(cast *c, char kind, const char *text)
{
    cJSON *string = cJSON_CreateString(text);
    AUTO_FREE char *quoted = cJSON_PrintUnformatted(string);
    cJSON_Delete(string);
    double seconds = (double)(clock_mono() - c->started) / (double)CLOCK_SEC;
    fprintf(c->file, "[%.3f, \"%c\", %s]\n", seconds, kind, quoted);
}

void cast_output(cast *c, const char *bytes, size_t n)
{
    if (!c)
        return;
    AUTO_BUF clean = {0};
    buf_add(&c->held, bytes, n);
    size_t tail = utf8_partial(c->held.data, c->held.len);
    utf8_clean(&clean, c->held.data, c->held.len - tail);
    buf_consume(&c->held, c->held.len - tail);
    if (clean.len)
        event(c, 'o', buf_cstr(&clean));
}

void cast_resize(cast *c, int w, int h)
{
    char size[32];
    snprintf(size, sizeof size, "%dx%d", w, h);
    if (c)
        event(c, 'r', size);
}

void cast_mark(cast *c, const char *name)
{
    if (c)
        event(c, 'm', name);
}

void cast_close(cast *c)
{
    if (!c)
        return;
    fclose(c->file);
    buf_done(&c->held);
    free(c);
}
