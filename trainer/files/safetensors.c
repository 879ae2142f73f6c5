// SPDX-License-Identifier: MIT
#include "trainer/files/safetensors.h"

#include "base/mem.h"
#include "trainer/tensor/stored.h"

#include <string.h>

enum { LENGTH_SIZE = 8, HEADER_MAX = 100 * 1000 * 1000 };

static const struct {
    const char *name;
    stored_type type;
} dtypes[] = {{"BOOL", {'b', 1}}, {"U8", {'u', 1}}, {"I8", {'i', 1}}, {"I16", {'i', 2}},
    {"U16", {'u', 2}}, {"F8_E5M2", {'f', 1}}, {"F8_E4M3", {'n', 1}}, {"F16", {'f', 2}},
    {"BF16", {'g', 2}}, {"I32", {'i', 4}}, {"U32", {'u', 4}}, {"F32", {'f', 4}}, {"I64", {'i', 8}},
    {"U64", {'u', 8}}, {"F64", {'f', 8}}};

static const char *const own_dtypes[] = {[TENSOR_F32] = "F32",
    [TENSOR_U8] = "U8",
    [TENSOR_I64] = "I64",
    [TENSOR_I32] = "I32",
    [TENSOR_I16] = "I16"};

// A tensor's entry in the header, checked on its own.
struct entry {
    const char *name, *dtype;
    stored_type type;
    int dims;
    size_t shape[TENSOR_MAX_DIMS];
    size_t from, to;
};

static bool read_size(const cJSON *j, size_t *out)
{
    int64_t n;
    if (!j || !json_int(j, &n) || n < 0)
        return false;
    *out = (size_t)n;
    return true;
}

// The number of bytes for dtype and shape; false when they are not sane.
static bool needed(const cJSON *j, struct entry *en, size_t *bytes)
{
    const cJSON *item, *shape = json_get(j, "shape");
    *bytes = 0;
    en->dtype = json_str_or(j, "dtype", "");
    for (size_t i = 0; i < ARRAY_LEN(dtypes); i++)
        if (strcmp(dtypes[i].name, en->dtype) == 0)
            *bytes = (en->type = dtypes[i].type).bytes;
    if (!*bytes || !cJSON_IsArray(shape))
        return false;
    cJSON_ArrayForEach(item, shape)
    {
        size_t size;
        if (en->dims == TENSOR_MAX_DIMS || !read_size(item, &size) ||
            __builtin_mul_overflow(*bytes, size, bytes))
            return false;
        en->shape[en->dims++] = size;
    }
    return true;
}

static int read_entry(const cJSON *j, size_t limit, struct entry *en, err *e)
{
    const cJSON *offsets = json_get(j, "data_offsets");
    size_t bytes;
    *en = (struct entry){.name = j->string};
    bool sane = needed(j, en, &bytes);
    if (!en->type.bytes)
        return err_set(e, ERR_CORRUPT, "tensor \"%s\" has the dtype \"%s\", which is not read",
            en->name, en->dtype);
    if (!sane)
        return err_set(e, ERR_CORRUPT, "tensor \"%s\" has a bad shape", en->name);
    if (cJSON_GetArraySize(offsets) != 2 || !read_size(cJSON_GetArrayItem(offsets, 0), &en->from) ||
        !read_size(cJSON_GetArrayItem(offsets, 1), &en->to) || en->from > en->to)
        return err_set(e, ERR_CORRUPT, "tensor \"%s\" has bad offsets", en->name);
    if (en->to > limit)
        return err_set(
            e, ERR_CORRUPT, "truncated: tensor \"%s\" ends after the last byte", en->name);
    if (en->to - en->from != bytes)
        return err_set(e, ERR_CORRUPT, "tensor \"%s\" has %zu bytes, its shape needs %zu", en->name,
            en->to - en->from, bytes);
    return 0;
}

static bool is_metadata(const cJSON *j)
{
    return strcmp(j->string, "__metadata__") == 0;
}

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int check_names(struct entry *all, size_t n, err *e)
{
    qsort(all, n, sizeof *all, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(all[i - 1].name, all[i].name) == 0)
            return err_set(e, ERR_CORRUPT, "there are two tensors \"%s\"", all[i].name);
    return 0;
}

// Checks that all entries are sane, and that together they cover the data without gaps.
static int check_entries(const safetensors *s, err *e)
{
    AUTO_FREE struct entry *all = mem_array((size_t)cJSON_GetArraySize(s->header) + 1, sizeof *all);
    size_t n = 0, at = 0;
    const cJSON *j;
    cJSON_ArrayForEach(j, s->header)
    {
        if (!is_metadata(j) && read_entry(j, s->n, &all[n++], e) < 0)
            return -1;
    }
    if (check_names(all, n, e) < 0)
        return -1;
    qsort(all, n, sizeof *all, by_place);
    for (size_t i = 0; i < n; at = all[i++].to)
        if (all[i].from != at)
            return err_set(
                e, ERR_CORRUPT, "tensor \"%s\" overlaps another or leaves a hole", all[i].name);
    if (at != s->n)
        return err_set(e, ERR_CORRUPT, "there are %zu bytes after the last tensor", s->n - at);
    return 0;
}

static uint64_t little_endian_64(const uint8_t *p)
{
    uint64_t n = 0;
    for (int i = LENGTH_SIZE; i-- > 0;)
        n = n << 8 | p[i];
    return n;
}

bool safetensors_begins(const void *bytes, size_t n)
{
    return n > LENGTH_SIZE && little_endian_64(bytes) <= HEADER_MAX &&
           ((const char *)bytes)[LENGTH_SIZE] == '{';
}

int safetensors_open(safetensors *s, const void *bytes, size_t n, err *e)
{
    ERR_GUARD(e);
    *s = (safetensors){0};
    if (n < LENGTH_SIZE)
        return err_set(e, ERR_CORRUPT, "not safetensors: %zu bytes are too short", n);
    uint64_t length = little_endian_64(bytes);
    if (length > HEADER_MAX || length > n - LENGTH_SIZE)
        return err_set(e, ERR_CORRUPT, "not safetensors, or truncated: a header of %llu bytes",
            (unsigned long long)length);
    const char *text = (const char *)bytes + LENGTH_SIZE;
    if (length == 0 || text[0] != '{')
        return err_set(e, ERR_CORRUPT, "not safetensors: the header is no JSON object");
    s->header = json_parse(text, length, e);
    if (!s->header) {
        e->code = ERR_CORRUPT;
        return err_wrap(e, "the safetensors header");
    }
    s->data = text + length;
    s->n = n - LENGTH_SIZE - length;
    if (check_entries(s, e) == 0)
        return 0;
    safetensors_done(s);
    return -1;
}

void safetensors_done(safetensors *s)
{
    cJSON_Delete(s->header);
    *s = (safetensors){0};
}

const char *safetensors_text(const safetensors *s, const char *key)
{
    return json_str(json_get(s->header, "__metadata__"), key);
}

bool safetensors_has(const safetensors *s, const char *name)
{
    return json_get(s->header, name) != NULL;
}

const char *safetensors_name(const safetensors *s, size_t i)
{
    const cJSON *j = s->header->child;
    for (; j; j = j->next)
        if (!is_metadata(j) && i-- == 0)
            return j->string;
    return NULL;
}

tensor *safetensors_get(const safetensors *s, const char *name, err *e)
{
    const cJSON *j = json_get(s->header, name);
    struct entry en;
    if (!j || is_metadata(j)) {
        err_set(e, ERR_CORRUPT, "tensor \"%s\" is missing", name);
        return NULL;
    }
    if (read_entry(j, s->n, &en, e) < 0)
        return NULL;
    tensor *t = tensor_new(stored_as(en.type), en.dims, en.shape, e);
    if (t && stored_is_native(en.type)) {
        memcpy(t->data, s->data + en.from, en.to - en.from);
        return t;
    }
    for (size_t i = 0; t && i < tensor_count(t); i++)
        if (stored_read(en.type, s->data + en.from, i, t, i, e) < 0) {
            err_wrap(e, "tensor \"%s\"", name);
            tensor_free(t);
            return NULL;
        }
    return t;
}

void safetensors_begin(safetensors_writer *w)
{
    *w = (safetensors_writer){.header = cJSON_CreateObject()};
}

void safetensors_add_text(safetensors_writer *w, const char *key, const char *text)
{
    json_set_str(json_object_at(w->header, "__metadata__"), key, text);
}

void safetensors_add(safetensors_writer *w, const char *name, const tensor *t)
{
    cJSON *j = json_object_at(w->header, name);
    json_set_str(j, "dtype", own_dtypes[stored_written_as(t)]);
    cJSON *shape = json_array_at(j, "shape"), *offsets = json_array_at(j, "data_offsets");
    for (int i = 0; i < t->dims; i++)
        cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)t->shape[i]));
    cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)w->data.len));
    stored_write(t, &w->data);
    cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)w->data.len));
}

void safetensors_finish(safetensors_writer *w, buf *out)
{
    AUTO_BUF header = {0};
    json_print(&header, w->header);
    while (header.len % LENGTH_SIZE) // so that the data is aligned
        buf_char(&header, ' ');
    for (int i = 0; i < LENGTH_SIZE; i++)
        buf_char(out, (char)(header.len >> (8 * i) & 0xff));
    buf_add(out, header.data, header.len);
    buf_add(out, w->data.data, w->data.len);
    buf_done(&w->data);
    cJSON_Delete(w->header);
    *w = (safetensors_writer){0};
}
