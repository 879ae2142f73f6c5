// SPDX-License-Identifier: MIT
#include "base/json/secret.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { USER_INFO_MAX = 512 };

static char plain(char c)
{
    return (char)(c == '-' ? '_' : toupper((unsigned char)c));
}

static bool ends(const char *name, size_t n, const char *suffix)
{
    size_t length = strlen(suffix);
    return n >= length && strcmp(name + n - length, suffix) == 0;
}

// Is it TOKEN? Tokenizers and numbers of tokens are not.
static bool names_token(const char *name)
{
    while ((name = strstr(name, "TOKEN"))) {
        name += strlen("TOKEN");
        if (*name != 'S' && strncmp(name, "IZ", 2) != 0)
            return true;
    }
    return false;
}

bool secret_name(const char *given)
{
    static const char *const parts[] = {
        "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PGPASS", "ACCESS_KEY"};
    static const char *const suffixes[] = {"_KEY", "_AUTH", "_PASS", "_PAT", "APIKEY", "MYSQL_PWD"};
    AUTO_FREE char *name = mem_strdup(given);
    for (char *c = name; *c; c++)
        *c = plain(*c);
    size_t n = strlen(name);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (strstr(name, parts[i]))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (ends(name, n, suffixes[i]))
            return true;
    return names_token(name);
}

// May c stand in the user info of a URL that is in the middle of a text?
static bool in_user_info(char c)
{
    return (unsigned char)c > ' ' && !strchr("/?#@\"'<>`\\", c);
}

// Is it $NAME, ${NAME}, {name}, %s, %(name)s, ***, or the text that a mask puts in?
static bool is_placeholder(const char *p, size_t n)
{
    size_t name = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$");
    return (*p == '$' && name >= n) || strspn(p, "*") >= n ||
           (strchr("{[", *p) && strchr("}]", p[n - 1])) ||
           (n > 2 && p[0] == '$' && p[1] == '{' && p[n - 1] == '}') || strncmp(p, "%s", 2) == 0 ||
           strncmp(p, "%(", 2) == 0;
}

// Was the text cut here? Then the "@" may be missing only because of the cut.
static bool is_cut(const char *p, const char *end)
{
    return (size_t)(end - p) >= strlen(STR_CUT) && memcmp(p, STR_CUT, strlen(STR_CUT)) == 0;
}

static bool is_number(const char *p, const char *end)
{
    while (p < end && isdigit((unsigned char)*p))
        p++;
    return p == end;
}

enum secret_url secret_in_url(const char *p, const char *end, const char **from, const char **to)
{
    static const char slashes[] = "://";
    for (size_t i = 0; i < 3; i++, p++)
        if (p == end || *p != slashes[i])
            return p == end ? SECRET_CUT : SECRET_ABSENT;
    const char *limit = end - p > USER_INFO_MAX ? p + USER_INFO_MAX : end;
    *from = NULL;
    for (; p < limit && in_user_info(*p) && !is_cut(p, end); p++)
        if (*p == ':' && !*from)
            *from = p + 1;
    *to = p;
    if (p == end)
        return SECRET_CUT;
    bool cut = p < limit && is_cut(p, end) && *from && !is_number(*from, p);
    if (p == limit || (*p != '@' && !cut) || !*from || p == *from ||
        is_placeholder(*from, (size_t)(p - *from)))
        return SECRET_ABSENT;
    return SECRET_FOUND;
}

static int digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

char *secret_of_url(const char *text)
{
    const char *p = strstr(text, "://");
    if (!p)
        return NULL;
    p += 3;
    size_t n = strcspn(p, " \t\r\n\"'<>");
    const char *at = memrchr(p, '@', n), *colon = at ? memchr(p, ':', (size_t)(at - p)) : NULL;
    const char *slash = memchr(p, '/', n);
    if (!colon || (slash && slash < colon) || colon + 1 == at)
        return NULL;
    if (slash && slash < at && strspn(colon + 1, "0123456789") == (size_t)(slash - colon - 1))
        return NULL; // this was a port, and an "@" in the path
    AUTO_BUF out = {0};
    for (p = colon + 1; p < at; p++) {
        bool escaped = *p == '%' && isxdigit((unsigned char)p[1]) && isxdigit((unsigned char)p[2]);
        buf_char(&out, escaped ? (char)(digit(p[1]) * 16 + digit(p[2])) : *p);
        p += escaped ? 2 : 0;
    }
    return buf_take(&out);
}

void secret_visit_tree(cJSON *parent, cJSON *v, const char *name, secret_visit *fn, void *arg)
{
    double ignored;
    bool object = cJSON_IsObject(v), inherits = !object || (name && secret_name(name));
    if (object || cJSON_IsArray(v)) {
        for (cJSON *item = v->child, *next; item; item = next) {
            next = item->next;
            secret_visit_tree(v, item, inherits ? name : item->string, fn, arg);
        }
    } else if (json_number(v, &ignored) || (cJSON_IsString(v) && *v->valuestring)) {
        fn(arg, parent, v, name);
    }
}

static void hide(void *arg, cJSON *parent, cJSON *v, const char *name)
{
    if (!parent || !name || !secret_name(name))
        return;
    cJSON *text = cJSON_CreateString(SECRET_TOLD);
    text->string = v->string ? mem_strdup(v->string) : NULL;
    *(bool *)arg |= cJSON_ReplaceItemViaPointer(parent, v, text);
}

bool secret_hide(cJSON *parent, cJSON *v, const char *name)
{
    bool any = false;
    secret_visit_tree(parent, v, name, hide, &any);
    return any;
}

// Is the name of a header, [from, colon), the name of a secret?
static bool hides_value(const char *from, const char *colon)
{
    AUTO_FREE char *name = mem_strndup(from, (size_t)(colon - from));
    return secret_name(name) || strcasecmp(name, "Authorization") == 0 ||
           strcasecmp(name, "Proxy-Authorization") == 0;
}

static const char *credential(const char *p, size_t *n)
{
    p += strspn(p, " \t");
    *n = strcspn(p, " \t\r\n\"'`");
    return *n ? p : NULL;
}

// The value of a header after its scheme: in "Basic dTpw" the second word.
static const char *header_value(const char *p, size_t *n)
{
    size_t more = 0;
    const char *first = credential(p, n);
    const char *second = first && first[*n] == ' ' ? credential(first + *n, &more) : NULL;
    *n = second ? more : *n;
    return second ? second : first;
}

const char *secret_of_header(const char *text, size_t *n)
{
    static const char bearer[] = "Bearer ";
    for (const char *p = text, *name = text; *p; p++) {
        const char *found = NULL;
        if (*p == ':' && (p[1] == ' ' || p[1] == '\t') && hides_value(name, p))
            found = header_value(p + 1, n);
        else if (p == name && strncasecmp(p, bearer, strlen(bearer)) == 0)
            found = credential(p + strlen(bearer), n);
        if (found)
            return found;
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
            name = p + 1;
    }
    return NULL;
}
