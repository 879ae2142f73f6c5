// SPDX-License-Identifier: MIT
#include "script/journal/outside.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "script/journal/fold_private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

// Times of files are those of the last clock tick: a change within this time may show none.
static const int64_t tick = 50 * CLOCK_MS;

struct listing {
    const fold *fold;
    const char *cwd;
    cJSON *files;
    cJSON *left; // {path: {cell, sha256}}: what the run has written there last
};

static const struct run_cell *ended(const fold *f, const char *id)
{
    const struct run_cell *c = fold_cell_by_id(f, id, NULL);
    return c && c->ran && (c->state == STATE_OK || c->state == STATE_FAILED) ? c : NULL;
}

static cJSON *add_file(struct listing *l, const char *name, const char *id, int64_t at)
{
    AUTO_FREE char *path = path_join(l->cwd, name);
    cJSON *one = cJSON_CreateObject();
    json_set_str(one, "name", name);
    json_set_str(one, "path", path);
    json_set_str(one, "cell", id);
    json_set_int(one, "at", at);
    cJSON_AddItemToArray(l->files, one);
    return one;
}

static void note_left(struct listing *l, const char *name, const char *id, const char *digest)
{
    AUTO_FREE char *path = path_join(l->cwd, name);
    cJSON *one = cJSON_CreateObject();
    json_set_str(one, "name", name);
    json_set_str(one, "cell", id);
    json_set_str(one, "sha256", digest);
    json_set(l->left, path, one);
}

// Of what a command declares only its outputs; its inputs are recorded as such.
static void note_effect(struct listing *l, const struct ledger_entry *e, const struct run_cell *c)
{
    const char *digest = json_str(e->result, "sha256"), *path = json_str(e->result, "path");
    const cJSON *file;
    if (path && digest)
        note_left(l, path, c->id, digest);
    const char *below = json_str(e->result, "cwd");
    cJSON_ArrayForEach(file, json_get(e->result, "files"))
    {
        AUTO_FREE char *name = below ? path_join(below, file->string) : mem_strdup(file->string);
        const cJSON *entry = json_get(json_get(l->fold->recorded, "inputs"), name);
        if (cJSON_IsString(file) && !json_get(json_get(entry, "cells"), c->id))
            note_left(l, name, c->id, file->valuestring);
    }
}

static void list_left(struct listing *l)
{
    const cJSON *entry, *value;
    for (size_t i = 0; i < l->fold->n_ledger; i++) {
        const struct ledger_entry *e = &l->fold->ledger[i];
        const struct run_cell *c = e->outcome && !e->failed ? ended(l->fold, e->cell) : NULL;
        if (c && str_eq(e->source, c->hash))
            note_effect(l, e, c);
    }
    cJSON_ArrayForEach(entry, json_get(l->fold->recorded, "outputs"))
    {
        cJSON_ArrayForEach(value, json_get(entry, "cells"))
        {
            if (ended(l->fold, value->string))
                note_left(l, entry->string, value->string, json_str(value, "sha256"));
        }
    }
    cJSON_ArrayForEach(entry, l->left)
    {
        const struct run_cell *c = ended(l->fold, json_str(entry, "cell"));
        cJSON *one = add_file(l, json_str(entry, "name"), c->id, c->ended);
        json_set_str(one, "sha256", json_str(entry, "sha256"));
    }
}

static void list_inputs(struct listing *l)
{
    const cJSON *entry, *value;
    cJSON_ArrayForEach(entry, json_get(l->fold->recorded, "inputs"))
    {
        cJSON_ArrayForEach(value, json_get(entry, "cells"))
        {
            int64_t at = json_int_or(json_get(entry, "at"), value->string, 0), size;
            if (!ended(l->fold, value->string))
                continue;
            cJSON *one = add_file(l, entry->string, value->string, at);
            const cJSON *left = json_get(l->left, json_str(one, "path"));
            json_set_str(one, "sha256", json_str(value, "sha256"));
            json_set_str(one, "mtime", json_str(value, "mtime"));
            if (json_int(json_get(value, "size"), &size))
                json_set_int(one, "size", size);
            if (left) // that the run has changed it itself does not count
                json_set_str(one, "left", json_str(left, "sha256"));
        }
    }
}

cJSON *outside_list(const fold *f)
{
    cJSON *list = cJSON_CreateObject();
    struct listing l = {.fold = f,
        .cwd = json_str_or(f->first, "cwd", "."),
        .files = json_array_at(list, "files"),
        .left = cJSON_CreateObject()};
    list_left(&l);
    list_inputs(&l);
    cJSON_Delete(l.left);
    return list;
}

struct look {
    cJSON *digests; // {path: digest}: a file that several cells have read is read once
};

static const char *digest_of(struct look *k, const char *path)
{
    char hex[SHA256_HEX];
    if (!json_get(k->digests, path)) {
        bool there = sha256_file(path, hex, NULL) == 0;
        json_set_str(k->digests, path, there ? hex : "");
    }
    return json_str(k->digests, path);
}

// What has become of a file: "has changed", "is gone"; NULL: nothing, or that cannot be seen.
static const char *look_at(struct look *k, const cJSON *file)
{
    struct stat st;
    int64_t size, at = json_int_or(file, "at", 0);
    const char *path = json_str_or(file, "path", ""), *mtime = json_str(file, "mtime");
    const char *digest = json_str(file, "sha256"), *left = json_str(file, "left");
    if (stat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? "is gone" : NULL;
    int64_t changed = (int64_t)st.st_ctim.tv_sec * CLOCK_SEC + st.st_ctim.tv_nsec;
    if (at && changed + tick < at)
        return NULL; // not touched since
    bool other_size = json_int(json_get(file, "size"), &size) && size != st.st_size;
    if (other_size && !left)
        return "has changed";
    if (!digest && mtime) {
        AUTO_BUF now = {0};
        clock_rfc3339(&now, (int64_t)st.st_mtim.tv_sec * CLOCK_SEC, CLOCK_SECONDS);
        return str_eq(buf_cstr(&now), mtime) ? NULL : "has changed";
    }
    if (!digest)
        return NULL;
    const char *now = digest_of(k, path);
    return str_eq(now, digest) || str_eq(now, left) ? NULL : "has changed";
}

cJSON *outside_look(const cJSON *list)
{
    struct look k = {cJSON_CreateObject()};
    cJSON *found = cJSON_CreateObject();
    const cJSON *file;
    cJSON_ArrayForEach(file, json_get(list, "files"))
    {
        const char *id = json_str_or(file, "cell", "");
        const char *what = json_get(found, id) ? NULL : look_at(&k, file);
        if (!what)
            continue;
        AUTO_FREE char *why = str_fmt("%s %s", json_str_or(file, "name", "a file"), what);
        json_set_str(found, id, why);
    }
    cJSON_Delete(k.digests);
    return found;
}
