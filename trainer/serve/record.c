// SPDX-License-Identifier: MIT
#include "trainer/serve/record.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HOST_MOST = 64, NUMBER_MOST = 1000 * 1000 * 1000 };
static const char end[] = ".jsonl";

struct record {
    pthread_mutex_t lock;
    char *folder, host[HOST_MOST + 1];
    int64_t file_bytes, written;
    size_t files;
    long number;
    int fd;
};

static char *file_of(const record *r, long number)
{
    return str_fmt("%s/%s-%06ld%s", r->folder, r->host, number, end);
}

// The number of a file of ours; 0: another file.
static long number_of(const record *r, const char *name)
{
    size_t n = strlen(r->host);
    int64_t number = 0;
    if (!str_starts(name, r->host) || name[n] != '-' || !str_ends(name, end))
        return 0;
    AUTO_FREE char *digits = mem_strndup(name + n + 1, strlen(name) - n - sizeof end);
    return str_to_int(digits, &number) && number < NUMBER_MOST ? (long)number : 0;
}

static long last_number(const record *r)
{
    long last = 0;
    DIR *dir = opendir(r->folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        long number = number_of(r, entry->d_name);
        last = number > last ? number : last;
    }
    if (dir)
        closedir(dir);
    return last;
}

// Makes a file that no other server writes to. Requests may be personal, so only this user can read
// it.
static int begin_file(record *r, err *e)
{
    AUTO_FREE char *path = file_of(r, r->number + 1);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) {
        r->number = last_number(r);
        free(path);
        path = file_of(r, r->number + 1);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    }
    if (fd < 0)
        return err_errno(e, errno, "cannot record to %s", path);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = fd;
    r->written = 0;
    r->number++;
    if (r->number > (long)r->files) {
        AUTO_FREE char *oldest = file_of(r, r->number - (long)r->files);
        unlink(oldest);
    }
    return 0;
}

record *record_open(const char *folder, int64_t file_bytes, size_t files, err *e)
{
    record *r = mem_alloc(sizeof *r);
    *r = (record){.lock = PTHREAD_MUTEX_INITIALIZER,
        .folder = mem_strdup(folder),
        .file_bytes = file_bytes,
        .files = files,
        .fd = -1};
    if (gethostname(r->host, HOST_MOST) < 0 || !*r->host)
        snprintf(r->host, sizeof r->host, "server");
    if (path_make_dirs(folder, 0777, e) == 0) {
        r->number = last_number(r);
        if (begin_file(r, e) == 0)
            return r;
    }
    record_close(r);
    return NULL;
}

void record_close(record *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    pthread_mutex_destroy(&r->lock);
    free(r->folder);
    free(r);
}

// JSON has line ends between its parts only.
static void add_line(buf *line, const char *json, size_t n)
{
    size_t from = line->len;
    buf_add(line, json, n);
    for (size_t i = from; i < line->len; i++)
        if (line->data[i] == '\n' || line->data[i] == '\r')
            line->data[i] = ' ';
}

int record_add(record *r, const char *model, int64_t ns, const char *request, size_t request_n,
    const char *answer, size_t answer_n, err *e)
{
    AUTO_BUF line = {0};
    AUTO_JSON *name = cJSON_CreateString(model);
    buf_str(&line, "{\"time\":\"");
    clock_rfc3339(&line, clock_wall(), CLOCK_MICROS);
    buf_str(&line, "\",\"model\":");
    json_print(&line, name);
    buf_fmt(&line, ",\"seconds\":%.6f,\"request\":", (double)ns / (double)CLOCK_SEC);
    add_line(&line, request, request_n);
    buf_str(&line, ",\"answer\":");
    add_line(&line, answer, answer_n);
    buf_str(&line, "}\n");
    pthread_mutex_lock(&r->lock);
    int status = 0;
    if (r->written > 0 && r->written + (int64_t)line.len > r->file_bytes)
        status = begin_file(r, e);
    if (status == 0)
        status = fd_write_all(r->fd, line.data, line.len, e);
    if (status == 0)
        r->written += (int64_t)line.len;
    else if (ftruncate(r->fd, r->written) < 0) // never leave half a line
        err_wrap(e, "a part of a line stays");
    pthread_mutex_unlock(&r->lock);
    return status;
}
