// SPDX-License-Identifier: MIT
#include "base/json/rowtexts.h"

#include "base/data/hashmap.h"
#include "base/mem.h"

#include <stddef.h>
#include <string.h>

struct text {
    struct text *before, *after;
    char json[]; // and after its end the uid
};

struct rowtexts {
    struct text *first, *last;
    hashmap *by_uid; // to the address of a text, which has the key
};

rowtexts *rowtexts_new(void)
{
    rowtexts *t = mem_alloc(sizeof *t);
    t->by_uid = hashmap_new_borrowing();
    return t;
}

void rowtexts_free(rowtexts *t)
{
    if (!t)
        return;
    for (struct text *one = t->first, *next; one; one = next) {
        next = one->after;
        free(one);
    }
    hashmap_free(t->by_uid);
    free(t);
}

static struct text *find(const rowtexts *t, const char *uid)
{
    size_t at;
    return uid && hashmap_get(t->by_uid, uid, strlen(uid), &at) ? (struct text *)at : NULL;
}

// Puts a text, whose neighbours are set, between them.
static void link_in(rowtexts *t, struct text *one)
{
    *(one->before ? &one->before->after : &t->first) = one;
    *(one->after ? &one->after->before : &t->last) = one;
}

static void unlink_from(rowtexts *t, struct text *one)
{
    *(one->before ? &one->before->after : &t->first) = one->after;
    *(one->after ? &one->after->before : &t->last) = one->before;
}

void rowtexts_put(rowtexts *t, const cJSON *row)
{
    const char *uid = json_str(row, "uid");
    if (!uid)
        return;
    size_t n = strlen(uid);
    AUTO_BUF json = {0};
    json_print(&json, row);
    struct text *old = find(t, uid), *one = mem_alloc(sizeof *one + json.len + 1 + n);
    memcpy(one->json, buf_cstr(&json), json.len + 1);
    memcpy(one->json + json.len + 1, uid, n);
    one->before = old ? old->before : t->last;
    one->after = old ? old->after : NULL;
    link_in(t, one);
    if (old)
        hashmap_remove(t->by_uid, uid, n); // also frees the key
    free(old);
    hashmap_set(t->by_uid, one->json + json.len + 1, n, (uintptr_t)one);
}

void rowtexts_drop(rowtexts *t, const char *uid)
{
    struct text *one = find(t, uid);
    if (!one)
        return;
    hashmap_remove(t->by_uid, uid, strlen(uid));
    unlink_from(t, one);
    free(one);
}

bool rowtexts_has(const rowtexts *t, const char *uid)
{
    return find(t, uid) != NULL;
}

cJSON *rowtexts_get(const rowtexts *t, const char *uid)
{
    const struct text *one = find(t, uid);
    return one ? json_parse(one->json, strlen(one->json), NULL) : NULL;
}

cJSON *rowtexts_array(const rowtexts *t)
{
    cJSON *rows = cJSON_CreateArray();
    for (const struct text *one = t->first; one; one = one->after)
        cJSON_AddItemToArray(rows, json_parse(one->json, strlen(one->json), NULL));
    return rows;
}
