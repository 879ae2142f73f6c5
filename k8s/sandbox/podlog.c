// SPDX-License-Identifier: MIT
#include "k8s/sandbox/podlog.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct podlog {
    char *path;
    int fd;
    size_t limit, written;
    buf partial[2]; // unfinished lines of stdout and stderr
    int64_t stamp;  // of the latest line; stamps never go back, so that --since-time misses nothing
};

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
}

podlog *podlog_open(const char *path, size_t limit, err *e)
{
    int fd = open_file(path);
    if (fd < 0) {
        err_errno(e, errno, "cannot write the log %s", path);
        return NULL;
    }
    podlog *l = mem_alloc(sizeof *l);
    *l = (podlog){.path = mem_strdup(path), .fd = fd, .limit = limit ? limit : PODLOG_SIZE};
    return l;
}

static void rotate(podlog *l)
{
    AUTO_FREE char *old = str_fmt("%s.1", l->path);
    int fd = -1;
    if (rename(l->path, old) == 0 && (fd = open_file(l->path)) >= 0) {
        close(l->fd);
        l->fd = fd;
    }
    l->written = 0; // if it failed, the next try is a whole file later
}

static void write_entry(podlog *l, int which, char tag, const char *text, size_t n, int64_t wall)
{
    l->stamp = wall > l->stamp ? wall : l->stamp + 1;
    AUTO_BUF entry = {0};
    clock_rfc3339(&entry, l->stamp, CLOCK_NANOS);
    buf_fmt(&entry, " %s %c ", which ? "stderr" : "stdout", tag);
    buf_add(&entry, text, n);
    buf_char(&entry, '\n');
    if (l->written + entry.len > l->limit)
        rotate(l);
    if (fd_write_all(l->fd, entry.data, entry.len, NULL) == 0)
        l->written += entry.len;
}

void podlog_write(podlog *l, int fd, const char *bytes, size_t n, int64_t wall)
{
    int which = fd == 2;
    buf *partial = &l->partial[which];
    const char *newline;
    while (n && (newline = memchr(bytes, '\n', n))) {
        size_t len = (size_t)(newline - bytes);
        if (partial->len) {
            buf_add(partial, bytes, len);
            write_entry(l, which, 'F', partial->data, partial->len, wall);
            buf_clear(partial);
        } else {
            write_entry(l, which, 'F', bytes, len, wall);
        }
        bytes += len + 1;
        n -= len + 1;
    }
    buf_add(partial, bytes, n);
    if (partial->len >= PODLOG_LINE) {
        write_entry(l, which, 'P', partial->data, partial->len, wall);
        buf_clear(partial);
    }
}

void podlog_close(podlog *l, int64_t wall)
{
    if (!l)
        return;
    for (int i = 0; i < 2; i++) {
        if (l->partial[i].len)
            write_entry(l, i, 'P', l->partial[i].data, l->partial[i].len, wall);
        buf_done(&l->partial[i]);
    }
    close(l->fd);
    free(l->path);
    free(l);
}
