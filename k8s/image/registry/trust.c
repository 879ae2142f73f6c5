// SPDX-License-Identifier: MIT
#include "k8s/image/registry/trust.h"

#include "base/json/json.h"
#include "base/json/shape.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/registry/conf.h"

#include <dirent.h>
#include <string.h>

enum { FILE_LIMIT = 4 << 20 };

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_authority(const char *dir, const char *path, struct trust *t, err *e)
{
    if (path_read(path, &t->ca, FILE_LIMIT, e))
        return -1;
    buf_char(&t->ca, '\n');
    if (!t->ca_from)
        t->ca_from = mem_strdup(dir);
    return 0;
}

static int add_own(const char *path, struct trust *t, err *e)
{
    AUTO_FREE char *key = str_fmt("%.*s.key", (int)(strlen(path) - strlen(".cert")), path);
    if (t->cert.len)
        return 0; // one is sent; as docker, we take the first
    if (!path_exists(key))
        return err_set(e, ERR_NOT_FOUND, "%s has no key beside it: %s is missing", path, key);
    return path_read(path, &t->cert, FILE_LIMIT, e) || path_read(key, &t->key, FILE_LIMIT, e);
}

static int read_certificates(const char *dir, struct trust *t, err *e)
{
    struct dirent **names;
    int n = scandir(dir, &names, NULL, by_name), status = 0;
    for (int i = 0; i < n; i++) {
        AUTO_FREE char *path = path_join(dir, names[i]->d_name);
        if (status == 0 && str_ends(path, ".crt"))
            status = add_authority(dir, path, t, e);
        else if (status == 0 && str_ends(path, ".cert"))
            status = add_own(path, t, e);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return status ? -1 : 0;
}

static int find_certificates(
    const struct trust_places *p, const char *host, struct trust *t, err *e)
{
    const struct {
        const char *base, *name;
    } places[] = {{p->config, "containers"}, {p->etc, "containers"}, {p->etc, "docker"}};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (!places[i].base)
            continue;
        AUTO_FREE char *dir = str_fmt("%s/%s/certs.d/%s", places[i].base, places[i].name, host);
        if (path_is_dir(dir))
            return read_certificates(dir, t, e);
    }
    return 0;
}

static const struct shape_field daemon_fields[] = {{"insecure-registries", &shape_strings}, {0}};
static const struct shape daemon_shape = {SHAPE_OBJECT, .fields = daemon_fields};

static int daemon_insecure(const struct trust_places *p, const char *host, bool *insecure, err *e)
{
    AUTO_FREE char *path = p->etc ? path_join(p->etc, "docker/daemon.json") : NULL;
    AUTO_BUF text = {0};
    if (!path || path_read(path, &text, FILE_LIMIT, NULL))
        return 0;
    AUTO_JSON *config = json_parse(buf_cstr(&text), text.len, e);
    if (!config || shape_check(&daemon_shape, config, text.data, text.len, e) != 0)
        return err_wrap(e, "%s", path);
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(config, "insecure-registries"))
    {
        *insecure = *insecure || str_eq(cJSON_GetStringValue(item), host);
    }
    return 0;
}

int trust_find(const struct trust_places *p, const char *host, struct trust *t, err *e)
{
    *t = (struct trust){0};
    CLEANUP(registries_done) struct registries conf;
    registries_find(&conf, p);
    t->insecure = registries_insecure(&conf, host);
    if (daemon_insecure(p, host, &t->insecure, e) == 0 && find_certificates(p, host, t, e) == 0)
        return 0;
    trust_done(t);
    return -1;
}

void trust_done(struct trust *t)
{
    if (t->key.data)
        explicit_bzero(t->key.data, t->key.len);
    buf_done(&t->ca);
    buf_done(&t->cert);
    buf_done(&t->key);
    free(t->ca_from);
    *t = (struct trust){0};
}
