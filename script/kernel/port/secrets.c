// SPDX-License-Identifier: MIT
#include "script/kernel/port/secrets.h"

#include "base/data/digest.h"
#include "base/json/secret.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/params.h"

#include <ctype.h>
#include <string.h>

static void add(void *arg, cJSON *parent, cJSON *v, const char *name)
{
    AUTO_FREE char *text = cJSON_IsString(v) ? mem_strdup(v->valuestring) : json_to_str(v);
    mask_add_named(arg, name ? name : "", text);
}

// Registers the texts of a literal that is assigned to a secret's name; in a table with names, each
// name decides for itself.
static void add_texts(mask *m, const cJSON *v)
{
    if (cJSON_IsString(v))
        mask_add(m, v->valuestring, strlen(v->valuestring));
    for (const cJSON *item = cJSON_IsArray(v) ? v->child : NULL; item; item = item->next)
        add_texts(m, item);
}

static const char *back_over(const char *from, const char *p, const char *set)
{
    while (p > from && strchr(set, p[-1]))
        p--;
    return p;
}

// The name before an "=": `db_password`, `headers.token`, `local key <const>`, ["api_key"]; new.
static char *name_before(const char *source, const char *equals)
{
    const char *end = back_over(source, equals, " \t"), *from = end;
    if (end > source && end[-1] == '>') {
        while (end > source && *end != '<' && *end != '\n')
            end--;
        end = back_over(source, end, " \t");
    }
    end = back_over(source, end, "]\"'");
    for (from = end; from > source && (isalnum((unsigned char)from[-1]) || strchr("_-", from[-1]));)
        from--;
    return mem_strndup(from, (size_t)(end - from));
}

// Code is full of names such as secretName, token_type and max_tokens, which parameters rarely
// have.
static bool is_told(const char *name)
{
    static const char *const words[] = {
        "password", "passwd", "passphrase", "secret", "token", "_key", "credentials"};
    AUTO_FREE char *small = mem_strdup(name);
    for (char *c = small; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_ends(small, words[i]))
            return true;
    return false;
}

// Finds literals that are assigned to a secret's name: `db_password = "…"`, `f { token = [[…]] }`.
static void register_assigned(mask *m, const char *source)
{
    for (const char *p = source; (p = strchr(p, '=')); p++) {
        AUTO_FREE char *name = name_before(source, p);
        if (!is_told(name))
            continue;
        cJSON *value;
        if (params_literal(p + 1 + strspn(p + 1, " \t\r\n"), &value))
            add_texts(m, value);
        cJSON_Delete(value);
    }
}

// The values of parameters, also those that were replaced by -p.
static void register_said(mask *m, const notebook *nb, const cell *c)
{
    if (!cell_has_tag(c, "parameters") && !cell_has_tag(c, "injected-parameters"))
        return;
    AUTO_JSON *said = params_said(nb, c);
    secret_visit_tree(NULL, said, NULL, add, m);
}

// A value with $NAME or {expr} is known, and registered, only when the cell runs.
static void register_line(mask *m, const char *line, size_t n)
{
    AUTO_FREE char *text = str_trim(line, n);
    size_t magic = strcspn(text, " \t");
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
    for (size_t i = 0; i < notebook_count(nb); i++) {
        const cell *c = notebook_cell(nb, i);
        register_said(m, nb, c);
        register_assigned(m, c->source);
        for (const char *line = c->source; *line;) {
            size_t n = strcspn(line, "\n");
            register_line(m, line, n);
            line += n + (line[n] != '\0');
        }
    }
}

void secrets_of_parameters(mask *m, cJSON *values)
{
    if (!values)
        return;
    secret_visit_tree(NULL, values, NULL, add, m);
    secret_hide(NULL, values, NULL);
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
