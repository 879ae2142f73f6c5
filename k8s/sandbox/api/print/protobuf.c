// SPDX-License-Identifier: MIT
// As https://protobuf.dev/programming-guides/encoding/ says. Types that are not plain messages in
// JSON (Time, Quantity, IntOrString) follow their generated.proto files.
#include "k8s/sandbox/api/print/protobuf.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { DEPTH_MAX = 60 };

struct reader {
    const unsigned char *at, *end;
};

// One field as read: a number for VARINT, else a run of bytes.
struct token {
    unsigned number;
    enum wire wire;
    uint64_t value;
    struct reader bytes;
};

static bool read_varint(struct reader *r, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; r->at < r->end && shift < 64; shift += 7) {
        unsigned char b = *r->at++;
        *value |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return true;
    }
    return false;
}

static bool skip(struct reader *r, uint64_t n, struct reader *bytes)
{
    if (n > (uint64_t)(r->end - r->at))
        return false;
    *bytes = (struct reader){r->at, r->at + n};
    r->at += n;
    return true;
}

static bool read_token(struct reader *r, struct token *t)
{
    uint64_t tag, n;
    if (!read_varint(r, &tag) || tag >> 3 > UINT32_MAX)
        return false;
    *t = (struct token){.number = (unsigned)(tag >> 3), .wire = tag & 7};
    switch (t->wire) {
    case VARINT:
        return read_varint(r, &t->value);
    case BYTES:
        return read_varint(r, &n) && skip(r, n, &t->bytes);
    case FIXED64:
        return skip(r, 8, &t->bytes);
    case FIXED32:
        return skip(r, 4, &t->bytes);
    }
    return false;
}

static cJSON *text_of(struct reader r)
{
    AUTO_BUF b = {0};
    utf8_clean(&b, (const char *)r.at, (size_t)(r.end - r.at));
    return cJSON_CreateString(buf_cstr(&b));
}

static cJSON *base64_of(struct reader r)
{
    AUTO_BUF b = {0};
    base64_encode(&b, r.at, (size_t)(r.end - r.at));
    return cJSON_CreateString(buf_cstr(&b));
}

// A message of up to three fields, found by number: scalars, or one string.
struct small {
    int64_t numbers[4];
    struct reader text;
};

static bool read_small(struct reader r, struct small *s)
{
    struct token t;
    *s = (struct small){0};
    while (r.at < r.end) {
        if (!read_token(&r, &t))
            return false;
        if (t.wire == BYTES)
            s->text = t.bytes;
        else if (t.wire == VARINT && t.number < ARRAY_LEN(s->numbers))
            s->numbers[t.number] = (int64_t)t.value;
    }
    return true;
}

// Timestamp {seconds = 1, nanos = 2}; Go's zero time is an empty message, and has no field in JSON.
static cJSON *time_of(struct reader r, enum clock_precision precision)
{
    struct small s;
    AUTO_BUF b = {0};
    if (r.at == r.end || !read_small(r, &s) || s.numbers[1] > INT64_C(9000000000) ||
        s.numbers[1] < 0)
        return NULL;
    clock_rfc3339(&b, s.numbers[1] * CLOCK_SEC + s.numbers[2], precision);
    return cJSON_CreateString(buf_cstr(&b));
}

// IntOrString {type = 1, intVal = 2, strVal = 3}
static cJSON *int_or_string_of(struct reader r)
{
    struct small s;
    if (!read_small(r, &s))
        return NULL;
    return s.numbers[1] ? text_of(s.text) : json_new_int((int32_t)s.numbers[2]);
}

static cJSON *quantity_of(struct reader r)
{
    struct small s;
    return read_small(r, &s) ? text_of(s.text) : NULL;
}

static bool decode_message(const struct schema *s, struct reader r, cJSON *o, int depth);

// NULL: there is nothing to keep, or a message is damaged.
static cJSON *value_of(const struct schema *s, const struct token *t, int depth)
{
    if (t->wire == VARINT)
        return s->type == SCHEMA_BOOL  ? cJSON_CreateBool(t->value != 0)
               : s->type == SCHEMA_INT ? json_new_int((int64_t)t->value)
                                       : NULL;
    if (t->wire != BYTES)
        return NULL;
    switch (s->type) {
    case SCHEMA_STRING:
        return text_of(t->bytes);
    case SCHEMA_BYTES:
        return base64_of(t->bytes);
    case SCHEMA_TIME:
        return time_of(t->bytes, CLOCK_SECONDS);
    case SCHEMA_MICRO_TIME:
        return time_of(t->bytes, CLOCK_MICROS);
    case SCHEMA_INT_OR_STRING:
        return int_or_string_of(t->bytes);
    case SCHEMA_QUANTITY:
        return quantity_of(t->bytes);
    case SCHEMA_OBJECT: {
        cJSON *o = cJSON_CreateObject();
        if (decode_message(s, t->bytes, o, depth + 1))
            return o;
        cJSON_Delete(o);
        return NULL;
    }
    default:
        return NULL;
    }
}

// Go also writes plain fields whose value is zero; JSON leaves them out.
static bool is_zero(const cJSON *v)
{
    int64_t n;
    return (cJSON_IsString(v) && !*v->valuestring) || cJSON_IsFalse(v) || (json_int(v, &n) && !n);
}

// A map's entry {key = 1, value = 2}.
static bool add_entry(const struct schema *s, struct reader r, cJSON *map, int depth)
{
    struct token t;
    AUTO_JSON *key = NULL, *value = NULL;
    while (r.at < r.end) {
        if (!read_token(&r, &t))
            return false;
        cJSON **at = t.number == 1 ? &key : &value;
        cJSON_Delete(*at);
        *at = t.number == 1 ? text_of(t.bytes) : value_of(s, &t, depth);
    }
    if (key)
        json_set(map, key->valuestring, value ? STEAL(value) : cJSON_CreateString(""));
    return true;
}

static bool add_field(const struct schema_field *f, const struct token *t, cJSON *o, int depth)
{
    if (f->shape == SHAPE_INLINE)
        return t->wire == BYTES && decode_message(f->type, t->bytes, o, depth + 1);
    if (f->shape == SHAPE_MAP)
        return t->wire == BYTES && add_entry(f->type, t->bytes, json_object_at(o, f->name), depth);
    cJSON *v = value_of(f->type, t, depth);
    if (f->shape == SHAPE_LIST) {
        if (v)
            cJSON_AddItemToArray(json_array_at(o, f->name), v);
        return v || f->type->type != SCHEMA_OBJECT;
    }
    if (v && (f->keeps_zero || !is_zero(v)))
        json_set(o, f->name, v);
    else
        cJSON_Delete(v);
    return v || f->type->type != SCHEMA_OBJECT;
}

static const struct schema_field *by_number(const struct schema *s, unsigned number)
{
    for (size_t i = 0; number && i < s->n; i++)
        if (s->fields[i].number == number)
            return &s->fields[i];
    return NULL;
}

static bool decode_message(const struct schema *s, struct reader r, cJSON *o, int depth)
{
    struct token t;
    if (depth > DEPTH_MAX)
        return false;
    while (r.at < r.end) {
        if (!read_token(&r, &t))
            return false;
        const struct schema_field *f = by_number(s, t.number);
        if (f && !add_field(f, &t, o, depth))
            return false;
    }
    return true;
}

static bool read_type(struct reader r, cJSON *o)
{
    struct token t;
    while (r.at < r.end) {
        if (!read_token(&r, &t))
            return false;
        if (t.wire == BYTES && (t.number == 1 || t.number == 2))
            json_set(o, t.number == 1 ? "apiVersion" : "kind", text_of(t.bytes));
    }
    return true;
}

// Unknown {typeMeta {apiVersion = 1, kind = 2} = 1, raw = 2}
static bool decode_envelope(const struct schema *s, struct reader r, cJSON *o)
{
    struct token t;
    while (r.at < r.end) {
        if (!read_token(&r, &t))
            return false;
        if (t.number == 1 && t.wire == BYTES && !read_type(t.bytes, o))
            return false;
        if (t.number == 2 && t.wire == BYTES && !decode_message(s, t.bytes, o, 0))
            return false;
    }
    return true;
}

cJSON *protobuf_decode(const struct schema *s, const void *bytes, size_t n, err *e)
{
    static const char magic[4] = {'k', '8', 's', 0};
    const unsigned char *p = bytes;
    cJSON *o = cJSON_CreateObject();
    if (n >= sizeof magic && memcmp(p, magic, sizeof magic) == 0 &&
        decode_envelope(s, (struct reader){p + sizeof magic, p + n}, o))
        return o;
    cJSON_Delete(o);
    err_set(e, ERR_INVALID, "the protobuf of the request is damaged");
    return NULL;
}
