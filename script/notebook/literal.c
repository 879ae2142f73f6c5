// SPDX-License-Identifier: MIT
#include "script/notebook/literal.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MOST = 32 };

static const char *read_value(const char *p, int depth, enum param_type *type, cJSON **value);

static unsigned digit_of(char c)
{
    return isdigit((unsigned char)c) ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

// Reads the digits of "\9", "\027" or "\x1b". Returns the last one; NULL: there are none, or they
// are no byte of a text.
static const char *read_code(const char *p, buf *out)
{
    bool hex = *p == 'x';
    unsigned code = 0, n = 0;
    for (p += hex;
         n < (hex ? 2 : 3) && (hex ? isxdigit((unsigned char)p[n]) : isdigit((unsigned char)p[n]));
         n++)
        code = hex ? code * 16 + digit_of(p[n]) : code * 10 + digit_of(p[n]);
    if (n < (hex ? 2 : 1) || code == 0 || code > 255)
        return NULL;
    buf_char(out, (char)code);
    return p + n - 1;
}

// "\\u{20AC}" at the brace. Returns its end; NULL: it is no character of a text.
static const char *read_code_point(const char *p, buf *out)
{
    char *end, bytes[4];
    unsigned long point = *p == '{' && isxdigit((unsigned char)p[1]) ? strtoul(p + 1, &end, 16) : 0;
    if (!point || point > 0x10FFFF || *end != '}')
        return NULL;
    buf_add(out, bytes, utf8_encode((uint32_t)point, bytes));
    return end;
}

// The escape at p, behind its backslash. Returns its last byte; NULL: there is none.
static const char *read_escape(const char *p, buf *out)
{
    static const char from[] = "nrtabfv\\\"'\n", to[] = "\n\r\t\a\b\f\v\\\"'\n";
    const char *escape = *p ? strchr(from, *p) : NULL;
    if (*p == 'z')
        return p + strspn(p + 1, " \t\r\n\f\v");
    if (*p == 'u')
        return read_code_point(p + 1, out);
    if (!escape)
        return read_code(p, out);
    buf_char(out, to[escape - from]);
    return p;
}

// Reads a short Lua string at p into `out`. Returns its end; NULL if it is none or has other
// escapes.
static const char *read_string(const char *p, buf *out)
{
    char quote = *p++;
    for (; *p && *p != quote && *p != '\n'; p++) {
        if (*p != '\\')
            buf_char(out, *p);
        else if (!(p = read_escape(p + 1, out)))
            return NULL;
    }
    return *p == quote && utf8_valid(buf_cstr(out), out->len) ? p + 1 : NULL;
}

// Reads "[==[ … ]==]", of which a line break at the start is no part.
static const char *read_long(const char *p, buf *out)
{
    size_t level = strspn(p + 1, "=");
    if (p[1 + level] != '[')
        return NULL;
    AUTO_FREE char *close = mem_strndup(p, level + 2);
    close[0] = close[level + 1] = ']';
    p += level + 2;
    p += *p == '\r' && p[1] == '\n';
    p += *p == '\n';
    const char *end = strstr(p, close);
    if (end)
        buf_add(out, p, (size_t)(end - p));
    return end && utf8_valid(p, (size_t)(end - p)) ? end + level + 2 : NULL;
}

// Lua's numbers are C's, without "inf", "nan" and suffixes.
static const char *read_number(const char *p, cJSON **value)
{
    const char *digits = p + (*p == '-');
    if (!isdigit((unsigned char)*digits) && !(*digits == '.' && isdigit((unsigned char)digits[1])))
        return NULL;
    char *end;
    int64_t whole;
    double number = strtod(p, &end);
    if (!isfinite(number)) // 1e400: no JSON has it, so no journal would
        return NULL;
    AUTO_FREE char *text = mem_strndup(p, (size_t)(end - p));
    *value = str_to_int(text, &whole) ? json_new_int(whole) : cJSON_CreateNumber(number);
    return end;
}

static const char *read_word(const char *p, enum param_type *type, cJSON **value)
{
    static const struct {
        const char *word;
        enum param_type type;
    } words[] = {{"nil", PARAM_NIL}, {"true", PARAM_BOOLEAN}, {"false", PARAM_BOOLEAN}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i].word);
        if (strncmp(p, words[i].word, n) != 0 || isalnum((unsigned char)p[n]) || p[n] == '_')
            continue;
        *type = words[i].type;
        *value = i == 0 ? cJSON_CreateNull() : cJSON_CreateBool(i == 1);
        return p + n;
    }
    return NULL;
}

// White space, line breaks and comments of a line, as they stand between a table's fields. NULL: a
// long comment.
static const char *skip(const char *p)
{
    for (p += strspn(p, " \t\r\n"); str_starts(p, "--"); p += strspn(p, " \t\r\n")) {
        if (p[2] == '[' && (p[3] == '[' || p[3] == '='))
            return NULL;
        p += strcspn(p, "\n");
    }
    return p;
}

// The name before "=" in a field, "name =" or ["name"] =; *name stays NULL where there is none.
static const char *read_name(const char *p, char **name)
{
    const char *end = p;
    AUTO_BUF text = {0};
    if (*p == '[' && (p[1] == '"' || p[1] == '\'')) {
        end = read_string(p + 1, &text);
        end = end && *end == ']' ? end + 1 : NULL;
    } else if (isalpha((unsigned char)*p) || *p == '_') {
        while (isalnum((unsigned char)*end) || *end == '_')
            end++;
        buf_add(&text, p, (size_t)(end - p));
    }
    const char *equals = end ? skip(end) : NULL;
    if (!equals || end == p || *equals != '=' || equals[1] == '=')
        return p;
    *name = mem_strdup(buf_cstr(&text));
    return skip(equals + 1);
}

static const char *read_field(const char *p, int depth, cJSON *list, cJSON *named)
{
    AUTO_FREE char *name = NULL;
    enum param_type type = PARAM_NIL;
    cJSON *value = NULL;
    p = read_name(p, &name);
    p = p ? read_value(p, depth, &type, &value) : NULL;
    if (!p || type == PARAM_NIL) {
        cJSON_Delete(value);
        return NULL;
    }
    if (name)
        json_set(named, name, value);
    else
        cJSON_AddItemToArray(list, value);
    p = skip(p);
    return p && (*p == ',' || *p == ';') ? skip(p + 1) : p && *p == '}' ? p : NULL;
}

static const char *read_table(const char *p, int depth, enum param_type *type, cJSON **value)
{
    AUTO_JSON *list = cJSON_CreateArray(), *named = cJSON_CreateObject();
    p = depth < DEPTH_MOST ? skip(p + 1) : NULL;
    while (p && *p && *p != '}')
        p = read_field(p, depth + 1, list, named);
    if (!p || !*p || (list->child && named->child))
        return NULL;
    *type = named->child ? PARAM_TABLE : PARAM_LIST;
    *value = named->child ? STEAL(named) : STEAL(list);
    return p + 1;
}

static const char *read_value(const char *p, int depth, enum param_type *type, cJSON **value)
{
    const char *end = read_word(p, type, value);
    if (end)
        return end;
    if (*p == '{')
        return read_table(p, depth, type, value);
    if (*p == '"' || *p == '\'' || *p == '[') {
        AUTO_BUF text = {0};
        end = *p == '[' ? read_long(p, &text) : read_string(p, &text);
        *type = PARAM_STRING;
        *value = end ? cJSON_CreateString(buf_cstr(&text)) : NULL;
        return end;
    }
    *type = PARAM_NUMBER;
    return read_number(p, value);
}

const char *literal_read(const char *p, enum param_type *type, cJSON **value)
{
    *value = NULL;
    return read_value(p, 0, type, value);
}

static bool is_word(const char *name)
{
    static const char *const reserved[] = {"and", "break", "do", "else", "elseif", "end", "false",
        "for", "function", "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return",
        "then", "true", "until", "while"};
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
        if (str_eq(name, reserved[i]))
            return false;
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '_')
        n++;
    return n > 0 && !name[n] && !isdigit((unsigned char)*name);
}

static void print_name(const char *name, buf *out)
{
    if (is_word(name)) {
        buf_fmt(out, "%s = ", name);
        return;
    }
    buf_char(out, '[');
    lua_quote(name, strlen(name), out);
    buf_str(out, "] = ");
}

void literal_print(const cJSON *value, buf *out)
{
    const cJSON *item;
    if (cJSON_IsString(value)) {
        lua_quote(value->valuestring, strlen(value->valuestring), out);
    } else if (cJSON_IsNull(value)) {
        buf_str(out, "nil");
    } else if (cJSON_IsArray(value) || cJSON_IsObject(value)) {
        buf_char(out, '{');
        cJSON_ArrayForEach(item, value)
        {
            buf_str(out, item == value->child ? "" : ", ");
            if (cJSON_IsObject(value))
                print_name(item->string, out);
            literal_print(item, out);
        }
        buf_char(out, '}');
    } else {
        json_print(out, value);
    }
}

bool literal_has_null(const cJSON *value)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, value)
    {
        if (cJSON_IsNull(item) || literal_has_null(item))
            return true;
    }
    return false;
}
