// SPDX-License-Identifier: MIT
#include "script/journal/writer.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "script/journal/syncer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Blocks are reserved ahead of the end of the file, so that a full disk still has room for a run's
// last words: when no more can be reserved, output is refused, and states, errors and the end are
// not.
enum { RESERVE = 256 << 10, LAST_WORDS = 64 << 10 };

struct journal {
    int fd;
    char *run, *path, *spool_dir;
    mask *mask;
    uint64_t seq;
    off_t end, reserved;
    bool writable; // it is locked, and its end is known
    buf line;
    syncer *syncer; // from the first end of a cell on
};

char *journal_run_notebook(const char *run)
{
    enum { STAMP = sizeof "-20261231-235959-0123" - 1 };
    size_t n = strlen(run);
    return mem_strndup(run, n > STAMP ? n - STAMP : n);
}

char *journal_run_name(const char *name, int64_t wall_ns)
{
    AUTO_FREE char *clean = mem_strdup(*name ? name : "notebook");
    for (char *p = clean; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *p))
            *p = '-';
    if (*clean == '.')
        *clean = '-';
    time_t seconds = (time_t)(wall_ns / CLOCK_SEC);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    char stamp[32], digits[5];
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    random_hex(digits, 2);
    return str_fmt("%.100s-%s-%s", clean, stamp, digits);
}

int journal_folder(const char *folder, err *e)
{
    AUTO_FREE char *hidden = path_join(folder, ".firesteel");
    if (path_make_dirs(hidden, 0700, e) < 0)
        return -1;
    AUTO_FREE char *ignore = path_join(hidden, ".gitignore");
    if (path_exists(ignore))
        return 0;
    static const char text[] = "# Runs of firesteel: journals and what they spooled.\n*\n";
    return path_write(ignore, text, sizeof text - 1, 0644, e);
}

static journal *journal_new(const char *dir, const char *run, mask *secrets)
{
    journal *j = mem_alloc(sizeof *j);
    j->fd = -1;
    j->run = mem_strdup(run);
    j->path = str_fmt("%s/%s.jsonl", dir, run);
    j->spool_dir = path_join(dir, run);
    j->mask = secrets;
    return j;
}

// Who holds the flock of this file, from /proc/locks; 0 if it does not say.
static int lock_holder(int fd)
{
    struct stat st;
    FILE *locks = fstat(fd, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    char line[256];
    int holder = 0;
    while (locks && !holder && fgets(line, sizeof line, locks)) {
        int pid;
        unsigned long inode;
        if (sscanf(line, "%*s FLOCK %*s WRITE %d %*x:%*x:%lu", &pid, &inode) == 2 &&
            inode == st.st_ino)
            holder = pid;
    }
    if (locks)
        fclose(locks);
    return holder;
}

static int lock(journal *j, err *e)
{
    if (flock(j->fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return err_errno(e, errno, "cannot lock %s", j->path);
    int pid = lock_holder(j->fd);
    if (pid)
        return err_set(e, ERR_CONFLICT, "run %s is still going on (process %d)", j->run, pid);
    return err_set(e, ERR_CONFLICT, "run %s is still going on", j->run);
}

// Makes sure of `want` bytes behind the end; false when the disk is full. File systems that cannot
// reserve are trusted.
static bool reserve(journal *j, off_t want)
{
    if (j->reserved >= j->end + want)
        return true;
    if (fallocate(j->fd, FALLOC_FL_KEEP_SIZE, j->end, RESERVE + want) < 0 &&
        (errno == ENOSPC || errno == EDQUOT))
        return false;
    j->reserved = j->end + RESERVE + want;
    return true;
}

journal *journal_create(const struct journal_spec *spec, err *e)
{
    AUTO_FREE char *dir = path_join(spec->folder, ".firesteel");
    if (journal_folder(spec->folder, e) < 0)
        return NULL;
    journal *j = NULL;
    for (int tries = 0; tries < 16 && !(j && j->fd >= 0); tries++) {
        journal_close(j);
        AUTO_FREE char *run =
            spec->run ? mem_strdup(spec->run) : journal_run_name(spec->name, clock_wall());
        j = journal_new(dir, run, spec->mask);
        j->fd = open(j->path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (j->fd < 0 && (errno != EEXIST || spec->run))
            break;
    }
    if (j->fd < 0)
        err_errno(e, errno, "cannot make the journal %s", j->path);
    else if (lock(j, e) == 0 && reserve(j, LAST_WORDS)) {
        j->writable = true;
        return j;
    } else if (j->fd >= 0 && unlink(j->path) == 0)
        err_set(e, ERR_NO_SPACE, "no space left for the journal %s", j->path);
    journal_close(j);
    return NULL;
}

// Finds the end of the last whole line and the number of the last record.
static int find_end(journal *j, err *e)
{
    AUTO_BUF text = {0};
    if (path_read(j->path, &text, 0, e) < 0)
        return -1;
    size_t end = text.len;
    while (end > 0 && text.data[end - 1] != '\n')
        end--;
    j->end = (off_t)end;
    for (size_t stop = end; stop > 0 && j->seq == 0;) {
        size_t start = stop - 1;
        while (start > 0 && text.data[start - 1] != '\n')
            start--;
        AUTO_JSON *record = json_parse(text.data + start, stop - start - 1, NULL);
        j->seq = (uint64_t)json_int_or(record, "seq", 0);
        stop = start;
    }
    return 0;
}

journal *journal_continue(const char *folder, const char *run, mask *secrets, err *e)
{
    AUTO_FREE char *dir = path_join(folder, ".firesteel");
    journal *j = journal_new(dir, run, secrets);
    j->fd = open(j->path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (j->fd < 0)
        err_errno(e, errno, "there is no run %s here (%s)", run, j->path);
    else if (lock(j, e) == 0 && find_end(j, e) == 0) {
        j->writable = true;
        if (ftruncate(j->fd, j->end) == 0 && reserve(j, LAST_WORDS))
            return j;
        err_errno(e, errno, "cannot go on with %s", j->path);
    }
    journal_close(j);
    return NULL;
}

void journal_close(journal *j)
{
    if (!j)
        return;
    syncer_close(j->syncer);
    // Gives back the reserved blocks; what cannot be done about it does no harm. A journal that is
    // somebody else's, or whose end is not known, is left as it is.
    if (j->writable && ftruncate(j->fd, j->end) == 0)
        fdatasync(j->fd);
    if (j->fd >= 0)
        close(j->fd);
    free(j->run);
    free(j->path);
    free(j->spool_dir);
    buf_done(&j->line);
    free(j);
}

const char *journal_run(const journal *j)
{
    return j->run;
}

const char *journal_path(const journal *j)
{
    return j->path;
}

const char *journal_spool_dir(const journal *j)
{
    return j->spool_dir;
}

uint64_t journal_seq(const journal *j)
{
    return j->seq;
}

static bool is_output(const char *type)
{
    return str_eq(type, "stream") || str_eq(type, "display") || str_eq(type, "update");
}

// Ledger entries are on the disk, with all before them, before anything is done because of them.
// The end of a cell is not waited for: a power cut that takes it makes a resumed run look at the
// cell again.
enum safety { SAFE_IN_FILE, SAFE_SOON, SAFE_NOW };

static enum safety wanted_safety(const cJSON *event, const char *type)
{
    static const char *const ends[] = {"ok", "failed", "cancelled"};
    if (str_eq(type, "ledger"))
        return SAFE_NOW;
    if (str_eq(type, "run") || str_eq(type, "resumed") || str_eq(type, "end"))
        return SAFE_SOON;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (str_eq(type, "state") && str_eq(json_str(event, "state"), ends[i]))
            return SAFE_SOON;
    return SAFE_IN_FILE;
}

static int make_safe(journal *j, enum safety safety, err *e)
{
    if (safety == SAFE_SOON && !j->syncer)
        j->syncer = syncer_open(j->fd, NULL);
    if (safety == SAFE_SOON && j->syncer)
        syncer_request(j->syncer);
    else if (safety != SAFE_IN_FILE)
        return journal_sync(j, e);
    return 0;
}

static void stamp(journal *j, cJSON *event)
{
    AUTO_BUF wall = {0};
    clock_rfc3339(&wall, clock_wall(), CLOCK_MICROS);
    json_set_int(event, "seq", (int64_t)j->seq + 1);
    json_set_str(event, "wall", wall.data);
    json_set_int(event, "mono", clock_mono());
}

const char *journal_append(journal *j, cJSON *event, size_t *n, err *e)
{
    if (j->mask)
        mask_json(j->mask, event);
    stamp(j, event);
    buf_clear(&j->line);
    json_print(&j->line, event);
    buf_char(&j->line, '\n');
    const char *type = json_str_or(event, "type", "");
    bool room = reserve(j, (off_t)j->line.len + LAST_WORDS);
    err failure = {0};
    if (!room && is_output(type))
        err_set(&failure, ERR_NO_SPACE, "no space left on the device");
    else
        fd_write_all(j->fd, j->line.data, j->line.len, &failure);
    if (failure.code) {
        if (ftruncate(j->fd, j->end) < 0)
            err_wrap(&failure, "a torn line stays");
        err_set(e, failure.code, "cannot write the journal %s: %s", j->path, failure.text);
        return NULL;
    }
    j->end += (off_t)j->line.len;
    j->seq++;
    if (make_safe(j, wanted_safety(event, type), e) < 0)
        return NULL;
    if (n)
        *n = j->line.len;
    return j->line.data;
}

int journal_sync(journal *j, err *e)
{
    if (fdatasync(j->fd) < 0)
        return err_errno(e, errno, "cannot sync the journal %s", j->path);
    return 0;
}
