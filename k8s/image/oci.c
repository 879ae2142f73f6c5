// SPDX-License-Identifier: MIT
#include "k8s/image/oci.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

int oci_digest_parse(const char *text, oci_digest *d, err *e)
{
    if (!text)
        return err_set(e, ERR_INVALID, "a digest is missing");
    if (!str_starts(text, "sha256:") || strlen(text) != OCI_DIGEST_SIZE - 1 ||
        strspn(text + 7, "0123456789abcdef") != 64)
        return err_set(e, ERR_INVALID, "“%s” is not a sha256 digest", str_short(text, 100).text);
    memcpy(d->text, text, OCI_DIGEST_SIZE);
    return 0;
}

oci_digest oci_digest_of(const void *bytes, size_t n)
{
    oci_digest d = {"sha256:"};
    sha256_hex(bytes, n, d.text + 7);
    return d;
}

bool oci_digest_equal(const oci_digest *a, const oci_digest *b)
{
    return str_eq(a->text, b->text);
}

const char *oci_digest_hex(const oci_digest *d)
{
    return d->text + 7;
}

static const struct {
    const char *text;
    enum oci_kind kind;
} types[] = {
#define X(name, text, kind) {text, OCI_KIND_##kind},
    OCI_TYPES(X)
#undef X
        {NULL, OCI_KIND_UNKNOWN},
};

enum oci_type oci_type_parse(const char *media_type)
{
    int t = 0;
    while (t < OCI_TYPE_UNKNOWN && !str_eq(types[t].text, media_type))
        t++;
    return (enum oci_type)t;
}

const char *oci_type_text(enum oci_type t)
{
    return types[t].text;
}

enum oci_kind oci_type_kind(enum oci_type t)
{
    return types[t].kind;
}

int oci_descriptor_parse(const cJSON *json, oci_descriptor *d, err *e)
{
    const char *type = json_str(json, "mediaType");
    d->type = oci_type_parse(type);
    if (d->type == OCI_TYPE_UNKNOWN)
        return err_set(
            e, ERR_INVALID, "media type “%s” is not known", type ? str_short(type, 100).text : "");
    if (oci_digest_parse(json_str(json, "digest"), &d->digest, e))
        return -1;
    if (!json_int(json_get(json, "size"), &d->size) || d->size < 0)
        return err_set(e, ERR_INVALID, "%s has no size", d->digest.text);
    if (d->size > OCI_SIZE_MOST)
        return err_set(e, ERR_INVALID, "%s has %lld bytes, it is said: no blob has that many",
            d->digest.text, (long long)d->size);
    return 0;
}

cJSON *oci_descriptor_json(const oci_descriptor *d)
{
    cJSON *json = cJSON_CreateObject();
    json_set_str(json, "mediaType", oci_type_text(d->type));
    json_set_str(json, "digest", d->digest.text);
    json_set_int(json, "size", d->size);
    return json;
}

void oci_manifest_done(oci_manifest *m)
{
    free(m->layers);
    *m = (oci_manifest){0};
}

static int parse_layers(const cJSON *list, oci_manifest *m, err *e)
{
    if (!cJSON_IsArray(list))
        return err_set(e, ERR_INVALID, "“layers” is not a list");
    m->layers = mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof *m->layers);
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        oci_descriptor *layer = &m->layers[m->layer_n];
        if (oci_descriptor_parse(item, layer, e))
            return err_wrap(e, "layer %zu", m->layer_n + 1);
        if (oci_type_kind(layer->type) != OCI_KIND_LAYER)
            return err_set(e, ERR_INVALID, "layer %zu has media type %s", m->layer_n + 1,
                oci_type_text(layer->type));
        m->layer_n++;
    }
    return 0;
}

int oci_manifest_parse(const void *bytes, size_t n, oci_manifest *m, err *e)
{
    *m = (oci_manifest){0};
    AUTO_JSON *json = json_parse(bytes, n, e);
    if (!json)
        return err_wrap(e, "image manifest");
    if (json_get(json, "manifests"))
        return err_set(
            e, ERR_INVALID, "this is an index of several images; name one of them by its digest");
    if (json_int_or(json, "schemaVersion", 0) != 2)
        return err_set(e, ERR_INVALID, "image manifest: schemaVersion is not 2");
    if (oci_descriptor_parse(json_get(json, "config"), &m->config, e))
        return err_wrap(e, "image manifest: config");
    if (parse_layers(json_get(json, "layers"), m, e)) {
        oci_manifest_done(m);
        return err_wrap(e, "image manifest");
    }
    return 0;
}

int64_t oci_manifest_bytes(const oci_manifest *m)
{
    int64_t bytes = m->config.size;
    for (size_t i = 0; i < m->layer_n; i++)
        bytes += m->layers[i].size;
    return bytes;
}

int oci_index_choose(const cJSON *index, oci_descriptor *d, err *e)
{
    AUTO_BUF has = {0};
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(index, "manifests"))
    {
        const char *os = json_path_str(entry, "platform.os"),
                   *machine = json_path_str(entry, "platform.architecture");
        if (str_eq(os, "linux") && str_eq(machine, OCI_ARCHITECTURE))
            return oci_descriptor_parse(entry, d, e);
        if (os && machine && has.len < 300)
            buf_fmt(&has, "%s%s/%s", has.len ? ", " : "", os, machine);
    }
    return err_set(e, ERR_NOT_FOUND, "it has no variant for linux/" OCI_ARCHITECTURE "%s%s",
        has.len ? ", only " : "", buf_cstr(&has));
}

void oci_ref_done(oci_ref *r)
{
    free(r->host);
    free(r->name);
    free(r->tag);
    free(r->digest);
    *r = (oci_ref){0};
}

static size_t alnum_run(const char *p)
{
    return strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789");
}

// distribution-spec: [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*, several of them joined by "/".
bool oci_name_valid(const char *name)
{
    const char *p = name;
    for (;;) {
        size_t run = alnum_run(p);
        if (run == 0)
            return false;
        p += run;
        if (*p == '\0')
            return p - name <= 255;
        if (*p == '-')
            p += strspn(p, "-");
        else if (str_starts(p, "__"))
            p += 2;
        else if (strchr("._/", *p))
            p++;
        else
            return false;
    }
}

bool oci_tag_valid(const char *tag)
{
    size_t n = strlen(tag);
    if (n == 0 || n > 128 || tag[0] == '.' || tag[0] == '-')
        return false;
    for (; *tag; tag++)
        if (!isalnum((unsigned char)*tag) && !strchr("._-", *tag))
            return false;
    return true;
}

static bool names_host(const char *first, size_t n)
{
    return memchr(first, '.', n) || memchr(first, ':', n) ||
           (n == 9 && memcmp(first, "localhost", 9) == 0);
}

static bool host_valid(const char *host)
{
    return (isalnum((unsigned char)*host) || *host == '[') &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]") ==
               strlen(host);
}

static int ref_invalid(const char *text, const char *why, err *e)
{
    return err_set(
        e, ERR_INVALID, "“%s” is not the name of an image: %s", str_short(text, 300).text, why);
}

int oci_ref_parse(const char *text, oci_ref *r, err *e)
{
    *r = (oci_ref){0};
    const char *rest = text, *slash = strchr(text, '/');
    if (slash && names_host(text, (size_t)(slash - text))) {
        r->host = mem_strndup(text, (size_t)(slash - text));
        rest = slash + 1;
    }
    const char *at = strchr(rest, '@');
    const char *end = at ? at : rest + strlen(rest);
    const char *colon = memchr(rest, ':', (size_t)(end - rest));
    r->name = mem_strndup(rest, (size_t)((colon ? colon : end) - rest));
    if (colon)
        r->tag = mem_strndup(colon + 1, (size_t)(end - colon - 1));
    if (at)
        r->digest = mem_strdup(at + 1);

    oci_digest ignored;
    const char *why = NULL;
    if (r->host && !host_valid(r->host))
        why = "what stands before the first / is not a host";
    else if (!oci_name_valid(r->name))
        why = "it takes lower-case letters, digits, and . _ - / between them";
    else if (r->tag && !oci_tag_valid(r->tag))
        why = "its tag takes letters, digits, and . _ - after the first";
    else if (r->digest && oci_digest_parse(r->digest, &ignored, NULL))
        why = "what follows @ is not a sha256 digest";
    if (!why)
        return 0;
    oci_ref_done(r);
    return ref_invalid(text, why, e);
}

void oci_registry_done(oci_registry *r)
{
    free(r->host);
    free(r->prefix);
    *r = (oci_registry){0};
}

// User and password are no part of a registry's name, and are not shown.
static int registry_invalid(const char *text, const char *why, err *e)
{
    const char *scheme = strstr(text, "://"), *at = strrchr(text, '@');
    const char *user = scheme ? scheme + 3 : text;
    if (!at || at < user)
        return err_set(e, ERR_USAGE, "“%s” is not a registry: %s", str_short(text, 300).text, why);
    AUTO_FREE char *before = mem_strndup(text, (size_t)(user - text));
    return err_set(e, ERR_USAGE, "“%s[secret]%s” is not a registry: %s",
        str_short(before, 300).text, str_short(at, 300).text,
        "it takes no user and no password: `docker login` keeps them");
}

int oci_registry_parse(const char *text, oci_registry *r, err *e)
{
    *r = (oci_registry){.plain = str_starts(text, "http://")};
    const char *host = r->plain ? text + 7 : str_starts(text, "https://") ? text + 8 : text;
    size_t n = strcspn(host, "/"), end = strlen(host);
    while (end > n && host[end - 1] == '/')
        end--;
    r->host = mem_strndup(host, n);
    r->prefix = end > n ? mem_strndup(host + n + 1, end - n - 1) : NULL;
    const char *why = NULL;
    if (!host_valid(r->host) || !names_host(host, n))
        why = "it takes a host's name with a dot, or HOST:PORT; containers look for others on "
              "Docker Hub";
    else if (r->prefix && !oci_name_valid(r->prefix))
        why = "what follows the host takes lower-case letters, digits, and . _ - / between them";
    if (!why)
        return 0;
    oci_registry_done(r);
    return registry_invalid(text, why, e);
}
