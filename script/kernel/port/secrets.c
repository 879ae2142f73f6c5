// SPDX-License-Identifier: MIT
#include "script/kernel/port/secrets.h"

#include "base/digest.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

// db_password = "…", local api_key = '…', headers.token = "…": a string that ends on its line.
static void register_assignment(mask *m, const char *text)
{
    static const char *const words[] = {
        "password", "passwd", "passphrase", "secret", "token", "_key", "credentials"};
    const char *equals = strchr(text, '=');
    const char *value = equals ? equals + 1 + strspn(equals + 1, " \t") : "";
    const char *end = *value == '"' || *value == '\'' ? strchr(value + 1, *value) : NULL;
    if (!end || memchr(value, '\\', (size_t)(end - value)))
        return;
    AUTO_FREE char *name = str_trim(text, (size_t)(equals - text));
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_ends(name, words[i]))
            mask_add(m, value + 1, (size_t)(end - value - 1));
}

// A value with $NAME or {expr} is known, and registered, only when the cell runs.
static void register_line(mask *m, const char *line, size_t n)
{
    AUTO_FREE char *text = str_trim(line, n);
    size_t magic = strcspn(text, " \t");
    register_assignment(m, text);
    if (!(magic == 4 && str_starts(text, "%env")) && !(magic == 8 && str_starts(text, "%set_env")))
        return;
    char *name = text + magic + strspn(text + magic, " \t"), *equals = strchr(name, '=');
    if (!equals || strpbrk(equals, "{$"))
        return;
    const char *value = equals + 1 + strspn(equals + 1, " \t");
    *equals = '\0';
    mask_add_named(m, name, value);
}

void secrets_register(mask *m, const notebook *nb)
{
    for (size_t i = 0; i < notebook_count(nb); i++)
        for (const char *line = notebook_cell(nb, i)->source; *line;) {
            size_t n = strcspn(line, "\n");
            register_line(m, line, n);
            line += n + (line[n] != '\0');
        }
}

static cJSON *hidden(const char *name)
{
    cJSON *text = cJSON_CreateString(MASK_TEXT);
    text->string = name ? mem_strdup(name) : NULL;
    return text;
}

// A value and what is in it. What has no name (an entry of a list) has that of its list.
static void hide(mask *m, cJSON *parent, cJSON *v, const char *name)
{
    bool secret = secret_name(name), object = cJSON_IsObject(v);
    if (object || cJSON_IsArray(v)) {
        for (cJSON *item = v->child, *next; item; item = next) {
            next = item->next;
            hide(m, v, item, object && !secret ? item->string : name);
        }
        return;
    }
    AUTO_FREE char *text = cJSON_IsString(v) ? mem_strdup(v->valuestring) : json_to_str(v);
    mask_add_named(m, name, text);
    double ignored;
    if (secret && (json_number(v, &ignored) || (cJSON_IsString(v) && *text)))
        cJSON_ReplaceItemViaPointer(parent, v, hidden(v->string));
}

void secrets_of_parameters(mask *m, cJSON *values)
{
    for (cJSON *v = values ? values->child : NULL, *next; v; v = next) {
        next = v->next;
        hide(m, values, v, v->string);
    }
}

char *secrets_digest(mask *m, const char *name, const char *value)
{
    char digits[SHA256_SHORT];
    AUTO_BUF shown = {0};
    if (secret_name(name) || mask_text(m, value, strlen(value), &shown))
        return mem_strdup(MASK_TEXT);
    sha256_short(value, strlen(value), digits);
    return mem_strdup(digits);
}
