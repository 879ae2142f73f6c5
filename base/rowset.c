// SPDX-License-Identifier: MIT
#include "base/rowset.h"

#include "base/hashmap.h"
#include "base/mem.h"

#include <string.h>

struct rowset {
    cJSON *rows;
    hashmap *by_uid; // addresses of items
};

static void note(rowset *s, const cJSON *row)
{
    const char *uid = json_str(row, "uid");
    if (uid)
        hashmap_set(s->by_uid, uid, strlen(uid), (uintptr_t)row);
}

static cJSON *find(const rowset *s, const char *uid)
{
    size_t row;
    return uid && hashmap_get(s->by_uid, uid, strlen(uid), &row) ? (cJSON *)row : NULL;
}

rowset *rowset_new(cJSON *rows)
{
    rowset *s = mem_alloc(sizeof *s);
    const cJSON *row;
    *s = (rowset){.rows = rows, .by_uid = hashmap_new()};
    cJSON_ArrayForEach(row, rows)
    {
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

void rowset_put(rowset *s, cJSON *row)
{
    cJSON *old = find(s, json_str(row, "uid"));
    if (old)
        cJSON_ReplaceItemViaPointer(s->rows, old, row);
    else
        cJSON_AddItemToArray(s->rows, row);
    note(s, row);
}

void rowset_drop(rowset *s, const char *uid)
{
    cJSON *old = find(s, uid);
    if (!old)
        return;
    hashmap_remove(s->by_uid, uid, strlen(uid)); // first: the uid may be the row's own
    cJSON_Delete(cJSON_DetachItemViaPointer(s->rows, old));
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
