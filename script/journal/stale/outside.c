// SPDX-License-Identifier: MIT
#include "script/journal/stale/outside.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

// File times have the resolution of a clock tick: a change within this time may not show.
static const int64_t tick = 50 * CLOCK_MS;

struct listing {
    const fold *fold;
    cJSON *files;
    cJSON *left; // {path: {name, cell, sha256, …}}: the state in which the last cell that writes
                 // there left it
};

static cJSON *add_file(struct listing *l, const char *name, const char *id, int64_t at)
{
    AUTO_FREE char *path = fold_path(l->fold, name);
    cJSON *one = cJSON_CreateObject();
    json_set_str(one, "name", name);
    json_set_str(one, "path", path);
    json_set_str(one, "cell", id);
    json_set_int(one, "at", at);
    cJSON_AddItemToArray(l->files, one);
    return one;
}

static void take_state(cJSON *one, const cJSON *state)
{
    int64_t size;
    json_set_str(one, "sha256", json_str(state, "sha256"));
    json_set_str(one, "mtime", json_str(state, "mtime"));
    if (json_int(json_get(state, "size"), &size))
        json_set_int(one, "size", size);
}

// The cell's position in the document.
static size_t place(const struct listing *l, const char *id)
{
    size_t i = 0;
    fold_cell_by_id(l->fold, id, &i);
    return i;
}

// If several cells write a file, the last one counts: that is the state when all have run.
static void list_left(struct listing *l)
{
    AUTO_JSON *all = fold_left(l->fold);
    cJSON *entry;
    while ((entry = cJSON_DetachItemFromArray(all, 0))) {
        AUTO_FREE char *path = fold_path(l->fold, json_str(entry, "name"));
        const char *id = json_str(entry, "cell"),
                   *other = json_str(json_get(l->left, path), "cell");
        if (!fold_ended(l->fold, id) || (other && place(l, other) > place(l, id)))
            cJSON_Delete(entry);
        else
            json_set(l->left, path, entry);
    }
    cJSON_ArrayForEach(entry, l->left)
    {
        const struct run_cell *c = fold_ended(l->fold, json_str(entry, "cell"));
        take_state(add_file(l, json_str(entry, "name"), c->id, c->ended), entry);
    }
}

// Writes by the cell itself or a later one do not count; a write by an earlier one since then does.
static void list_used(struct listing *l, const char *list)
{
    const cJSON *entry, *value;
    cJSON_ArrayForEach(entry, json_get(l->fold->recorded, list))
    {
        AUTO_FREE char *path = fold_path(l->fold, entry->string);
        const cJSON *left = json_get(l->left, path);
        cJSON_ArrayForEach(value, json_get(entry, "cells"))
        {
            const char *id = value->string;
            bool later = left && place(l, json_str(left, "cell")) >= place(l, id);
            if (!fold_ended(l->fold, id) || (later && !json_str(left, "sha256")))
                continue;
            int64_t at = json_int_or(json_get(entry, "at"), id, 0);
            cJSON *one = add_file(l, entry->string, id, at);
            take_state(one, value);
            if (later)
                json_set_str(one, "left", json_str(left, "sha256"));
        }
    }
}

cJSON *outside_list(const fold *f)
{
    cJSON *list = cJSON_CreateObject();
    struct listing l = {
        .fold = f, .files = json_array_at(list, "files"), .left = cJSON_CreateObject()};
    list_left(&l);
    list_used(&l, "inputs");
    list_used(&l, "programs");
    cJSON_Delete(l.left);
    return list;
}

struct look {
    cJSON *digests; // {path: digest}: a file that several cells have read is hashed once
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

// What happened to a file: "has changed", "is gone"; NULL: nothing, or unknown.
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
