// SPDX-License-Identifier: MIT
#include "trainer/dist/timeline.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct timeline {
    int fd;
    int64_t start;
    off_t end;    // offset of the closing bracket
    char **names; // the index is the pid
};

timeline *timeline_open(const char *path, int64_t now, err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, "[\n]\n", 4) != 4) {
        err_errno(e, errno, "cannot write the timeline %s (HOROVOD_TIMELINE)", path);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    timeline *t = mem_alloc(sizeof *t);
    *t = (timeline){.fd = fd, .start = now, .end = 2};
    return t;
}

static void event(timeline *t, buf *out, const char *phase, size_t pid, int64_t at, cJSON *more)
{
    cJSON *j = more ? more : cJSON_CreateObject();
    json_set_str(j, "ph", phase);
    json_set_int(j, "pid", (int64_t)pid);
    if (*phase != 'M')
        json_set_int(j, "ts", (at - t->start) / 1000);
    buf_str(out, t->end > 2 || out->len ? ",\n" : "");
    json_print(out, j);
    cJSON_Delete(j);
}

static cJSON *named(const char *name)
{
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "name", name);
    return j;
}

static void describe_process(timeline *t, buf *out, size_t pid, const char *name)
{
    cJSON *process = named("process_name"), *order = named("process_sort_index");
    json_set_str(json_object_at(process, "args"), "name", name);
    json_set_int(json_object_at(order, "args"), "sort_index", (int64_t)pid);
    event(t, out, "M", pid, 0, process);
    event(t, out, "M", pid, 0, order);
}

static size_t pid_of(timeline *t, buf *out, const char *name)
{
    size_t n = strv_len(t->names);
    for (size_t i = 0; i < n; i++) {
        if (str_eq(t->names[i], name))
            return i;
    }
    t->names = strv_add(t->names, name);
    describe_process(t, out, n, name);
    return n;
}

static void operation(timeline *t, buf *out, const struct timeline_op *op)
{
    AUTO_FREE char *negotiate = str_fmt("NEGOTIATE_%s", op->kind);
    AUTO_FREE char *carried = op->by ? str_fmt("%s_%s", op->by, op->kind) : NULL;
    size_t pid = pid_of(t, out, op->name);
    event(t, out, "B", pid, op->begin, named(negotiate));
    for (int rank = 0; rank < op->size; rank++) {
        AUTO_FREE char *number = str_fmt("%d", rank);
        cJSON *ready = named(number);
        json_set_int(ready, "dur", 0);
        event(t, out, "X", pid, op->agreed, ready);
    }
    event(t, out, "E", pid, op->agreed, NULL);
    event(t, out, "B", pid, op->agreed, named(op->kind));
    if (carried) {
        event(t, out, "B", pid, op->agreed, named(carried));
        event(t, out, "E", pid, op->end, NULL);
    }
    cJSON *last = cJSON_CreateObject();
    json_set_str(json_object_at(last, "args"), "dtype", op->dtype);
    json_set_str(json_object_at(last, "args"), "shape", op->shape);
    event(t, out, "E", pid, op->end, last);
}

void timeline_add(timeline *t, const struct timeline_op *op)
{
    if (t->fd < 0)
        return;
    AUTO_BUF out = {0};
    operation(t, &out, op);
    size_t n = out.len;
    buf_str(&out, "\n]\n");
    if (pwrite(t->fd, out.data, out.len, t->end) != (ssize_t)out.len) {
        if (ftruncate(t->fd, t->end) == 0 && pwrite(t->fd, "\n]\n", 3, t->end) != 3)
            t->end = 0; // the file cannot be continued
        close(t->fd);
        t->fd = -1;
        return;
    }
    t->end += (off_t)n;
}

void timeline_close(timeline *t)
{
    if (!t)
        return;
    if (t->fd >= 0)
        close(t->fd);
    strv_free(t->names);
    free(t);
}
