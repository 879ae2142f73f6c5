// SPDX-License-Identifier: MIT
// What a trainer reads of its data is told once for each file, so that its run can be compared with
// another one. Ranks on the driver's machine get a list of what it has read: they tell none of it
// again, and make no sum again that is known.
//
//   list   u8 1 if somebody listens to events, then for each file
//          u32 bytes of its key   u8 1 if it was told   its SHA-256 in hexadecimal and a NUL, or
//          zeros   its key
//
// A key is a file's path and state. The time of its inode's last change is part of it: that one
// cannot be set, so what was written since under an old date is another file.
#include "script/worker/core/reading.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/data/hashmap.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/filestate.h"
#include "base/str.h"
#include "script/worker/core/state.h"

#include <string.h>
#include <sys/stat.h>

// Files above this size, and all after so many bytes, have their date instead of a digest: a
// training shall not wait for that.
enum { DIGESTED_MAX = 64 << 20, DIGESTED_ALL = 256 << 20 };
enum { LIST_MOST = 1 << 20, HEAD = 4 + 1 + SHA256_HEX };

struct file {
    void *key;
    size_t n; // bytes of the key
    bool told;
    char sum[SHA256_HEX]; // "": not known
};

struct reading {
    hashmap *index; // key → its place among the files, which have the keys
    struct file *files;
    size_t count, room;
    int64_t digested;
    bool deaf; // of a rank: nobody listens
};

static struct reading *reading_of(worker *w)
{
    if (!w->reading) {
        w->reading = mem_alloc(sizeof *w->reading);
        w->reading->index = hashmap_new_borrowing();
    }
    return w->reading;
}

void reading_free(struct reading *r)
{
    if (!r)
        return;
    hashmap_free(r->index);
    for (size_t i = 0; i < r->count; i++)
        free(r->files[i].key);
    free(r->files);
    free(r);
}

bool worker_listened(const worker *w)
{
    if (w->link)
        return w->place.rank == 0 && !(w->reading && w->reading->deaf);
    return w->options.event != NULL;
}

static struct file *file_of(struct reading *r, const void *key, size_t n)
{
    size_t i;
    if (hashmap_get(r->index, key, n, &i))
        return &r->files[i];
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 16;
        r->files = mem_resize(r->files, r->room, sizeof *r->files);
    }
    struct file *f = &r->files[r->count];
    *f = (struct file){.key = mem_dup(key, n), .n = n};
    hashmap_set(r->index, f->key, n, r->count++);
    return f;
}

static struct file *file_at(worker *w, const char *path, const struct stat *st)
{
    AUTO_BUF key = {0};
    buf_add(&key, &st->st_ctim, sizeof st->st_ctim);
    filestate_key(path, st, &key);
    return file_of(reading_of(w), key.data, key.len);
}

static void tell(worker *w, const char *path, const struct stat *st, struct file *f)
{
    int64_t *digested = &w->reading->digested;
    cJSON *event = cJSON_CreateObject();
    f->told = true;
    json_set_str(event, "event", "read");
    json_set_str(event, "path", path);
    json_set_int(event, "size", st->st_size);
    json_set_int(event, "mtime", st->st_mtim.tv_sec * CLOCK_SEC + st->st_mtim.tv_nsec);
    bool small = st->st_size <= DIGESTED_MAX && *digested + st->st_size <= DIGESTED_ALL;
    if (!f->sum[0] && small && sha256_file(path, f->sum, NULL) == 0)
        *digested += st->st_size;
    json_set_str(event, "sha256", f->sum[0] ? f->sum : NULL);
    worker_event(w, event);
}

void worker_tell_read(worker *w, const char *path)
{
    struct stat st;
    if (!worker_listened(w) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    struct file *f = file_at(w, path, &st);
    if (!f->told)
        tell(w, path, &st, f);
}

void worker_known_sum(worker *w, const char *path, const struct stat *st, char sum[SHA256_HEX])
{
    memcpy(sum, file_at(w, path, st)->sum, SHA256_HEX);
}

void worker_know_sum(worker *w, const char *path, const struct stat *st, const char *sum)
{
    memcpy(file_at(w, path, st)->sum, sum, SHA256_HEX);
}

void reading_list(worker *w, bool near, buf *list)
{
    struct reading *r = reading_of(w);
    char listened = (char)worker_listened(w);
    buf_add(list, &listened, 1);
    for (size_t i = 0; near && i < r->count && list->len < LIST_MOST; i++) {
        const struct file *f = &r->files[i];
        char head[HEAD] = {0};
        put_u32(head, (uint32_t)f->n);
        head[4] = f->told;
        memcpy(head + 5, f->sum, SHA256_HEX);
        buf_add(list, head, sizeof head);
        buf_add(list, f->key, f->n);
    }
}

void reading_take(worker *w, const void *list, size_t n)
{
    const char *at = list, *end = at + n;
    struct reading *r = reading_of(w);
    r->deaf = n && !*at;
    for (at += n > 0; end - at > HEAD;) {
        size_t key = get_u32(at);
        if (key > (size_t)(end - at) - HEAD)
            return;
        struct file *f = file_of(r, at + HEAD, key);
        f->told = at[4];
        memcpy(f->sum, at + 5, SHA256_HEX);
        f->sum[SHA256_HEX - 1] = '\0';
        at += HEAD + key;
    }
}
