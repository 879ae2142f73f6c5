// SPDX-License-Identifier: MIT
#include "script/journal/runs/runs_index.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Change the number whenever the fields of a row change.
#define OPENING   "firesteel runs 6 " FIRESTEEL_VERSION "\n"
#define FILE_NAME "runs.index"
#define NEW_NAME  FILE_NAME ".new"

enum {
    LINE = 16 + (1 + RUNS_PARTS) * 9 + RUNS_PARTS * 17 + 1, // of an entry: the line before it
    NUMBERS = 10,                                           // of a brief: its beginning
    BRIEF_MOST = 1 << 16,
    WASTE_LEAST = 1 << 16, // so many useless bytes are allowed before a new file is written
    LOCK_TRIES = 40,       // time for a run that has ended to write its entry
    LOCK_PAUSE_MS = 5,
};

struct entry {
    struct runs_brief brief; // first: a pointer to one is a pointer to the other
    int64_t at;              // of its line in the file
    size_t brief_n, n[RUNS_PARTS];
    uint64_t hash[RUNS_PARTS];
    bool kept;     // its journal is there
    bool believed; // and was still in the state that the entry names
};

struct runs_index {
    int dir, fd;         // fd: -1 when there is none
    struct entry **list; // in the file's order; NULL: replaced by a later one
    size_t n;
    hashmap *places;
    int64_t seen;        // the file's size when it was read
    int64_t size, waste; // bytes that were parsed, and how many of them were replaced
    bool damaged;        // there are more, or others
    struct window *near; // bytes around the part that was read last
    struct added *added;
    size_t n_added;
};

// An entry that is to be written.
struct added {
    char *run;
    struct runs_key key;
    buf bytes;
};

// FNV-1a
static uint64_t hash_of(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ at[i]) * 0x100000001b3;
    return h;
}

static uint64_t hash_one(const void *bytes, size_t n)
{
    return hash_of(0xcbf29ce484222325, bytes, n);
}

// Makes one block of all texts, each with its NUL.
static void take_texts(struct runs_brief *b, char *block)
{
    const char **const to[] = {&b->state, &b->wall, &b->run, &b->notebook};
    free(b->block);
    b->block = block;
    for (size_t i = 0; i < ARRAY_LEN(to); i++) {
        *to[i] = block;
        block += strlen(block) + 1;
    }
}

void runs_brief_texts(struct runs_brief *b, const char *const texts[4])
{
    buf block = {0};
    for (size_t i = 0; i < 4; i++)
        buf_add(&block, texts[i], strlen(texts[i]) + 1);
    take_texts(b, buf_take(&block));
}

void runs_brief_done(struct runs_brief *b)
{
    free(b->block);
    *b = (struct runs_brief){0};
}

static void entry_free(struct entry *e)
{
    if (e)
        runs_brief_done(&e->brief);
    free(e);
}

// Reads n bytes at a place; false: the file is too short.
static bool read_at(int fd, int64_t at, void *out, size_t n)
{
    for (char *to = out; n;) {
        ssize_t got = pread(fd, to, n, at);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        to += got > 0 ? got : 0;
        at += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

// Reads so many hexadecimal digits and the character after them.
static bool read_hex(const char **at, int digits, char after, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < digits; i++) {
        char c = *(*at)++;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        *value = *value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return *(*at)++ == after;
}

static bool read_numbers(const char **at, const char *end, int64_t *const to[NUMBERS])
{
    for (size_t i = 0; i < NUMBERS; i++) {
        char *after;
        errno = 0;
        *to[i] = strtoll(*at, &after, 10);
        if (after == *at || errno || after >= end || *after != (i + 1 < NUMBERS ? ' ' : '\0'))
            return false;
        *at = after + 1;
    }
    return true;
}

// "SIZE INODE … \0 FLAGS STATE \0 WALL \0 RUN \0 NOTEBOOK \0". The bytes end with a NUL.
static bool read_brief(const char *text, size_t n, struct runs_brief *b)
{
    const char *at = text, *end = text + n;
    int64_t *const numbers[NUMBERS] = {&b->key.size, &b->key.inode, &b->key.mtime, &b->key.ctime,
        &b->started, &b->took, &b->cells, &b->ok, &b->failed, &b->left};
    if (!read_numbers(&at, end, numbers) || end - at < 2)
        return false;
    b->ran = *at++ == 'r';
    b->open = *at++ == 'o';
    const char *texts = at;
    for (size_t i = 0; i < 4; i++) {
        if (at >= end)
            return false;
        at += strlen(at) + 1;
    }
    if (at != end)
        return false;
    take_texts(b, mem_dup(texts, (size_t)(end - texts)));
    return true;
}

static void write_brief(buf *out, const struct runs_brief *b)
{
    const char *const texts[] = {b->state, b->wall, b->run, b->notebook};
    const int64_t numbers[NUMBERS] = {b->key.size, b->key.inode, b->key.mtime, b->key.ctime,
        b->started, b->took, b->cells, b->ok, b->failed, b->left};
    for (size_t i = 0; i < NUMBERS; i++)
        buf_fmt(out, "%" PRId64 "%s", numbers[i], i + 1 < NUMBERS ? " " : "");
    buf_char(out, '\0');
    buf_char(out, b->ran ? 'r' : '-');
    buf_char(out, b->open ? 'o' : '-');
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        buf_add(out, texts[i], strlen(texts[i]) + 1);
}

// Reads a file from its beginning to its end, in pieces.
struct window {
    int fd;
    int64_t at, size; // of the file
    size_t n;
    char bytes[256 << 10];
};

// n bytes at a place; NULL: the file is too short, or they are too many.
static const char *look_at(struct window *w, int64_t at, size_t n)
{
    if (n > sizeof w->bytes || at + (int64_t)n > w->size)
        return NULL;
    if (at < w->at || at + (int64_t)n > w->at + (int64_t)w->n) {
        int64_t rest = w->size - at;
        w->at = at;
        w->n = rest < (int64_t)sizeof w->bytes ? (size_t)rest : sizeof w->bytes;
        if (!read_at(w->fd, at, w->bytes, w->n)) {
            w->n = 0;
            return NULL;
        }
    }
    return w->bytes + (at - w->at);
}

// The same for readers that may go back: entries that runs have appended come before those of runs
// that began earlier. The window extends in the direction of reading.
static const char *look_around(struct window *w, int64_t at, size_t n)
{
    int64_t before = at + (int64_t)n - (int64_t)sizeof w->bytes;
    if (at < w->at && n <= sizeof w->bytes)
        look_at(w, before > 0 ? before : 0, 1);
    return look_at(w, at, n);
}

// Everything in an entry but its line and its brief: each part comes after a line break.
static uint64_t parts_size(const size_t n[RUNS_PARTS])
{
    uint64_t all = RUNS_PARTS + 1;
    for (size_t i = 0; i < RUNS_PARTS; i++)
        all += n[i];
    return all;
}

static bool read_line(const char *line, uint64_t *hash, uint64_t *brief_n, struct entry *e)
{
    uint64_t n = 0;
    bool good = read_hex(&line, 16, ' ', hash) && read_hex(&line, 8, ' ', brief_n);
    for (size_t i = 0; good && i < RUNS_PARTS; i++) {
        good = read_hex(&line, 8, ' ', &n);
        e->n[i] = n;
    }
    for (size_t i = 0; good && i < RUNS_PARTS; i++)
        good = read_hex(&line, 16, i + 1 < RUNS_PARTS ? ' ' : '\n', &e->hash[i]);
    return good && *brief_n && *brief_n <= BRIEF_MOST;
}

// The entry at a place of the file; NULL: there is none, or its checksum is wrong.
static struct entry *read_entry(struct window *w, int64_t at)
{
    char head[LINE + BRIEF_MOST + 1];
    int64_t rest = w->size - at;
    uint64_t hash, brief_n;
    struct entry *e = mem_alloc(sizeof *e);
    const char *line = look_at(w, at, LINE), *whole = NULL;
    bool good = line && read_line(line, &hash, &brief_n, e) &&
                (uint64_t)rest >= LINE + brief_n + parts_size(e->n);
    if (good)
        whole = look_at(w, at, LINE + brief_n);
    good = whole != NULL;
    if (good) {
        memcpy(head, whole, LINE + brief_n);
        head[LINE + brief_n] = '\0';
        good = hash_one(head + 16, LINE - 16 + brief_n) == hash &&
               read_brief(head + LINE, brief_n, &e->brief);
    }
    if (!good) {
        entry_free(e);
        return NULL;
    }
    e->at = at;
    e->brief_n = brief_n;
    return e;
}

static int64_t bytes_of(const struct entry *e)
{
    return (int64_t)(LINE + e->brief_n + parts_size(e->n));
}

// Makes a slot in the list for it; replaces an earlier entry of the same run.
static void put(runs_index *x, struct entry *e)
{
    const char *run = e->brief.run;
    size_t place;
    if (hashmap_get(x->places, run, strlen(run), &place)) {
        x->waste += bytes_of(x->list[place]);
        entry_free(x->list[place]);
        x->list[place] = NULL;
    }
    if ((x->n & (x->n - 1)) == 0)
        x->list = mem_resize(x->list, x->n ? x->n * 2 : 1, sizeof(struct entry *));
    hashmap_set(x->places, run, strlen(run), x->n);
    x->list[x->n++] = e;
}

// Reads the entries up to the file's size.
static void read_entries(runs_index *x, int64_t size, bool kept)
{
    if (!x->near)
        x->near = mem_alloc(sizeof *x->near);
    struct window *w = x->near;
    w->fd = x->fd;
    w->size = x->seen = size;
    while (x->size < size && !x->damaged) {
        struct entry *e = read_entry(w, x->size);
        x->damaged = !e;
        if (!e)
            continue;
        e->kept = kept;
        x->size += bytes_of(e);
        put(x, e);
    }
}

static void read_all(runs_index *x)
{
    char opening[sizeof OPENING - 1];
    struct stat st = {0};
    x->damaged = fstat(x->fd, &st) < 0 || !read_at(x->fd, 0, opening, sizeof opening) ||
                 memcmp(opening, OPENING, sizeof opening) != 0;
    x->seen = st.st_size;
    if (x->damaged)
        return;
    x->size = sizeof opening;
    read_entries(x, st.st_size, false);
}

runs_index *runs_index_open(int dir)
{
    runs_index *x = mem_alloc(sizeof *x);
    x->dir = dir;
    x->places = hashmap_new();
    x->fd = folder_file(dir, FILE_NAME, O_RDONLY, 0);
    if (x->fd >= 0)
        read_all(x);
    return x;
}

bool runs_key_same(const struct runs_key *a, const struct runs_key *b)
{
    return a->size == b->size && a->inode == b->inode && a->mtime == b->mtime &&
           a->ctime == b->ctime;
}

static struct entry *entry_of(const runs_index *x, const char *run)
{
    size_t place;
    return hashmap_get(x->places, run, strlen(run), &place) ? x->list[place] : NULL;
}

const struct runs_brief *runs_index_find(
    const runs_index *x, const char *run, const struct runs_key *key)
{
    struct entry *e = entry_of(x, run);
    if (!e || !runs_key_same(&e->brief.key, key))
        return NULL;
    e->believed = true;
    return &e->brief;
}

const struct runs_brief *runs_index_believed(const runs_index *x, const char *run)
{
    const struct entry *e = entry_of(x, run);
    return e && e->believed ? &e->brief : NULL;
}

// n bytes at a place and a NUL, from the bytes around it that are in memory; large parts are read
// separately.
static char *read_part(const runs_index *x, int64_t at, size_t n)
{
    const char *there = look_around(x->near, at, n);
    AUTO_FREE char *text = mem_try_array(n + 1, 1);
    if (text && there)
        memcpy(text, there, n);
    return text && (there || read_at(x->fd, at, text, n)) ? STEAL(text) : NULL;
}

char *runs_index_part(const runs_index *x, const struct runs_brief *b, enum runs_part part)
{
    const struct entry *e = (const struct entry *)b;
    int64_t at = e->at + (int64_t)(LINE + e->brief_n + 1);
    for (enum runs_part i = RUNS_FOUND; i < part; i++)
        at += (int64_t)e->n[i] + 1;
    size_t n = e->n[part];
    AUTO_FREE char *text = read_part(x, at, n);
    if (!text || hash_one(text, n) != e->hash[part])
        return NULL;
    return STEAL(text);
}

// Appends the bytes of an entry. Drops an entry that is too large.
static void write_entry(buf *out, const struct runs_brief *b, const char *const parts[RUNS_PARTS])
{
    AUTO_BUF brief = {0}, line = {0};
    size_t n[RUNS_PARTS];
    write_brief(&brief, b);
    buf_fmt(&line, " %08zx", brief.len);
    for (size_t i = 0; i < RUNS_PARTS; i++) {
        n[i] = strlen(parts[i]);
        if (brief.len > BRIEF_MOST || n[i] > UINT32_MAX)
            return;
        buf_fmt(&line, " %08zx", n[i]);
    }
    for (size_t i = 0; i < RUNS_PARTS; i++)
        buf_fmt(&line, " %016" PRIx64, hash_one(parts[i], n[i]));
    buf_char(&line, '\n');
    buf_add(&line, brief.data, brief.len);
    buf_fmt(out, "%016" PRIx64, hash_one(line.data, line.len));
    buf_add(out, line.data, line.len);
    for (size_t i = 0; i < RUNS_PARTS; i++) {
        buf_char(out, '\n');
        buf_add(out, parts[i], n[i]);
    }
    buf_char(out, '\n');
}

void runs_index_add(runs_index *x, const struct runs_brief *b, const char *const parts[RUNS_PARTS])
{
    if ((x->n_added & (x->n_added - 1)) == 0)
        x->added = mem_resize(x->added, x->n_added ? x->n_added * 2 : 1, sizeof *x->added);
    struct added *a = &x->added[x->n_added++];
    *a = (struct added){mem_strdup(b->run), b->key, {0}};
    write_entry(&a->bytes, b, parts);
}

void runs_index_keep(runs_index *x, const char *run)
{
    struct entry *e = entry_of(x, run);
    if (e)
        e->kept = true;
}

// Writes everything that still counts and what is added to a new file that replaces the old one.
static void write_anew(runs_index *x, const buf *added)
{
    AUTO_FD fd = folder_file(x->dir, NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool good = fd >= 0 && fd_write_all(fd, OPENING, sizeof OPENING - 1, NULL) == 0;
    for (size_t i = 0; good && i < x->n; i++) {
        const struct entry *e = x->list[i];
        if (!e || !e->kept)
            continue;
        size_t n = (size_t)bytes_of(e);
        AUTO_FREE char *bytes = mem_try_array(n, 1);
        good = bytes && read_at(x->fd, e->at, bytes, n) && fd_write_all(fd, bytes, n, NULL) == 0;
    }
    good = good && fd_write_all(fd, added->data, added->len, NULL) == 0;
    if (fd >= 0 && (!good || renameat(x->dir, NEW_NAME, x->dir, FILE_NAME) < 0))
        unlinkat(x->dir, NEW_NAME, 0);
}

static void append(const buf *added, int fd, int64_t end)
{
    if (fd_write_all(fd, added->data, added->len, NULL) < 0 && ftruncate(fd, end) < 0)
        return; // it was found to be damaged, and is replaced
}

// The entries to add that nobody else has written meanwhile. Entries of runs that are gone do not
// count.
static void gather(const runs_index *x, buf *out)
{
    for (size_t i = 0; i < x->n_added; i++) {
        const struct added *a = &x->added[i];
        const struct entry *e = entry_of(x, a->run);
        if (!e || !e->kept || !runs_key_same(&e->brief.key, &a->key))
            buf_add(out, a->bytes.data, a->bytes.len);
    }
}

// Does the name still refer to the locked file?
static bool is_in_place(int dir, int fd, struct stat *st)
{
    struct stat named;
    return fstat(fd, st) == 0 && fstatat(dir, FILE_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_ino == st->st_ino && named.st_dev == st->st_dev;
}

// One writer at a time has the file's lock, also while it replaces the file.
static void save(runs_index *x, bool anew)
{
    struct stat st, read;
    AUTO_FD fd = folder_file(x->dir, FILE_NAME, O_RDWR | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_in_place(x->dir, fd, &st))
        return;
    bool ours = x->fd >= 0 && fstat(x->fd, &read) == 0 && read.st_ino == st.st_ino;
    if (ours ? x->damaged && st.st_size != x->seen : st.st_size > 0)
        return; // another process has just written it
    if (ours && !x->damaged && st.st_size > x->seen)
        read_entries(x, st.st_size, true); // entries of runs that ended meanwhile, and of other
                                           // lists
    AUTO_BUF added = {0};
    gather(x, &added);
    if (anew || !ours || x->damaged)
        write_anew(x, &added);
    else
        append(&added, fd, st.st_size);
}

void runs_index_close(runs_index *x)
{
    if (!x)
        return;
    bool gone = false;
    for (size_t i = 0; i < x->n; i++)
        gone = gone || (x->list[i] && !x->list[i]->kept);
    bool anew = x->damaged || gone || (x->waste > WASTE_LEAST && x->waste > x->size / 2);
    if (anew || x->n_added)
        save(x, anew);
    for (size_t i = 0; i < x->n; i++)
        entry_free(x->list[i]);
    free(x->list);
    hashmap_free(x->places);
    free(x->near);
    for (size_t i = 0; i < x->n_added; i++) {
        free(x->added[i].run);
        buf_done(&x->added[i].bytes);
    }
    free(x->added);
    fd_close_at(&x->fd);
    free(x);
}

// Waits a short time for other writers: a list of many runs, or runs that end now.
static bool lock_soon(int fd)
{
    for (int tries = 0; tries < LOCK_TRIES; tries++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_MS * CLOCK_MS}, NULL);
    }
    return false;
}

// Empties a file of another version: the next list reads all journals anyway.
static bool begin_anew(int fd, int64_t *size)
{
    char opening[sizeof OPENING - 1];
    if (read_at(fd, 0, opening, sizeof opening) && memcmp(opening, OPENING, sizeof opening) == 0)
        return true;
    *size = sizeof opening;
    return ftruncate(fd, 0) == 0 && fd_write_all(fd, OPENING, sizeof opening, NULL) == 0;
}

void runs_index_append(int dir, const struct runs_brief *b, const char *const parts[RUNS_PARTS])
{
    AUTO_BUF entry = {0};
    struct stat st;
    write_entry(&entry, b, parts);
    for (int tries = 0; tries < 2; tries++) { // a second time if the file was replaced meanwhile
        AUTO_FD fd = folder_file(dir, FILE_NAME, O_RDWR | O_CREAT | O_APPEND, 0600);
        if (fd < 0 || !lock_soon(fd))
            return;
        if (!is_in_place(dir, fd, &st))
            continue;
        int64_t size = st.st_size;
        if (begin_anew(fd, &size))
            append(&entry, fd, size);
        return;
    }
}
