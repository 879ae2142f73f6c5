// SPDX-License-Identifier: MIT
#include "script/journal/file/writer.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/hidden.h"
#include "script/journal/file/syncer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Blocks are reserved beyond the end of the file, so that the last records of a run fit when the
// disk is full. When no more blocks can be reserved, output is refused, but states, errors and the
// end are not.
enum { RESERVE = 256 << 10, LAST_WORDS = 64 << 10 };

struct journal {
    int fd;
    char *run, *path, *spool_dir;
    mask *mask;
    uint64_t seq;
    off_t end, reserved;
    bool writable; // the file is locked, and its end is known
    syncer *syncer;
    bool dirty;       // no sync has covered the last records yet
    bool sync_failed; // a sync has failed, and the caller was told
    // A group: it is written at once, and its ledger entries share one sync. A single record is a
    // group, too.
    bool grouped;
    bool owes, soon; // entries of it wait for that sync; others are synced in the background
    buf lines;       // of the group
    size_t written;  // so many bytes of them are in the file
    off_t group_end; // where the group begins, and after which record
    uint64_t group_seq;
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

// The process that has the flock of this file, from /proc/locks; 0 if it is not listed.
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

// Reserves `want` bytes beyond the end; false: the disk is full. A file system that cannot reserve
// counts as having room.
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

// Prepares the file for writing; the folder entry of a new file is synced with its first record.
static int begin(journal *j, int dir, bool is_new, err *e)
{
    if (!reserve(j, LAST_WORDS))
        return err_set(e, ERR_NO_SPACE,
            "no space left for the journal %s: free some there, or use another folder (--cwd)",
            j->path);
    j->syncer = syncer_open(j->fd, e);
    int entry = is_new && j->syncer ? fcntl(dir, F_DUPFD_CLOEXEC, 0) : -1;
    if (!j->syncer)
        return -1;
    if (is_new && entry < 0)
        return err_errno(e, errno, "cannot make the journal %s", j->path);
    if (is_new)
        syncer_give(j->syncer, entry);
    j->writable = true;
    return 0;
}

// Makes a new file under a name that no other run has; with spec->run the name is given.
static journal *make_file(const struct journal_spec *spec, int dir, err *e)
{
    AUTO_FREE char *folder = path_join(spec->folder, ".firesteel");
    for (int tries = 0;; tries++) {
        AUTO_FREE char *run =
            spec->run ? mem_strdup(spec->run) : journal_run_name(spec->name, clock_wall());
        journal *j = journal_new(folder, run, spec->mask);
        AUTO_FREE char *name = path_basename(j->path);
        j->fd = folder_file(dir, name, O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0600);
        if (j->fd >= 0)
            return j;
        bool taken = errno == EEXIST && !spec->run && tries < 16;
        if (!taken)
            err_errno(e, errno, "cannot make the journal %s", j->path);
        journal_close(j);
        if (!taken)
            return NULL;
    }
}

journal *journal_create(const struct journal_spec *spec, err *e)
{
    AUTO_FD dir = hidden_make(spec->folder, e);
    journal *j = dir < 0 ? NULL : make_file(spec, dir, e);
    if (!j || (lock(j, e) == 0 && begin(j, dir, true, e) == 0))
        return j;
    AUTO_FREE char *name = path_basename(j->path);
    unlinkat(dir, name, 0);
    journal_close(j);
    return NULL;
}

// Finds the end of the last whole line and the number of the last record.
static int find_end(journal *j, err *e)
{
    AUTO_BUF text = {0};
    if (fd_read_all(j->fd, &text, 0, e) < 0)
        return err_wrap(e, "%s", j->path);
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
    err why = {0};
    j->fd = hidden_open(j->path, O_RDWR | O_APPEND, 0, &why);
    if (j->fd < 0)
        err_set(e, why.code, "run %s cannot be continued: %s", run, why.text);
    else if (lock(j, e) == 0 && find_end(j, e) == 0) {
        if (ftruncate(j->fd, j->end) < 0)
            err_errno(e, errno, "cannot continue %s", j->path);
        else if (begin(j, -1, false, e) == 0)
            return j;
    }
    journal_close(j);
    return NULL;
}

void journal_close(journal *j)
{
    if (!j)
        return;
    if (j->grouped)
        journal_commit(j, NULL, NULL);
    // Gives back the reserved blocks; failing to do so does no harm. If the journal is another
    // process's, or its end is unknown, does nothing.
    if (j->writable && ftruncate(j->fd, j->end) == 0 && j->dirty)
        syncer_request(j->syncer);
    syncer_close(j->syncer);
    if (j->fd >= 0)
        close(j->fd);
    free(j->run);
    free(j->path);
    free(j->spool_dir);
    buf_done(&j->lines);
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

bool journal_is_output(const cJSON *event)
{
    const char *type = json_str_or(event, "type", "");
    return str_eq(type, "stream") || str_eq(type, "display") || str_eq(type, "update");
}

// A ledger entry must be on the disk, with everything before it, before anything is done because of
// it; one that is done again in any case need not. The same holds for the end, before anybody is
// told how the run ended. The end of a cell need not: if a power cut loses it, a resumed run checks
// the cell again.
enum safety { SAFE_IN_FILE, SAFE_SOON, SAFE_NOW };

static enum safety wanted_safety(const journal *j, const cJSON *event, const char *type)
{
    static const char *const ends[] = {"ok", "failed", "cancelled"};
    if (str_eq(type, "ledger"))
        return json_bool_or(event, "repeats", false) ? SAFE_SOON : SAFE_NOW;
    if (str_eq(type, "end"))
        return j->sync_failed ? SAFE_SOON : SAFE_NOW; // told: these are its last records
    if (str_eq(type, "run") || str_eq(type, "resumed"))
        return SAFE_SOON;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (str_eq(type, "state") && str_eq(json_str(event, "state"), ends[i]))
            return SAFE_SOON;
    return SAFE_IN_FILE;
}

// Writes the lines of a group to the file.
static int write_lines(journal *j, err *e)
{
    size_t n = j->lines.len - j->written;
    if (n == 0)
        return 0;
    if (fd_write_all(j->fd, j->lines.data + j->written, n, e) < 0)
        return -1;
    j->written = j->lines.len;
    j->dirty = true;
    return 0;
}

// Actions that are not for the group as a whole are done for the last record now.
static int make_safe(journal *j, enum safety safety, bool shared, err *e)
{
    j->owes |= shared && safety == SAFE_NOW;
    j->soon |= safety == SAFE_SOON;
    if (shared)
        return 0;
    if (write_lines(j, e) < 0)
        return -1;
    if (safety == SAFE_NOW)
        return journal_sync(j, e);
    if (j->soon)
        syncer_request(j->syncer);
    j->soon = false;
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

// Cuts off lines of the group that must not be in the file after all, or are incomplete there.
static void cut_back(journal *j, off_t end, err *failure)
{
    size_t kept = (size_t)(end - j->group_end);
    j->end = end;
    j->lines.len = kept;
    j->written = j->written < kept ? j->written : kept;
    if (ftruncate(j->fd, j->group_end + (off_t)j->written) < 0)
        err_wrap(failure, "an incomplete line stays in it");
}

static void begin_group(journal *j)
{
    buf_clear(&j->lines);
    j->written = 0;
    j->owes = j->soon = false;
    j->group_end = j->end;
    j->group_seq = j->seq;
}

const char *journal_append(journal *j, cJSON *event, size_t *n, err *e)
{
    if (j->mask)
        mask_json(j->mask, event);
    stamp(j, event);
    if (!j->grouped)
        begin_group(j);
    size_t from = j->lines.len;
    json_print(&j->lines, event);
    buf_char(&j->lines, '\n');
    const char *type = json_str_or(event, "type", "");
    off_t before = j->end, length = (off_t)(j->lines.len - from);
    bool room = reserve(j, length + LAST_WORDS);
    err failure = {0};
    if (!room && journal_is_output(event))
        err_set(&failure, ERR_NO_SPACE, "no space left on the device");
    else {
        j->end += length;
        bool shared = j->grouped && !str_eq(type, "end");
        make_safe(j, wanted_safety(j, event, type), shared, &failure);
    }
    if (failure.code) {
        cut_back(j, before, &failure);
        err_set(e, failure.code, "cannot write the journal %s: %s", j->path, failure.text);
        return NULL;
    }
    j->seq++;
    if (n)
        *n = (size_t)length;
    return j->lines.data + from;
}

void journal_group(journal *j)
{
    j->grouped = true;
    begin_group(j);
}

const char *journal_commit(journal *j, size_t *n, err *e)
{
    err failure = {0};
    j->grouped = false;
    if (write_lines(j, &failure) == 0) {
        if (j->soon && !j->owes)
            syncer_request(j->syncer);
        if (n)
            *n = j->lines.len;
        if (!j->owes || journal_sync(j, &failure) == 0)
            return buf_cstr(&j->lines);
    }
    cut_back(j, j->group_end, &failure);
    j->seq = j->group_seq;
    err_set(e, failure.code, "cannot write the journal %s: %s", j->path, failure.text);
    return NULL;
}

int journal_sync(journal *j, err *e)
{
    struct stat st;
    if (fstat(j->fd, &st) == 0 && st.st_nlink == 0) {
        j->sync_failed = true;
        return err_set(e, ERR_IO, "it was removed while the run went on");
    }
    j->sync_failed |= syncer_wait(j->syncer, e) < 0;
    j->dirty = j->sync_failed;
    return j->sync_failed ? -1 : 0;
}

int journal_check(journal *j, err *e)
{
    if (syncer_check(j->syncer, e) == 0)
        return 0;
    j->sync_failed = true;
    return err_wrap(e, "what the run leaves in %s may be lost", j->path);
}

struct syncer *journal_syncer(const journal *j)
{
    return j->syncer;
}
