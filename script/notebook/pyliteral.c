// SPDX-License-Identifier: MIT
// Python's literals as values, and back.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/literal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 50 };

static const char *read_value(const char *p, int depth, cJSON **value);

// Blank lines and comments, which a list or a mapping may have between its items.
static const char *skip(const char *p)
{
    for (;;) {
        p += strspn(p, " \t\r\n");
        if (*p != '#')
            return p;
        p += strcspn(p, "\n");
    }
}

static const char *read_word(const char *p, cJSON **value)
{
    static const struct {
        const char *word;
        int type;
    } words[] = {{"True", cJSON_True}, {"False", cJSON_False}, {"None", cJSON_NULL}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i].word);
        if (!str_starts(p, words[i].word) || isalnum((unsigned char)p[n]) || p[n] == '_')
            continue;
        *value = words[i].type == cJSON_NULL ? cJSON_CreateNull()
                                             : cJSON_CreateBool(words[i].type == cJSON_True);
        return p + n;
    }
    return NULL;
}

// 1, -2.5, 1e-3, 1_000, 0x1f; as JSON has it, or nothing (1j, 0o7).
static const char *read_number(const char *p, cJSON **value)
{
    const char *end = p + strspn(p, "+-");
    if (!isdigit((unsigned char)*end) && !(*end == '.' && isdigit((unsigned char)end[1])))
        return NULL;
    AUTO_BUF digits = {0};
    bool hex = end[0] == '0' && (end[1] == 'x' || end[1] == 'X');
    for (const char *at = p; at < end; at++)
        if (*at == '-')
            buf_char(&digits, *at);
    for (; isalnum((unsigned char)*end) || *end == '_' || *end == '.' ||
           (!hex && strchr("+-", *end) && *end && (end[-1] == 'e' || end[-1] == 'E'));
         end++)
        if (*end != '_')
            buf_char(&digits, *end);
    char *rest;
    errno = 0;
    long long whole = strtoll(buf_cstr(&digits), &rest, hex ? 16 : 10);
    if (!*rest && errno == 0) {
        *value = json_new_int(whole);
        return end;
    }
    double number = strtod(buf_cstr(&digits), &rest);
    if (*rest || hex)
        return NULL;
    *value = cJSON_CreateNumber(number);
    return end;
}

// "u00e4", as JSON has it.
static const char *read_code(const char *p, buf *out)
{
    if (strspn(p + 1, "0123456789abcdefABCDEF") < 4 || str_starts(p, "u0000"))
        return NULL;
    AUTO_BUF text = {0};
    buf_str(&text, "\"\\");
    buf_add(&text, p, 5);
    buf_char(&text, '"');
    AUTO_JSON *one = json_parse(text.data, text.len, NULL);
    if (!one)
        return NULL;
    buf_str(out, one->valuestring);
    return p + 5;
}

// What stands for a backslash and the characters behind it, as far as people write it.
static const char *read_escape(const char *p, buf *out)
{
    static const char from[] = "ntrbf\\'\"", to[] = "\n\t\r\b\f\\'\"";
    const char *at = strchr(from, *p);
    if (*p == '\n')
        return p + 1;
    if (*p == 'u')
        return read_code(p, out);
    if (!*p || !at)
        return NULL;
    buf_char(out, to[at - from]);
    return p + 1;
}

static const char *read_string(const char *p, cJSON **value)
{
    bool raw = (*p == 'r' || *p == 'R') && (p[1] == '"' || p[1] == '\'');
    p += raw;
    if (*p != '"' && *p != '\'')
        return NULL;
    bool triple = p[1] == *p && p[2] == *p;
    const char quote = *p, close[] = {quote, quote, quote, '\0'};
    AUTO_BUF text = {0};
    for (p += triple ? 3 : 1; !(triple ? str_starts(p, close) : *p == quote);) {
        if (!*p || (*p == '\n' && !triple))
            return NULL;
        if (*p == '\\' && !raw) {
            if (!(p = read_escape(p + 1, &text)))
                return NULL;
            continue;
        }
        buf_char(&text, *p++);
    }
    *value = cJSON_CreateString(buf_cstr(&text));
    return p + (triple ? 3 : 1);
}

static const char *read_list(const char *p, int depth, cJSON **value)
{
    char close = *p == '[' ? ']' : ')';
    cJSON *list = cJSON_CreateArray(), *item;
    bool comma = false;
    for (p = skip(p + 1); *p != close; p = skip(p)) {
        item = NULL;
        if (!(p = read_value(p, depth + 1, &item)))
            break;
        cJSON_AddItemToArray(list, item);
        p = skip(p);
        comma = *p == ',';
        p += comma;
        if (!comma && *p != close) {
            p = NULL;
            break;
        }
    }
    // (1) is 1 in brackets
    if (p && !(close == ')' && cJSON_GetArraySize(list) == 1 && !comma)) {
        *value = list;
        return p + 1;
    }
    cJSON_Delete(list);
    return NULL;
}

static const char *read_member(const char *p, int depth, cJSON *object)
{
    cJSON *key = NULL, *item = NULL;
    p = read_string(p, &key);
    p = p ? skip(p) : NULL;
    if (p && *p == ':')
        p = read_value(skip(p + 1), depth + 1, &item);
    else
        p = NULL;
    if (p)
        json_set(object, key->valuestring, item);
    cJSON_Delete(key);
    return p;
}

static const char *read_mapping(const char *p, int depth, cJSON **value)
{
    cJSON *object = cJSON_CreateObject();
    for (p = skip(p + 1); p && *p != '}';) {
        if (!(p = read_member(p, depth, object)))
            break;
        p = skip(p);
        if (*p == ',')
            p = skip(p + 1);
        else if (*p != '}')
            p = NULL;
    }
    if (p) {
        *value = object;
        return p + 1;
    }
    cJSON_Delete(object);
    return NULL;
}

static const char *read_value(const char *p, int depth, cJSON **value)
{
    const char *end;
    if (depth > DEEPEST)
        return NULL;
    if (*p == '[' || *p == '(')
        return read_list(p, depth, value);
    if (*p == '{')
        return read_mapping(p, depth, value);
    if ((end = read_word(p, value)) || (end = read_number(p, value)))
        return end;
    return read_string(p, value);
}

const char *pyliteral_read(const char *p, enum param_type *type, cJSON **value)
{
    *value = NULL;
    const char *end = read_value(p, 0, value);
    if (end)
        *type = param_type_of(*value);
    return end;
}

void pyliteral_print(const cJSON *value, buf *out)
{
    const cJSON *item;
    bool object = cJSON_IsObject(value);
    if (cJSON_IsBool(value))
        buf_str(out, cJSON_IsTrue(value) ? "True" : "False");
    else if (cJSON_IsNull(value))
        buf_str(out, "None");
    else if (!object && !cJSON_IsArray(value))
        json_print(out, value);
    if (!object && !cJSON_IsArray(value))
        return;
    buf_char(out, object ? '{' : '[');
    cJSON_ArrayForEach(item, value)
    {
        buf_str(out, item == value->child ? "" : ", ");
        AUTO_JSON *name = object ? cJSON_CreateString(item->string) : NULL;
        if (object) {
            json_print(out, name);
            buf_str(out, ": ");
        }
        pyliteral_print(item, out);
    }
    buf_char(out, object ? '}' : ']');
}
