// SPDX-License-Identifier: MIT
// What cells read of a cluster is an input of theirs: objects and lists, with a digest of what was
// handed to the cell. What is another each time, though nobody has changed the object, is left out;
// and an object of this run is told by that alone: what is in it came from cells.
#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/state/container.h"
#include "k8s/manifest/manifest.h"
#include "script/api/k8s/k8s.h"

#include <string.h>

static const char hidden[] = "***";
enum { PODS_LOOKED_AT = 50 };
static const int64_t SOON = 2 * CLOCK_SEC;

static bool is_own(const char *run, const cJSON *object)
{
    return *run && str_eq(json_str(json_path(object, "metadata.labels"), LABEL_RUN), run);
}

static bool is_kept(const char *name)
{
    static const char *const others[] = {
        "managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (str_eq(name, others[i]))
            return false;
    return true;
}

// In the order of their names, which is not the server's promise.
static void add_members(buf *text, const cJSON *object)
{
    AUTO_FREE const cJSON **members = json_sorted(object);
    for (size_t i = 0; members[i]; i++) {
        const cJSON *m = members[i];
        if (!is_kept(m->string))
            continue;
        buf_fmt(text, "%s=", m->string);
        if (str_eq(m->string, "metadata"))
            add_members(text, m);
        else
            json_print_canonical(text, m);
        buf_char(text, '\n');
    }
}

// A node and a lease say again and again that they live.
static bool says_it_lives(const struct resource *r)
{
    return (str_eq(r->api_version, "v1") && str_eq(r->kind, "Node")) ||
           (str_eq(r->api_version, "coordination.k8s.io/v1") && str_eq(r->kind, "Lease"));
}

static void add_object(sha256 *sum, const struct resource *r, const cJSON *object)
{
    AUTO_BUF text = {0};
    AUTO_JSON *own = says_it_lives(r) ? cJSON_Duplicate(object, true) : NULL;
    cJSON *condition;
    cJSON_ArrayForEach(condition, json_path(own, "status.conditions"))
    {
        cJSON_DeleteItemFromObjectCaseSensitive(condition, "lastHeartbeatTime");
    }
    if (own)
        cJSON_DeleteItemFromObjectCaseSensitive(
            cJSON_GetObjectItemCaseSensitive(own, "spec"), "renewTime");
    add_members(&text, own ? own : object);
    sha256_update(sum, text.data, text.len);
}

static void end_digest(sha256 *sum, char out[SHA256_SHORT])
{
    uint8_t bytes[SHA256_SIZE];
    sha256_final(sum, bytes);
    digest_short(bytes, out);
}

void k8s_note_read(call *c, const struct target *t, const cJSON *object, const char *state)
{
    AUTO_FREE char *run = manifest_label_value(call_run(c));
    const char *ns = json_path_str(object, "metadata.namespace");
    const char *name = json_path_str(object, "metadata.name"), *kind = t->resource->kind;
    sha256 sum;
    char hex[SHA256_SHORT];
    if (!name || call_is_action(c))
        return;
    AUTO_FREE char *what =
        str_fmt("%s %s%s%s", kind, name, ns ? " in namespace " : "", ns ? ns : "");
    bool ours = is_own(run, object), secret = str_eq(kind, "Secret");
    sha256_init(&sum);
    if (!ours && !secret && !state)
        add_object(&sum, t->resource, object);
    end_digest(&sum, hex);
    call_recorded(c, "object", what,
        ours ? cJSON_CreateTrue()
             : cJSON_CreateString(secret  ? hidden
                                  : state ? state
                                          : hex));
}

char *k8s_note_list(call *c, const struct target *t, const cJSON *args, const cJSON *items)
{
    AUTO_FREE char *run = manifest_label_value(call_run(c));
    const char *labels = json_str(args, "selector"), *fields = json_str(args, "field_selector");
    bool all = json_bool_or(args, "all_namespaces", false);
    bool secret = str_eq(t->resource->kind, "Secret");
    const char *before = json_str_or(args, "read", "");
    AUTO_BUF name = {0};
    sha256 sum;
    char hex[SHA256_SHORT];
    const cJSON *item;
    sha256_init(&sum);
    sha256_update(&sum, before, strlen(before));
    cJSON_ArrayForEach(item, items)
    {
        if (!secret && !is_own(run, item))
            add_object(&sum, t->resource, item);
    }
    end_digest(&sum, hex);
    buf_str(&name, t->resource->plural);
    if (t->resource->namespaced)
        buf_fmt(&name, " in %s%s", all ? "all namespaces" : "namespace ", all ? "" : t->ns);
    buf_fmt(&name, "%s%s%s%s", labels ? ", " : "", labels ? labels : "", fields ? ", " : "",
        fields ? fields : "");
    if (!call_is_action(c))
        call_recorded(c, "object", buf_cstr(&name), cJSON_CreateString(secret ? hidden : hex));
    return mem_strdup(hex);
}

// "docker-pullable://HOST/NAME@sha256:…", "HOST/NAME@sha256:…", "sha256:…"
static const char *digest_in(const char *image_id)
{
    const char *at = strrchr(image_id, '@');
    const char *digest = at ? at + 1 : image_id;
    return str_starts(digest, "sha256:") ? digest : NULL;
}

static void note_containers(call *c, const cJSON *pod, const char *list)
{
    const cJSON *spec;
    cJSON_ArrayForEach(spec, json_path(pod, list))
    {
        const char *name = json_str_or(spec, "name", ""), *image = json_str(spec, "image");
        const char *digest = digest_in(json_str_or(container_status(pod, name), "imageID", ""));
        if (image && digest && !strchr(image, '@'))
            call_recorded(c, "image", image, cJSON_CreateString(digest));
    }
}

void k8s_note_images(call *c, struct target *t, const cJSON *object)
{
    struct pods_of of;
    struct patience soon = k8s_quick(t);
    int64_t at_most = clock_mono() + SOON;
    soon.deadline = soon.deadline < at_most ? soon.deadline : at_most;
    if (call_is_action(c) || k8s_pods_of(object, true, &of, NULL) != 0)
        return;
    struct list_query query = {.labels = of.labels, .limit = PODS_LOOKED_AT};
    const struct resource *r =
        of.labels ? client_resource_of(t->client, &soon, "v1", "Pod", NULL) : NULL;
    AUTO_JSON *list = r ? client_page(t->client, &soon, r, t->ns, &query, NULL, NULL) : NULL;
    const cJSON *pods = json_get(list, "items"),
                *pod = of.labels ? (pods ? pods->child : NULL) : object;
    for (; pod; pod = of.labels ? pod->next : NULL) {
        note_containers(c, pod, "spec.initContainers");
        note_containers(c, pod, "spec.containers");
    }
    k8s_pods_done(&of);
}
