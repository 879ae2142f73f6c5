// SPDX-License-Identifier: MIT
#include "k8s/image/programs/draft.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/index.h"

#include <stdio.h>
#include <string.h>

void draft_done(struct draft *d)
{
    cJSON_Delete(d->config);
    cJSON_Delete(d->manifest);
}

static cJSON *new_manifest(void)
{
    cJSON *manifest = cJSON_CreateObject();
    json_set_int(manifest, "schemaVersion", 2);
    json_set_str(manifest, "mediaType", oci_type_text(OCI_TYPE_OCI_MANIFEST));
    json_set(manifest, "config", cJSON_CreateNull());
    json_array_at(manifest, "layers");
    return manifest;
}

static int find_base(
    const image_store *s, const char *from, oci_descriptor *base, oci_manifest *m, err *e)
{
    return image_store_find(s, from, base, e) || image_store_manifest(s, &base->digest, m, e) ? -1
                                                                                              : 0;
}

static void note_base(cJSON *manifest, const char *from, const oci_descriptor *base)
{
    if (str_starts(from, "sha256:"))
        return; // an image of ours, without a name in a registry
    cJSON *notes = json_object_at(manifest, "annotations");
    json_set_str(notes, OCI_BASE_NAME, from);
    json_set_str(notes, OCI_BASE_DIGEST, base->digest.text);
}

static int check_platform(const cJSON *config, err *e)
{
    const char *os = json_str_or(config, "os", ""),
               *machine = json_str_or(config, "architecture", "");
    if (str_eq(os, "linux") && str_eq(machine, OCI_ARCHITECTURE))
        return 0;
    return err_set(e, ERR_INVALID, "it is for %s/%s, and the worker for linux/%s", os, machine,
        OCI_ARCHITECTURE);
}

static void set_created(struct draft *d, int64_t created)
{
    AUTO_BUF text = {0};
    clock_rfc3339(&text, created * CLOCK_SEC, CLOCK_SECONDS);
    snprintf(d->created, sizeof d->created, "%s", buf_cstr(&text));
}

int draft_from(struct draft *d, const image_store *s, const char *from, int64_t created, err *e)
{
    set_created(d, created);
    CLEANUP(oci_manifest_done) oci_manifest m = {0};
    oci_descriptor base;
    if (find_base(s, from, &base, &m, e))
        return -1;
    d->config = image_store_read_json(s, &m.config.digest, e);
    if (!d->config || check_platform(d->config, e))
        return -1;
    d->manifest = new_manifest();
    note_base(d->manifest, from, &base);
    for (size_t i = 0; i < m.layer_n; i++) {
        oci_descriptor below = m.layers[i];
        if (below.type == OCI_TYPE_DOCKER_LAYER) // the same bytes under OCI's media type
            below.type = OCI_TYPE_OCI_LAYER_GZIP;
        cJSON_AddItemToArray(json_array_at(d->manifest, "layers"), oci_descriptor_json(&below));
    }
    return 0;
}

void draft_alone(struct draft *d, int64_t created)
{
    set_created(d, created);
    d->manifest = new_manifest();
    d->config = cJSON_CreateObject();
    json_set_str(d->config, "created", d->created);
    json_set_str(d->config, "architecture", OCI_ARCHITECTURE);
    json_set_str(d->config, "os", "linux");
    json_object_at(d->config, "config");
    json_set_str(json_object_at(d->config, "rootfs"), "type", "layers");
}

static void add_layer(struct draft *d, const layer_result *r, const char *created_by)
{
    cJSON *diffs = json_array_at(json_object_at(d->config, "rootfs"), "diff_ids");
    cJSON_AddItemToArray(diffs, cJSON_CreateString(r->diff_id.text));
    cJSON *history = cJSON_CreateObject();
    json_set_str(history, "created", d->created);
    json_set_str(history, "created_by", created_by);
    cJSON_AddItemToArray(json_array_at(d->config, "history"), history);
    cJSON_AddItemToArray(json_array_at(d->manifest, "layers"), oci_descriptor_json(&r->blob));
}

static int store_json(
    const image_store *s, const cJSON *json, enum oci_type type, oci_descriptor *d, err *e)
{
    AUTO_BUF text = {0};
    json_print(&text, json);
    d->type = type;
    d->size = (int64_t)text.len;
    return image_store_add(s, text.data, text.len, &d->digest, e);
}

int draft_add(
    struct draft *d, const image_store *s, layer *l, int64_t created, const char *by, err *e)
{
    layer_result r;
    layer_watched(l, d->watch);
    if (layer_write(l, s, created, &r, e))
        return -1;
    add_layer(d, &r, by);
    d->new_layers += !r.cached;
    return 0;
}

cJSON *draft_run(struct draft *d)
{
    return json_object_at(d->config, "config");
}

void draft_env(struct draft *d, const char *setting)
{
    cJSON *env = json_array_at(draft_run(d), "Env"), *old;
    size_t n = strcspn(setting, "=") + 1;
    cJSON_ArrayForEach(old, env)
    {
        if (cJSON_IsString(old) && strncmp(old->valuestring, setting, n) == 0) {
            cJSON_ReplaceItemViaPointer(env, old, cJSON_CreateString(setting));
            return;
        }
    }
    cJSON_AddItemToArray(env, cJSON_CreateString(setting));
}

int draft_store(struct draft *d, const image_store *s, struct image_built *out, err *e)
{
    oci_descriptor config;
    json_set_str(d->config, "created", d->created);
    if (store_json(s, d->config, OCI_TYPE_OCI_CONFIG, &config, e))
        return -1;
    json_set(d->manifest, "config", oci_descriptor_json(&config));
    if (store_json(s, d->manifest, OCI_TYPE_OCI_MANIFEST, &out->manifest, e))
        return -1;
    AUTO_BUF text = {0};
    json_print(&text, d->manifest);
    out->new_layers = d->new_layers;
    if (oci_manifest_parse(text.data, text.len, &out->content, e))
        return -1;
    out->size = out->manifest.size + oci_manifest_bytes(&out->content);
    return 0;
}

static char *full_tag(const char *tag, err *e)
{
    oci_ref ref;
    if (!tag)
        err_set(e, ERR_USAGE, "image.build needs a tag");
    if (!tag || oci_ref_parse(tag, &ref, e))
        return NULL;
    char *full = str_fmt("%s%s%s:%s", ref.host ? ref.host : "", ref.host ? "/" : "", ref.name,
        ref.tag ? ref.tag : "latest");
    oci_ref_done(&ref);
    return full;
}

int draft_finish(
    struct draft *d, const image_store *s, const char *tag, struct image_built *out, err *e)
{
    *out = (struct image_built){.ref = full_tag(tag, e)};
    if (out->ref && draft_store(d, s, out, e) == 0 &&
        image_store_tag(s, out->ref, &out->manifest, e) == 0)
        return 0;
    image_built_done(out);
    return -1;
}

void image_built_done(struct image_built *b)
{
    free(b->ref);
    oci_manifest_done(&b->content);
    *b = (struct image_built){0};
}
