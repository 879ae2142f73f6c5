// SPDX-License-Identifier: MIT
#include "base/json/rowset.h"

#include "base/data/hashmap.h"
#include "base/mem.h"

#include <string.h>

struct rowset {
    cJSON *rows;
    hashmap *by_uid; // from uid to the address of the item
    size_t n, most;  // n: rows now; most: rows allowed, 0: any number
};

static const char *uid_of(const cJSON *row)
{
    const char *uid = json_str(row, "uid");
    return uid && *uid ? uid : NULL;
}

static void note(rowset *s, const cJSON *row)
{
    const char *uid = uid_of(row);
    if (uid)
        hashmap_set(s->by_uid, uid, strlen(uid), (uintptr_t)row);
}

static cJSON *find(const rowset *s, const char *uid)
{
    size_t row;
    return uid && hashmap_get(s->by_uid, uid, strlen(uid), &row) ? (cJSON *)row : NULL;
}

rowset *rowset_new(cJSON *rows, size_t most)
{
    rowset *s = mem_alloc(sizeof *s);
    *s = (rowset){.rows = rows, .by_uid = hashmap_new(), .most = most};
    for (cJSON *row = rows ? rows->child : NULL, *next; row; row = next) {
        next = row->next;
        cJSON *old = find(s, uid_of(row));
        if (old)
            cJSON_ReplaceItemViaPointer(rows, old, cJSON_DetachItemViaPointer(rows, row));
        s->n += !old;
        note(s, row);
    }
    return s;
}

void rowset_free(rowset *s)
{
    if (!s)
        return;
    hashmap_free(s->by_uid);
    free(s);
}

bool rowset_put(rowset *s, cJSON *row)
{
    cJSON *old = find(s, uid_of(row));
    if (!old && s->most && s->n >= s->most) {
        cJSON_Delete(row);
        return false;
    }
    if (old) {
        cJSON_ReplaceItemViaPointer(s->rows, old, row);
    } else {
        cJSON_AddItemToArray(s->rows, row);
        s->n++;
    }
    note(s, row);
    return true;
}

void rowset_drop(rowset *s, const char *uid)
{
    cJSON *old = find(s, uid);
    if (!old)
        return;
    hashmap_remove(s->by_uid, uid, strlen(uid)); // first: uid may point into the row
    cJSON_Delete(cJSON_DetachItemViaPointer(s->rows, old));
    s->n--;
}

cJSON *rowset_take_first(rowset *s)
{
    cJSON *row = s->rows->child;
    const char *uid = uid_of(row);
    if (!row)
        return NULL;
    if (uid)
        hashmap_remove(s->by_uid, uid, strlen(uid));
    s->n--;
    return cJSON_DetachItemViaPointer(s->rows, row);
}

const cJSON *rowset_get(const rowset *s, const char *uid)
{
    return find(s, uid);
}

void rowset_change(rowset *s, const cJSON *row)
{
    if (json_bool_or(row, "deleted", false))
        rowset_drop(s, json_str(row, "uid"));
    else
        rowset_put(s, cJSON_Duplicate(row, true));
}

void rowset_say_more(int64_t more, buf *out)
{
    if (more > 0)
        buf_fmt(
            out, "… and %lld more row%s not shown\n", (long long)more, more == 1 ? " is" : "s are");
}
