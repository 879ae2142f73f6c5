// SPDX-License-Identifier: MIT
#include "base/json/shape.h"

#include "base/json/yaml.h"
#include "base/str.h"

#include <string.h>

const struct shape shape_any = {SHAPE_ANY}, shape_string = {SHAPE_STRING},
                   shape_bool = {SHAPE_BOOL}, shape_base64 = {SHAPE_BASE64},
                   shape_strings = {SHAPE_LIST, .of = &shape_string};

static const char *const kinds[] = {
#define X(name, text) [SHAPE_##name] = text,
    SHAPE_KINDS(X)
#undef X
};

struct checking {
    const char *text;
    size_t n;
    err *e;
};

// "users[1].user.token"
static void name_field(buf *out, const struct yaml_step *step)
{
    if (!step->up)
        return;
    name_field(out, step->up);
    if (!step->value->string)
        buf_fmt(out, "[%zu]", yaml_step_index(step));
    else if (*step->value->string && !step->value->string[strcspn(step->value->string, ". []\"")])
        buf_fmt(out, "%s%s", step->up->up ? "." : "", str_short(step->value->string, 100).text);
    else
        buf_fmt(out, "[\"%s\"]", str_short(step->value->string, 100).text);
}

static const char *type_of(const cJSON *j)
{
    return cJSON_IsString(j)   ? "a text"
           : cJSON_IsBool(j)   ? "true or false"
           : cJSON_IsArray(j)  ? "a list"
           : cJSON_IsObject(j) ? "a mapping"
                               : "a number";
}

static int complain(const struct checking *c, const struct yaml_step *step, const char *what)
{
    AUTO_BUF place = {0}, field = {0};
    size_t line, column;
    if (yaml_place(c->text, c->n, step, &line, &column))
        buf_fmt(&place, "line %zu, column %zu: ", line, column);
    name_field(&field, step);
    return err_set(
        c->e, ERR_INVALID, "%s%s %s", buf_cstr(&place), field.len ? buf_cstr(&field) : "it", what);
}

static int wrong_type(
    const struct checking *c, const struct yaml_step *step, enum shape_kind wanted)
{
    const cJSON *j = step->value;
    bool scalar = !cJSON_IsArray(j) && !cJSON_IsObject(j);
    bool quote = (wanted == SHAPE_STRING || wanted == SHAPE_BASE64) && scalar;
    AUTO_BUF what = {0};
    buf_fmt(&what, "must be %s, and is %s%s", kinds[wanted], type_of(j),
        quote                                       ? ": write it in quotes"
        : wanted == SHAPE_BOOL && cJSON_IsString(j) ? ": write it without quotes"
                                                    : "");
    return complain(c, step, buf_cstr(&what));
}

static bool has_type(const cJSON *j, enum shape_kind kind)
{
    return kind == SHAPE_ANY || cJSON_IsNull(j)           ? true
           : kind == SHAPE_STRING || kind == SHAPE_BASE64 ? cJSON_IsString(j)
           : kind == SHAPE_BOOL                           ? cJSON_IsBool(j)
           : kind == SHAPE_LIST                           ? cJSON_IsArray(j)
                                                          : cJSON_IsObject(j);
}

static int check(const struct checking *c, const struct shape *s, const struct yaml_step *step);

static int check_each(
    const struct checking *c, const struct shape *of, const struct yaml_step *step)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, step->value)
    {
        if (check(c, of, &(struct yaml_step){step, item}) != 0)
            return -1;
    }
    return 0;
}

static int check_fields(
    const struct checking *c, const struct shape_field *fields, const struct yaml_step *step)
{
    for (const struct shape_field *f = fields; f->name; f++) {
        const cJSON *value = json_get(step->value, f->name);
        if (value && check(c, f->shape, &(struct yaml_step){step, value}) != 0)
            return -1;
    }
    return 0;
}

static int check(const struct checking *c, const struct shape *s, const struct yaml_step *step)
{
    const cJSON *j = step->value;
    if (!has_type(j, s->kind))
        return wrong_type(c, step, s->kind);
    if (cJSON_IsNull(j))
        return 0;
    if (s->kind == SHAPE_BASE64) {
        AUTO_BUF bytes = {0};
        if (base64_decode(&bytes, j->valuestring, strlen(j->valuestring), NULL) != 0)
            return complain(c, step, "is not base64");
    }
    if (s->kind == SHAPE_OBJECT)
        return check_fields(c, s->fields, step);
    return s->kind == SHAPE_LIST || s->kind == SHAPE_MAP ? check_each(c, s->of, step) : 0;
}

int shape_check(const struct shape *s, const cJSON *j, const char *text, size_t n, err *e)
{
    return check(&(struct checking){text, n, e}, s, &(struct yaml_step){NULL, j});
}
