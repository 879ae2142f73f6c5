// SPDX-License-Identifier: MIT
#include "script/jupyter/orders.h"

#include "base/os/path.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 16 };

cJSON *orders_line(const char *is)
{
    cJSON *line = cJSON_CreateObject();
    json_set_str(line, "is", is);
    return line;
}

void orders_say(struct orders *o, cJSON *line)
{
    AUTO_BUF text = {0};
    json_print(&text, line);
    buf_char(&text, '\n');
    cJSON_Delete(line);
    o->lost = o->lost || fd_write_all(o->out, text.data, text.len, NULL) < 0;
}

void orders_say_error(struct orders *o, const char *is, const err *e)
{
    cJSON *line = orders_line(is);
    json_set_str(line, "text", e->text);
    orders_say(o, line);
}

bool orders_read(struct orders *o)
{
    buf_reserve(&o->lines, READ_SIZE);
    ssize_t n = read(o->in, o->lines.data + o->lines.len, READ_SIZE);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    o->lines.len += (size_t)n;
    o->lines.data[o->lines.len] = '\0';
    return true;
}

cJSON *orders_next(struct orders *o)
{
    for (char *end; o->lines.len && (end = memchr(o->lines.data, '\n', o->lines.len));) {
        err e = {0};
        cJSON *order = json_parse(o->lines.data, (size_t)(end - o->lines.data), &e);
        buf_consume(&o->lines, (size_t)(end - o->lines.data) + 1);
        if (order)
            return order;
        orders_say_error(o, "fault", &e);
    }
    return NULL;
}

void orders_done(struct orders *o)
{
    buf_done(&o->lines);
}
