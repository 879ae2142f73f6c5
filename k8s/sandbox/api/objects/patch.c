// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/objects/patch.h"

#include "base/json/jsonmerge.h"
#include "base/json/jsonpointer.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

cJSON *patch_merge(const cJSON *object, const cJSON *patch)
{
    return json_merge(object, patch);
}

static int missing(err *e, const char *op, const char *pointer)
{
    return err_set(e, ERR_INVALID,
        "the server rejected our request due to an error in our request: %s operation does not "
        "apply: doc is missing path: %s",
        op, pointer);
}

// We do not use cJSON_InsertItemInArray: Debian's 1.7.15 refuses every place but the first.
static void insert(cJSON *array, int at, cJSON *value)
{
    cJSON *behind = cJSON_CreateArray(), *item;
    while ((item = cJSON_DetachItemFromArray(array, at)))
        cJSON_AddItemToArray(behind, item);
    cJSON_AddItemToArray(array, value);
    while ((item = cJSON_DetachItemFromArray(behind, 0)))
        cJSON_AddItemToArray(array, item);
    cJSON_Delete(behind);
}

static int add(cJSON *root, const char *op, const char *pointer, cJSON *value, err *e)
{
    char *last;
    cJSON *parent = json_pointer_parent(root, pointer, &last);
    AUTO_FREE char *word = last;
    int i = cJSON_IsArray(parent) && word
                ? json_pointer_index(word, cJSON_GetArraySize(parent), true)
                : -1;
    if (cJSON_IsObject(parent)) {
        json_set(parent, word, value);
    } else if (i >= 0) {
        insert(parent, i, value);
    } else {
        cJSON_Delete(value);
        return missing(e, op, pointer);
    }
    return 0;
}

static cJSON *take(cJSON *root, const char *op, const char *pointer, err *e)
{
    cJSON *found = *pointer ? (cJSON *)json_pointer_get(root, pointer) : NULL;
    if (!found) {
        missing(e, op, pointer);
        return NULL;
    }
    char *last;
    cJSON *parent = json_pointer_parent(root, pointer, &last);
    free(last);
    return cJSON_DetachItemViaPointer(parent, found);
}

// A member of an object need not exist: kube-apiserver allows that.
static int replace(cJSON *root, const char *pointer, const cJSON *value, err *e)
{
    char *last;
    cJSON *parent = json_pointer_parent(root, pointer, &last);
    free(last);
    if (!cJSON_IsObject(parent)) {
        cJSON *old = take(root, "replace", pointer, e);
        if (!old)
            return -1;
        cJSON_Delete(old);
    }
    return add(root, "replace", pointer, cJSON_Duplicate(value, true), e);
}

static int test(cJSON *root, const char *pointer, const cJSON *value, err *e)
{
    const cJSON *found = json_pointer_get(root, pointer);
    if (found && json_equal(found, value))
        return 0;
    return err_set(e, ERR_INVALID,
        "the server rejected our request due to an error in our request: testing value %s failed",
        pointer);
}

// RFC 6902
static int operate(cJSON *root, const cJSON *o, err *e)
{
    const char *op = json_str_or(o, "op", ""), *path = json_str(o, "path");
    const char *from = json_str(o, "from");
    const cJSON *value = json_get(o, "value");
    bool copies = str_eq(op, "copy"), moves = str_eq(op, "move");
    bool valued = str_eq(op, "add") || str_eq(op, "replace") || str_eq(op, "test");
    if (!path || (valued && !value) || ((copies || moves) && !from))
        return err_set(
            e, ERR_USAGE, "invalid JSON patch: %s operation without path, value or from", op);
    if (str_eq(op, "add"))
        return add(root, op, path, cJSON_Duplicate(value, true), e);
    if (str_eq(op, "replace"))
        return replace(root, path, value, e);
    if (str_eq(op, "test"))
        return test(root, path, value, e);
    if (copies) {
        const cJSON *source = json_pointer_get(root, from);
        return source ? add(root, op, path, cJSON_Duplicate(source, true), e)
                      : missing(e, op, from);
    }
    if (!moves && !str_eq(op, "remove"))
        return err_set(e, ERR_INVALID,
            "the server rejected our request due to an error in our request: unexpected "
            "operation: %s",
            op);
    cJSON *taken = take(root, op, moves ? from : path, e);
    if (!taken || moves)
        return taken ? add(root, op, path, taken, e) : -1;
    cJSON_Delete(taken);
    return 0;
}

cJSON *patch_json(const cJSON *object, const cJSON *operations, err *e)
{
    if (!cJSON_IsArray(operations)) {
        err_set(e, ERR_USAGE, "error decoding patch: a JSON patch is a list of operations");
        return NULL;
    }
    cJSON *result = cJSON_Duplicate(object, true);
    const cJSON *o;
    cJSON_ArrayForEach(o, operations) if (operate(result, o, e) != 0)
    {
        cJSON_Delete(result);
        return NULL;
    }
    return result;
}
