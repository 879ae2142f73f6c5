// SPDX-License-Identifier: MIT
#include "k8s/image/registry/auth.h"

#include "base/json/shape.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>
#include <strings.h>

// Challenges: scheme SP name=value, name="quoted \" value", …

#define TOKEN "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static const char *skip(const char *p)
{
    return p + strspn(p, " \t,");
}

static char *take_value(const char **p)
{
    buf value = {0};
    buf_reserve(&value, 1);
    if (**p != '"') {
        size_t n = strcspn(*p, " \t,");
        buf_add(&value, *p, n);
        *p += n;
        return buf_take(&value);
    }
    for (++*p; **p && **p != '"'; ++*p) {
        if (**p == '\\' && (*p)[1])
            ++*p;
        buf_char(&value, **p);
    }
    *p += **p == '"';
    return buf_take(&value);
}

static void set_parameter(auth_challenge *c, const char *name, size_t n, char *value)
{
    char **place = n == 5 && strncasecmp(name, "realm", n) == 0     ? &c->realm
                   : n == 7 && strncasecmp(name, "service", n) == 0 ? &c->service
                   : n == 5 && strncasecmp(name, "scope", n) == 0   ? &c->scope
                                                                    : NULL;
    if (place && !*place)
        *place = STEAL(value);
    free(value);
}

// Parses one challenge; returns the place where the next one begins.
static const char *parse_one(const char *p, auth_challenge *c)
{
    size_t n = strspn(p, TOKEN);
    c->scheme = n == 6 && strncasecmp(p, "bearer", n) == 0  ? AUTH_BEARER
                : n == 5 && strncasecmp(p, "basic", n) == 0 ? AUTH_BASIC
                                                            : AUTH_OTHER;
    p = skip(p + n);
    while ((n = strspn(p, TOKEN)) && p[n] == '=') {
        const char *name = p;
        p += n + 1;
        set_parameter(c, name, n, take_value(&p));
        p = skip(p);
    }
    return p;
}

void auth_challenge_parse(const char *header, auth_challenge *c)
{
    *c = (auth_challenge){0};
    for (const char *p = skip(header); *p;) {
        auth_challenge one = {0};
        const char *next = parse_one(p, &one);
        if (one.scheme > c->scheme) {
            auth_challenge worse = *c;
            *c = one;
            one = worse;
        }
        auth_challenge_done(&one);
        p = next > p ? next : p + 1;
    }
}

void auth_challenge_done(auth_challenge *c)
{
    free(c->realm);
    free(c->service);
    free(c->scope);
    *c = (auth_challenge){0};
}

static const struct shape_field login_fields[] = {{"auth", &shape_string},
    {"username", &shape_string}, {"password", &shape_string}, {"identitytoken", &shape_string},
    {"registrytoken", &shape_string}, {0}};

static const struct shape_field config_fields[] = {
    {"auths", SHAPE_MAP_OF(SHAPE_OBJECT_OF(login_fields))}, {"credsStore", &shape_string},
    {"credHelpers", SHAPE_MAP_OF(&shape_string)}, {0}};
static const struct shape config_shape = {SHAPE_OBJECT, .fields = config_fields};

static const struct shape_field answer_fields[] = {
    {"Username", &shape_string}, {"Secret", &shape_string}, {0}};
static const struct shape answer_shape = {SHAPE_OBJECT, .fields = answer_fields};

static cJSON *parse(const struct shape *shape, const char *text, size_t n, err *e)
{
    AUTO_JSON *j = json_parse(text, n, e);
    return j && shape_check(shape, j, text, n, e) == 0 ? STEAL(j) : NULL;
}

cJSON *auth_parse(const char *text, size_t n, err *e)
{
    return parse(&config_shape, text, n, e);
}

int auth_take_answer(const char *text, size_t n, auth_credentials *c, err *e)
{
    AUTO_JSON *j = parse(&answer_shape, text, n, e);
    if (!j)
        return err_wrap(e, "what %s answers", c->helper);
    const char *user = json_str(j, "Username"), *secret = json_str(j, "Secret");
    if (str_eq(user, "<token>")) {
        c->identity = mem_strdup(secret);
        return 0;
    }
    c->user = mem_strdup(user);
    c->password = mem_strdup(secret);
    return 0;
}

static bool is_hub(const char *host)
{
    return str_eq(host, "docker.io") || str_eq(host, "registry-1.docker.io") ||
           str_eq(host, "index.docker.io");
}

static bool same_host(const char *key, size_t n, const char *host)
{
    AUTO_FREE char *own = mem_strndup(key, n);
    return strcasecmp(own, host) == 0 || (is_hub(own) && is_hub(host));
}

// How well a key fits: how many bytes of the name it names; -1: it is another one's. A key is a
// host with any part of a repository's name behind it (containers-auth.json(5)), or a URL, of which
// only the host counts, as docker writes it: "https://index.docker.io/v1/".
static int fit(const char *key, const char *host, const char *name)
{
    const char *scheme = strstr(key, "://"), *p = scheme ? scheme + 3 : key;
    size_t n = strcspn(p, "/");
    if (!same_host(p, n, host))
        return -1;
    const char *rest = p + n + (p[n] == '/');
    size_t length = strlen(rest);
    bool version =
        str_eq(rest, "v1/") || str_eq(rest, "v2/") || str_eq(rest, "v1") || str_eq(rest, "v2");
    if (scheme || !length || version)
        return 0;
    length -= rest[length - 1] == '/';
    return strncmp(name, rest, length) == 0 && (!name[length] || name[length] == '/') ? (int)length
                                                                                      : -1;
}

static const cJSON *find_longest(const cJSON *object, const char *host, const char *name)
{
    const cJSON *item, *best = NULL;
    int most = -1;
    cJSON_ArrayForEach(item, object)
    {
        int n = fit(item->string, host, name);
        if (n > most) {
            most = n;
            best = item;
        }
    }
    return best;
}

static int decode(const char *host, const char *auth, auth_credentials *c, err *e)
{
    AUTO_BUF text = {0};
    char *colon = NULL;
    if (base64_decode(&text, auth, strlen(auth), NULL) == 0 && text.len)
        colon = memchr(text.data, ':', text.len);
    if (!colon)
        return err_set(e, ERR_INVALID,
            "docker's config.json: “auth” of %s is not base64 of user:password", host);
    c->user = mem_strndup(text.data, (size_t)(colon - text.data));
    c->password = mem_strdup(colon + 1);
    return 0;
}

// What an entry of "auths" has: a token, or a name and password, in one text or in two.
static int take_login(const cJSON *entry, const char *host, auth_credentials *c, err *e)
{
    const char *identity = json_str_or(entry, "identitytoken", ""),
               *token = json_str_or(entry, "registrytoken", ""),
               *auth = json_str_or(entry, "auth", ""), *user = json_str_or(entry, "username", ""),
               *password = json_str_or(entry, "password", "");
    if (*identity)
        c->identity = mem_strdup(identity);
    else if (*token)
        c->token = mem_strdup(token);
    else if (*auth)
        return decode(host, auth, c, e);
    else if (*user || *password) {
        c->user = mem_strdup(user);
        c->password = mem_strdup(password);
    }
    return 0;
}

int auth_find(
    const cJSON *config, const char *host, const char *repository, auth_credentials *c, err *e)
{
    *c = (auth_credentials){0};
    const cJSON *helper = find_longest(json_get(config, "credHelpers"), host, repository);
    const char *name =
        cJSON_IsString(helper) ? helper->valuestring : json_str(config, "credsStore");
    if (name && *name) {
        if (name[strcspn(name, "/ ")])
            return err_set(e, ERR_INVALID, "docker's config.json: “%s” is no helper's name",
                str_short(name, 100).text);
        c->helper = str_fmt("docker-credential-%s", name);
        return 0;
    }
    return take_login(find_longest(json_get(config, "auths"), host, repository), host, c, e);
}

void auth_credentials_done(auth_credentials *c)
{
    free(c->user);
    free(c->password);
    free(c->identity);
    free(c->token);
    free(c->helper);
    *c = (auth_credentials){0};
}
