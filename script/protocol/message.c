// SPDX-License-Identifier: MIT
#include "script/protocol/message.h"

#include "base/mem.h"
#include "base/str.h"

enum kind { KIND_STR, KIND_INT, KIND_NUM, KIND_BOOL, KIND_OBJ, KIND_ARR, KIND_ANY };
enum need { NEED_OPTIONAL, NEED_NEEDED };

static const struct {
    const char *name;
    message_direction direction;
    const char *doc;
} messages[] = {
    {NULL, MESSAGE_OUT, NULL},
#define IN                            MESSAGE_IN
#define OUT                           MESSAGE_OUT
#define EVENT                         MESSAGE_EVENT
#define MESSAGE(name, direction, doc) {#name, direction, doc},
#define FIELD(message, name, kind, need, doc)
#include "script/protocol/message.def"
#undef MESSAGE
#undef FIELD
#undef IN
#undef OUT
#undef EVENT
};

// In the order of the messages: message_check walks through the fields of its message.
static const struct field {
    message_type message;
    const char *name;
    enum kind kind;
    enum need need;
    const char *doc;
} fields[] = {
#define MESSAGE(name, direction, doc)
#define FIELD(message, name, kind, need, doc)                                                      \
    {MESSAGE_##message, #name, KIND_##kind, NEED_##need, doc},
#include "script/protocol/message.def"
#undef MESSAGE
#undef FIELD
};

static const char *const kind_names[] = {[KIND_STR] = "string",
    [KIND_INT] = "integer",
    [KIND_NUM] = "number",
    [KIND_BOOL] = "boolean",
    [KIND_OBJ] = "object",
    [KIND_ARR] = "array",
    [KIND_ANY] = "any"};

const char *message_type_name(message_type type)
{
    return messages[type].name;
}

message_direction message_direction_of(message_type type)
{
    return messages[type].direction;
}

message_type message_type_of(const cJSON *message)
{
    const char *name = json_str(message, "type");
    for (size_t i = 1; name && i < ARRAY_LEN(messages); i++)
        if (str_eq(messages[i].name, name))
            return (message_type)i;
    return MESSAGE_NONE;
}

cJSON *message_new(message_type type)
{
    cJSON *message = cJSON_CreateObject();
    json_set_str(message, "type", messages[type].name);
    return message;
}

static bool fits(const cJSON *value, enum kind kind)
{
    int64_t ignored;
    double number;
    switch (kind) {
    case KIND_STR:
        return cJSON_IsString(value);
    case KIND_INT:
        return json_int(value, &ignored);
    case KIND_NUM:
        return json_number(value, &number);
    case KIND_BOOL:
        return cJSON_IsBool(value);
    case KIND_OBJ:
        return cJSON_IsObject(value);
    case KIND_ARR:
        return cJSON_IsArray(value);
    case KIND_ANY:
        return true;
    }
    return false;
}

static int unknown(const cJSON *message, err *e)
{
    const char *name = json_str(message, "type");
    if (!name)
        return err_set(e, ERR_INVALID, "a message needs a \"type\"");
    const char *nearest = NULL;
    size_t best = str_slips(name) + 1;
    for (size_t i = 1; i < ARRAY_LEN(messages); i++) {
        size_t distance = str_distance(messages[i].name, name);
        if (distance < best) {
            best = distance;
            nearest = messages[i].name;
        }
    }
    return nearest ? err_set(e, ERR_INVALID, "no message \"%s\"; is it \"%s\"?", name, nearest)
                   : err_set(e, ERR_INVALID, "no message \"%s\"", name);
}

int message_check(const cJSON *message, err *e)
{
    message_type type = message_type_of(message);
    if (type == MESSAGE_NONE)
        return unknown(message, e);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct field *f = &fields[i];
        if (f->message != type)
            continue;
        const cJSON *value = json_get(message, f->name);
        if (!value && f->need == NEED_NEEDED)
            return err_set(e, ERR_INVALID, "%s needs \"%s\"", messages[type].name, f->name);
        if (value && !fits(value, f->kind))
            return err_set(e, ERR_INVALID, "%s: \"%s\" must be of type %s", messages[type].name,
                f->name, kind_names[f->kind]);
    }
    return 0;
}

static void document_message(buf *out, message_type type)
{
    buf_fmt(out, "### %s\n%s\n", messages[type].name, messages[type].doc);
    const char *head = "\n| field | type | |\n|---|---|---|\n";
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct field *f = &fields[i];
        if (f->message != type)
            continue;
        buf_fmt(out, "%s| `%s` | %s%s | %s |\n", head, f->name, kind_names[f->kind],
            f->need == NEED_NEEDED ? "" : ", optional", f->doc);
        head = "";
    }
    buf_str(out, "\n");
}

void message_document(buf *out)
{
    static const char *const titles[] = {[MESSAGE_IN] = "## To the kernel\n\n",
        [MESSAGE_OUT] = "## Answers to one client\n\n",
        [MESSAGE_EVENT] = "## Events: to every client, and into the journal\n\n"};
    for (message_direction d = MESSAGE_IN; d <= MESSAGE_EVENT; d++) {
        buf_str(out, titles[d]);
        for (size_t i = 1; i < ARRAY_LEN(messages); i++)
            if (messages[i].direction == d)
                document_message(out, (message_type)i);
    }
}
