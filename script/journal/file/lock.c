// SPDX-License-Identifier: MIT
#include "script/journal/file/lock.h"

#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/os/proctree.h"
#include "base/str.h"
#include "script/journal/file/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { TRIES = 5, LIMIT = 64 << 10 };

struct document_lock {
    char *path; // NULL: no lock is possible
    char *text; // what we have written
    char *cwd;
};

// The time at which a process began, in ticks since boot; 0: it does not exist, or has ended and is
// only not waited for yet (a zombie).
static int64_t started(int64_t pid)
{
    AUTO_BUF stat = {0};
    const char *fields = pid > 0 && pid <= INT_MAX ? process_fields((pid_t)pid, &stat) : NULL;
    unsigned long long ticks = 0;
    char state = 'Z';
    if (fields)
        sscanf(fields,
            "%c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
            &state, &ticks);
    return state == 'Z' || state == 'X' ? 0 : (int64_t)ticks;
}

static void host_name(char host[256])
{
    *host = '\0';
    gethostname(host, 255);
    host[255] = '\0';
}

// The working folder, and the path of a document's lock. The document's real path is used, so all
// links to it give the same lock.
static int find_place(const char *document, const char *cwd, char **folder, char **path)
{
    AUTO_FREE char *real = path_absolute(document, NULL);
    if (!real)
        return -1;
    AUTO_FREE char *own = path_dirname(real);
    AUTO_FREE char *name = path_basename(real);
    *folder = mem_strdup(access(own, W_OK) == 0 || !cwd ? own : cwd);
    *path = str_fmt("%s/.firesteel/%s.lock", *folder, name);
    return 0;
}

void lock_holder_done(struct lock_holder *who)
{
    free(who->host);
    free(who->run);
    free(who->cwd);
    free(who->socket);
    *who = (struct lock_holder){0};
}

static int read_lock(const char *path, buf *text)
{
    AUTO_FD fd = hidden_open(path, O_RDONLY, 0, NULL);
    return fd < 0 ? -1 : fd_read_all(fd, text, LIMIT, NULL);
}

static bool read_holder(const char *path, struct lock_holder *who)
{
    AUTO_BUF text = {0};
    *who = (struct lock_holder){0};
    if (read_lock(path, &text) < 0)
        return false;
    AUTO_JSON *j = json_parse(buf_cstr(&text), text.len, NULL);
    *who = (struct lock_holder){.host = mem_strdup(json_str_or(j, "host", "")),
        .run = mem_strdup(json_str(j, "run")),
        .cwd = mem_strdup(json_str_or(j, "cwd", "")),
        .socket = mem_strdup(json_str(j, "socket")),
        .pid = json_int_or(j, "pid", 0),
        .start = json_int_or(j, "start", 0)};
    return true;
}

static bool is_here(const struct lock_holder *who)
{
    char host[256];
    host_name(host);
    return str_eq(who->host, host);
}

// A file that is not JSON names no process: a full disk cut it short, and its owner is gone.
static bool is_stale(const struct lock_holder *who)
{
    return !who->pid || (is_here(who) && (!who->start || started(who->pid) != who->start));
}

bool document_lock_holder(const char *document, const char *cwd, struct lock_holder *who)
{
    AUTO_FREE char *folder = NULL, *path = NULL;
    if (find_place(document, cwd, &folder, &path) < 0 || !read_holder(path, who))
        return false;
    if (!is_stale(who))
        return true;
    lock_holder_done(who);
    return false;
}

static char *text_of(const struct lock_holder *me)
{
    char host[256];
    host_name(host);
    AUTO_JSON *j = cJSON_CreateObject();
    json_set_str(j, "host", host);
    json_set_int(j, "pid", getpid());
    json_set_int(j, "start", started(getpid()));
    json_set_str(j, "run", me->run);
    json_set_str(j, "cwd", me->cwd);
    json_set_str(j, "socket", me->socket);
    return json_to_str(j);
}

static int refuse(const char *document, const char *path, const struct lock_holder *who, err *e)
{
    AUTO_FREE char *name = path_basename(document);
    AUTO_FREE char *attach = who->run ? str_fmt("`firesteel attach %s` joins it", who->run)
                                      : mem_strdup("`firesteel ls` shows it");
    if (is_here(who))
        return err_set(e, ERR_CONFLICT, "%s is open already, in process %lld on %s%s%s: %s", name,
            (long long)who->pid, who->host, who->run ? ", run " : "", who->run ? who->run : "",
            attach);
    return err_set(e, ERR_CONFLICT,
        "%s is open already, in process %lld on %s%s%s: %s there; if that machine is gone, remove "
        "%s",
        name, (long long)who->pid, who->host, who->run ? ", run " : "", who->run ? who->run : "",
        attach, path);
}

// Removes a stale lock. If others look at it at the same time, they wait and look again.
static void remove_stale(const char *path)
{
    struct lock_holder who;
    AUTO_FD fd = hidden_open(path, O_RDONLY, 0, NULL);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return;
    if (read_holder(path, &who) && is_stale(&who))
        unlink(path);
    lock_holder_done(&who);
}

// link() creates the complete file or nothing, also on a network file system.
static int link_lock(const char *document, const char *mine, const char *path, err *e)
{
    for (int i = 0; i < TRIES; i++) {
        struct lock_holder who;
        if (link(mine, path) == 0)
            return 0;
        if (errno != EEXIST)
            break;
        if (read_holder(path, &who) && !is_stale(&who)) {
            refuse(document, path, &who, e);
            lock_holder_done(&who);
            return -1;
        }
        lock_holder_done(&who);
        remove_stale(path);
    }
    return err_errno(e, errno, "cannot lock %s", document);
}

static int try_take(const char *document, const char *path, const char *text, err *e)
{
    AUTO_FREE char *mine = str_fmt("%s.%ld", path, (long)getpid());
    unlink(mine); // left by an earlier process with our pid
    AUTO_FD fd = hidden_open(mine, O_WRONLY | O_CREAT | O_EXCL, 0600, e);
    if (fd < 0)
        return err_wrap(e, "cannot lock %s", document);
    int result = fd_write_all(fd, text, strlen(text), e);
    if (result == 0 && fsync(fd) < 0)
        result = err_errno(e, errno, "%s", mine);
    result =
        result < 0 ? err_wrap(e, "cannot lock %s", document) : link_lock(document, mine, path, e);
    unlink(mine);
    return result;
}

document_lock *document_lock_take(const char *document, const struct lock_holder *me, err *e)
{
    document_lock *l = mem_alloc(sizeof *l);
    AUTO_FREE char *folder = NULL, *path = NULL;
    AUTO_FD hidden = -1;
    if (find_place(document, me->cwd, &folder, &path) < 0 ||
        (hidden = hidden_make(folder, NULL)) < 0)
        return l; // the journal goes into the same folder and will report the reason
    l->cwd = mem_strdup(me->cwd);
    l->text = text_of(me);
    if (try_take(document, path, l->text, e) < 0) {
        document_lock_release(l);
        return NULL;
    }
    l->path = STEAL(path);
    return l;
}

void document_lock_release(document_lock *l)
{
    AUTO_BUF text = {0};
    if (!l)
        return;
    if (l->path && read_lock(l->path, &text) == 0 && str_eq(buf_cstr(&text), l->text))
        unlink(l->path);
    free(l->path);
    free(l->text);
    free(l->cwd);
    free(l);
}

bool document_lock_is_of(const document_lock *l, const char *document)
{
    AUTO_FREE char *folder = NULL, *path = NULL;
    return find_place(document, l->cwd, &folder, &path) == 0 && str_eq(l->path, path);
}
