// SPDX-License-Identifier: MIT
// Attributes as members of a JSON object: how files have them.
#include "base/mem.h"
#include "base/str.h"
#include "trainer/declared/attribute.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define EACH(a, d)                                                                                 \
    const attribute *a = attribute_next(d, NULL);                                                  \
    a;                                                                                             \
    a = attribute_next(d, a)

static const char *key_of(const attribute *a)
{
    return a->file ? a->file : a->name;
}

int json_read_number(const cJSON *j, const char *key, double otherwise, double *out, err *e)
{
    const cJSON *number = json_get(j, key);
    *out = cJSON_IsNumber(number) ? number->valuedouble : otherwise;
    return isfinite(*out) || (isinf(otherwise) && isinf(*out))
               ? 0
               : err_set(e, ERR_INVALID, "%s is not finite", key);
}

static bool read_size(const cJSON *j, bool zero, size_t *size)
{
    int64_t n;
    if (!j || !json_int(j, &n) || n < !zero || n > SIZE_MOST)
        return false;
    *size = (size_t)n;
    return true;
}

size_t json_size(const cJSON *j, const char *key)
{
    size_t n;
    return read_size(json_get(j, key), false, &n) ? n : 0;
}

void json_write_sizes(cJSON *j, const char *key, const size_t *sizes, size_t n)
{
    cJSON *list = json_array_at(j, key);
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)sizes[i]));
}

int json_read_sizes(const cJSON *j, const char *key, size_t *sizes, int most, bool zeros, err *e)
{
    const cJSON *item;
    int n = 0;
    cJSON_ArrayForEach(item, json_get(j, key))
    {
        if (n == most || !read_size(item, zeros, &sizes[n++]))
            return err_set(e, ERR_INVALID, "\"%s\" is not a list of at most %d sizes", key, most);
    }
    return n;
}

// Sizes of 0 or 1 may mean the same, so all up to the default are left out.
static bool is_default(const attribute *a, const void *at)
{
    switch (a->type) {
    case ATTRIBUTE_SIZE:
    case ATTRIBUTE_PAIR:
    case ATTRIBUTE_LENGTH:
        return *(const size_t *)at <= (size_t)a->otherwise;
    case ATTRIBUTE_NUMBER:
    case ATTRIBUTE_RATE:
        return !(*(const double *)at < a->otherwise) && !(*(const double *)at > a->otherwise);
    case ATTRIBUTE_BOOL:
        return *(const bool *)at == (a->otherwise > 0);
    case ATTRIBUTE_NOT:
        return !*(const bool *)at;
    case ATTRIBUTE_CHOICE:
    case ATTRIBUTE_AXIS:
    case ATTRIBUTE_AXES:
        return *(const int *)at == (int)a->otherwise;
    default:
        return false;
    }
}

static void write_numbers(cJSON *out, const char *key, const number_list *list)
{
    cJSON *array = json_array_at(out, key);
    for (size_t i = 0; i < list->n; i++)
        cJSON_AddItemToArray(array, cJSON_CreateNumber(list->values[i]));
}

static void write_one(const attribute *a, const void *at, cJSON *out)
{
    const char *key = key_of(a);
    const row_shape *shape = at;
    switch (a->type) {
    case ATTRIBUTE_SIZE:
        json_set_int(out, key, (int64_t) * (const size_t *)at);
        break;
    case ATTRIBUTE_WHOLE:
        json_set_int(out, key, *(const int64_t *)at);
        break;
    case ATTRIBUTE_NUMBER:
    case ATTRIBUTE_RATE:
        json_set(out, key, cJSON_CreateNumber(*(const double *)at));
        break;
    case ATTRIBUTE_FLOAT:
        json_set(out, key, cJSON_CreateNumber((double)*(const float *)at));
        break;
    case ATTRIBUTE_BOOL:
    case ATTRIBUTE_NOT:
        json_set_bool(out, key, *(const bool *)at == (a->type == ATTRIBUTE_BOOL));
        break;
    case ATTRIBUTE_CHOICE:
        json_set_str(out, key, a->choices[*(const int *)at]);
        break;
    case ATTRIBUTE_PAIR:
        json_write_sizes(out, key, at, 2);
        break;
    case ATTRIBUTE_LENGTH:
        json_write_sizes(out, key, at, 1);
        break;
    case ATTRIBUTE_SIDES:
        json_write_sizes(out, key, at, 4);
        break;
    case ATTRIBUTE_SHAPE:
    case ATTRIBUTE_OPEN_SHAPE:
        json_write_sizes(out, key, shape->size, (size_t)shape->dims);
        break;
    case ATTRIBUTE_AXIS:
        json_set_int(out, key, *(const int *)at);
        break;
    case ATTRIBUTE_AXES:
        json_set_int(out, key, ((const axis_range *)at)->first);
        if (((const axis_range *)at)->n > 1)
            json_set_int(out, "axes", (int64_t)((const axis_range *)at)->n);
        break;
    case ATTRIBUTE_NUMBERS:
        write_numbers(out, key, at);
        break;
    case ATTRIBUTE_LUA:
        break;
    }
}

void declaration_write(const declaration *d, const void *own, cJSON *out)
{
    for (EACH(a, d)) {
        const void *at = attribute_of(a, own);
        if (!a->no_file && !(a->sparse && is_default(a, at)))
            write_one(a, at, out);
    }
}

static int read_choice(const attribute *a, const cJSON *in, int *at, err *e)
{
    const char *text = json_str(in, key_of(a));
    return text ? attribute_parse_choice(a, text, at, e) : 0;
}

static int read_axis(const attribute *a, const cJSON *in, int *at, err *e)
{
    int64_t axis = json_int_or(in, key_of(a), *at);
    if (axis < -TENSOR_MAX_DIMS || axis > TENSOR_MAX_DIMS)
        return err_set(e, ERR_INVALID, "the axis is out of range");
    *at = (int)axis;
    return 0;
}

static int read_shape(const attribute *a, const cJSON *in, row_shape *at, err *e)
{
    bool open = a->type == ATTRIBUTE_OPEN_SHAPE;
    at->dims = json_read_sizes(in, key_of(a), at->size, TENSOR_MAX_DIMS, open, e);
    return at->dims < 0 ? -1 : 0;
}

static int read_list(const attribute *a, const cJSON *in, number_list *at, err *e)
{
    size_t i = 0;
    const cJSON *item, *list = json_get(in, key_of(a));
    int n = cJSON_GetArraySize(list);
    if (n < 1 || n > NUMBERS_MOST)
        return err_set(e, ERR_INVALID, "%s must have 1 to %d numbers", key_of(a), NUMBERS_MOST);
    double *values = mem_array((size_t)n, sizeof *values);
    cJSON_ArrayForEach(item, list) values[i++] = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    *at = (number_list){values, (size_t)n};
    return 0;
}

// The file is wrong, and not who uses it.
static int check_number(const attribute *a, double value, err *e)
{
    err why;
    if (a->least >= a->most || attribute_check_number(a, value, NULL, &why) == 0)
        return 0;
    return err_set(e, ERR_INVALID, "%s", why.text);
}

// What the file does not have keeps its default. A list is never longer than the field.
static int read_one(const attribute *a, const cJSON *in, bool later, void *at, err *e)
{
    const char *key = key_of(a);
    double number = 0;
    switch (a->type) {
    case ATTRIBUTE_SIZE:
        *(size_t *)at = json_get(in, key) ? json_size(in, key) : *(size_t *)at;
        return 0;
    case ATTRIBUTE_WHOLE:
        *(int64_t *)at = json_int_or(in, key, *(int64_t *)at);
        return 0;
    case ATTRIBUTE_NUMBER:
    case ATTRIBUTE_RATE:
        if (json_read_number(in, key, a->otherwise, at, e) < 0)
            return -1;
        return later ? 0 : check_number(a, *(double *)at, e);
    case ATTRIBUTE_FLOAT:
        if (json_read_number(in, key, a->otherwise, &number, e) < 0)
            return -1;
        *(float *)at = (float)number;
        return 0;
    case ATTRIBUTE_BOOL:
        *(bool *)at = json_bool_or(in, key, *(bool *)at);
        return 0;
    case ATTRIBUTE_NOT:
        *(bool *)at = !json_bool_or(in, key, true);
        return 0;
    case ATTRIBUTE_CHOICE:
        return read_choice(a, in, at, e);
    case ATTRIBUTE_PAIR:
    case ATTRIBUTE_LENGTH:
        return json_read_sizes(in, key, at, 2, false, e) < 0 ? -1 : 0;
    case ATTRIBUTE_SIDES:
        return json_read_sizes(in, key, at, 4, true, e) < 0 ? -1 : 0;
    case ATTRIBUTE_SHAPE:
    case ATTRIBUTE_OPEN_SHAPE:
        return read_shape(a, in, at, e);
    case ATTRIBUTE_AXIS:
        return read_axis(a, in, at, e);
    case ATTRIBUTE_AXES:
        ((axis_range *)at)->n = json_size(in, "axes");
        return read_axis(a, in, &((axis_range *)at)->first, e);
    case ATTRIBUTE_NUMBERS:
        return read_list(a, in, at, e);
    case ATTRIBUTE_LUA:
        return 0;
    }
    return 0;
}

int declaration_read(const declaration *d, void *own, const cJSON *in, err *e)
{
    declaration_defaults(d, own);
    for (EACH(a, d))
        if (!a->no_file && read_one(a, in, d->checked_later, attribute_at(a, own), e) < 0)
            return -1;
    return 0;
}
