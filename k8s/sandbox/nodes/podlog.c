// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/podlog.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
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
    buf partial[2];  // unfinished lines of stdout and stderr
    buf entries;     // not yet in the file: output that came together is written together
    char second[24]; // the second of the latest stamp, "2026-01-02T03:04:05."
    int64_t second_at;
    int64_t stamp; // of the latest line; stamps never go back, so --since-time misses nothing
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
    l->written = 0; // after a failure, the next try comes one file size later
}

static void flush(podlog *l)
{
    if (l->entries.len && fd_write_all(l->fd, l->entries.data, l->entries.len, NULL) == 0)
        l->written += l->entries.len;
    buf_clear(&l->entries);
}

// "2026-01-02T03:04:05.000000006Z"; the date is computed once a second.
static void add_stamp(podlog *l, int64_t wall)
{
    l->stamp = wall > l->stamp ? wall : l->stamp + 1;
    int64_t second = l->stamp / CLOCK_SEC;
    if (second != l->second_at || !l->second[0]) {
        AUTO_BUF text = {0};
        clock_rfc3339(&text, second * CLOCK_SEC, CLOCK_SECONDS);
        snprintf(l->second, sizeof l->second, "%.19s.", buf_cstr(&text));
        l->second_at = second;
    }
    buf_fmt(&l->entries, "%s%09dZ", l->second, (int)(l->stamp % CLOCK_SEC));
}

static void add_entry(podlog *l, int which, char tag, const char *text, size_t n, int64_t wall)
{
    enum { OVERHEAD = 64 }; // for an entry's stamp and marks, and some more
    if (l->written + l->entries.len + n + OVERHEAD > l->limit) {
        flush(l);
        rotate(l);
    }
    add_stamp(l, wall);
    buf_fmt(&l->entries, " %s %c ", which ? "stderr" : "stdout", tag);
    buf_add(&l->entries, text, n);
    buf_char(&l->entries, '\n');
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
            add_entry(l, which, 'F', partial->data, partial->len, wall);
            buf_clear(partial);
        } else {
            add_entry(l, which, 'F', bytes, len, wall);
        }
        bytes += len + 1;
        n -= len + 1;
    }
    buf_add(partial, bytes, n);
    if (partial->len >= PODLOG_LINE) {
        add_entry(l, which, 'P', partial->data, partial->len, wall);
        buf_clear(partial);
    }
    flush(l);
}

void podlog_close(podlog *l, int64_t wall)
{
    if (!l)
        return;
    for (int i = 0; i < 2; i++) {
        if (l->partial[i].len)
            add_entry(l, i, 'P', l->partial[i].data, l->partial[i].len, wall);
        buf_done(&l->partial[i]);
    }
    flush(l);
    buf_done(&l->entries);
    close(l->fd);
    free(l->path);
    free(l);
}
