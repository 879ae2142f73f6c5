// SPDX-License-Identifier: MIT
#include "script/journal/file/spool.h"

#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// An entry marks the start of an append; entries are at least this far apart.
enum { SPACING = 64 << 10 };

struct entry {
    uint64_t offset, lines;
    int64_t wall;
};

struct spool {
    char *name;
    int fd, index_fd;     // index_fd: -1 for a reader whose index was lost
    int folder;           // for the writer: the spool's folder
    uint64_t size, lines; // up to now; for a reader: when it last checked
    uint64_t indexed;     // offset of the writer's last entry
    bool has_entry;
};

static uint64_t count_lines(const char *bytes, size_t n)
{
    uint64_t lines = 0;
    for (const char *p = bytes, *end = bytes + n; (p = memchr(p, '\n', (size_t)(end - p)));) {
        lines++;
        if (++p == end)
            break;
    }
    return lines;
}

static size_t entry_count(const spool *s)
{
    struct stat st;
    return fstat(s->index_fd, &st) == 0 ? (size_t)st.st_size / sizeof(struct entry) : 0;
}

static bool entry_at(const spool *s, size_t i, struct entry *out)
{
    return pread(s->index_fd, out, sizeof *out, (off_t)(i * sizeof *out)) == (ssize_t)sizeof *out;
}

// Counts from the last known line count to the end of the file.
static void look(spool *s)
{
    struct stat st;
    if (fstat(s->fd, &st) < 0 || (uint64_t)st.st_size <= s->size)
        return;
    struct entry last;
    size_t n = entry_count(s);
    if (n > 0 && entry_at(s, n - 1, &last) && last.lines <= last.offset && last.offset > s->size &&
        last.offset <= (uint64_t)st.st_size)
        s->size = last.offset, s->lines = last.lines;
    char bytes[1 << 14];
    for (;;) {
        ssize_t got = pread(s->fd, bytes, sizeof bytes, (off_t)s->size);
        if (got <= 0)
            return;
        s->lines += count_lines(bytes, (size_t)got);
        s->size += (uint64_t)got;
    }
}

static spool *spool_new(const char *dir, const char *name, int flags, err *e)
{
    AUTO_FREE char *path = path_join(dir, name), *index = str_fmt("%s.idx", name);
    AUTO_FD folder = hidden_folder_of(path, flags & O_CREAT, e);
    if (folder < 0)
        return NULL;
    spool *s = mem_alloc(sizeof *s);
    s->name = mem_strdup(name);
    s->index_fd = s->folder = -1;
    s->fd = folder_file(folder, name, flags, 0600);
    if (s->fd >= 0)
        s->index_fd = folder_file(folder, index, flags, 0600);
    bool reads_without = s->fd >= 0 && errno == ENOENT && !(flags & O_CREAT);
    if (s->index_fd < 0 && !reads_without) {
        err_errno(e, errno, "cannot open the spool %s", path);
        spool_close(s);
        return NULL;
    }
    if (flags & O_CREAT) {
        s->folder = folder;
        folder = -1;
    }
    return s;
}

static bool valid_name(const char *name)
{
    return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

spool *spool_create(const char *dir, const char *name, err *e)
{
    if (!valid_name(name)) {
        err_set(e, ERR_USAGE, "\"%s\" is no name for a spool: a-z, 0-9 and - only", name);
        return NULL;
    }
    spool *s = spool_new(dir, name, O_RDWR | O_CREAT | O_APPEND, e);
    if (!s)
        return NULL;
    // Repairs an index that a crash may have torn, or whose entries point beyond the end of the
    // bytes.
    size_t n = entry_count(s);
    struct entry last;
    struct stat st;
    while (n > 0 && fstat(s->fd, &st) == 0 && entry_at(s, n - 1, &last) &&
           last.offset > (uint64_t)st.st_size)
        n--;
    if (ftruncate(s->index_fd, (off_t)(n * sizeof last)) == 0 && n > 0 && entry_at(s, n - 1, &last))
        s->indexed = last.offset, s->has_entry = true;
    look(s);
    return s;
}

spool *spool_open(const char *dir, const char *name, err *e)
{
    if (!valid_name(name)) {
        err_set(e, ERR_INVALID, "\"%s\" is no name of a spool", name);
        return NULL;
    }
    return spool_new(dir, name, O_RDONLY, e);
}

void spool_close(spool *s)
{
    if (!s)
        return;
    fd_close_at(&s->fd);
    fd_close_at(&s->index_fd);
    fd_close_at(&s->folder);
    free(s->name);
    free(s);
}

// Losing the index does no harm.
void spool_end(spool *s, syncer *by)
{
    if (!s)
        return;
    syncer_give(by, s->fd);
    syncer_give(by, s->folder);
    s->fd = s->folder = -1;
    spool_close(s);
}

void spool_discard(spool *s)
{
    if (!s)
        return;
    AUTO_FREE char *index = str_fmt("%s.idx", s->name);
    unlinkat(s->folder, s->name, 0);
    unlinkat(s->folder, index, 0);
    spool_close(s);
}

const char *spool_name(const spool *s)
{
    return s->name;
}

int spool_append(spool *s, const void *bytes, size_t n, int64_t wall_ns, err *e)
{
    if (n == 0)
        return 0;
    uint64_t before = s->size;
    if (fd_write_all(s->fd, bytes, n, e) < 0) {
        if (ftruncate(s->fd, (off_t)before) < 0)
            look(s);
        return err_wrap(e, "cannot write the spool %s", s->name);
    }
    if (!s->has_entry || before - s->indexed >= SPACING) {
        struct entry entry = {before, s->lines, wall_ns};
        // A failed write of an index entry is no error: readers then count further.
        if (fd_write_all(s->index_fd, &entry, sizeof entry, NULL) == 0)
            s->indexed = before, s->has_entry = true;
    }
    s->lines += count_lines(bytes, n);
    s->size += n;
    return 0;
}

uint64_t spool_size(spool *s)
{
    look(s);
    return s->size;
}

uint64_t spool_lines(spool *s)
{
    look(s);
    return s->lines;
}

int spool_read(spool *s, uint64_t from, uint64_t to, buf *out, err *e)
{
    uint64_t size = spool_size(s);
    if (to > size)
        to = size;
    while (from < to) {
        size_t want = to - from > 1 << 20 ? 1 << 20 : (size_t)(to - from);
        buf_reserve(out, want);
        ssize_t got = pread(s->fd, out->data + out->len, want, (off_t)from);
        if (got < 0)
            return err_errno(e, errno, "cannot read the spool %s", s->name);
        if (got == 0)
            break;
        out->len += (size_t)got;
        out->data[out->len] = '\0';
        from += (uint64_t)got;
    }
    return 0;
}

// Finds the last entry for which `before` is true; entries are in order. false: none.
static bool last_entry(spool *s, bool (*before)(const struct entry *, const void *),
    const void *key, struct entry *out)
{
    size_t low = 0, high = entry_count(s);
    bool found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct entry one;
        if (!entry_at(s, middle, &one))
            return found;
        if (before(&one, key)) {
            *out = one;
            found = true;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return found;
}

static bool not_past_line(const struct entry *entry, const void *key)
{
    return entry->lines < *(const uint64_t *)key; // an entry may start within line `lines`
}

static bool not_past_offset(const struct entry *entry, const void *key)
{
    return entry->offset <= *(const uint64_t *)key;
}

int spool_find_line(spool *s, uint64_t line, uint64_t *offset, err *e)
{
    struct entry start = {0};
    if (line == 0) {
        *offset = 0;
        return 0;
    }
    last_entry(s, not_past_line, &line, &start);
    char bytes[1 << 14];
    for (;;) {
        ssize_t got = pread(s->fd, bytes, sizeof bytes, (off_t)start.offset);
        if (got < 0)
            return err_errno(e, errno, "cannot read the spool %s", s->name);
        if (got == 0)
            break;
        const char *end = bytes + got, *at = bytes;
        while ((at = memchr(at, '\n', (size_t)(end - at)))) {
            at++;
            if (++start.lines < line)
                continue;
            *offset = start.offset + (uint64_t)(at - bytes);
            return 0;
        }
        start.offset += (uint64_t)got;
    }
    return err_set(
        e, ERR_NOT_FOUND, "%s has only %llu lines", s->name, (unsigned long long)start.lines);
}

uint64_t spool_line_at(spool *s, uint64_t offset)
{
    struct entry at = {0};
    last_entry(s, not_past_offset, &offset, &at);
    char bytes[1 << 14];
    while (at.offset < offset) {
        uint64_t left = offset - at.offset;
        ssize_t got = pread(
            s->fd, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes, (off_t)at.offset);
        if (got <= 0)
            break;
        at.lines += count_lines(bytes, (size_t)got);
        at.offset += (uint64_t)got;
    }
    return at.lines;
}
