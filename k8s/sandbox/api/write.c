// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/admission.h"
#include "k8s/sandbox/api/objects/alias.h"
#include "k8s/sandbox/api/objects/managed.h"
#include "k8s/sandbox/api/objects/patch.h"
#include "k8s/sandbox/api/objects/selector.h"
#include "k8s/sandbox/api/verbs.h"

#include <string.h>

static enum store_part part_of(const struct request *r)
{
    return str_eq(r->subresource, "status") ? STORE_STATUS : STORE_MAIN;
}

static struct managed_writer writer_of(const struct request *r, char *name)
{
    return (struct managed_writer){name, r->subresource, store_now(r->api->store)};
}

static void store_new_object(struct request *r, cJSON *json)
{
    err e = {0};
    const snapshot *s =
        store_create(r->api->store, r->stored, json, STORE_MAIN, request_is_dry_run(r), &e);
    if (s) {
        reply_object(r, 201, s);
        return;
    }
    // Often only the body has the name.
    if (e.code == ERR_EXISTS || e.code == ERR_FORBIDDEN) {
        const char *quote = strchr(e.text, '"');
        free(r->name);
        r->name = quote ? mem_strndup(quote + 1, strcspn(quote + 1, "\"")) : mem_strdup("");
    }
    reply_error(r, &e);
}

void verb_create(struct request *r)
{
    cJSON *json = request_object(r);
    if (!json)
        return;
    json = alias_accept(r->kind, json);
    const char *version = json_path_str(json, "metadata.resourceVersion");
    if (version && *version) // 500 without a reason: so it is in kube-apiserver
        reply_failure(r, 500, "", "resourceVersion should not be set on objects to be created");
    if ((version && *version) || !admit(r, json, NULL)) {
        cJSON_Delete(json);
        return;
    }
    AUTO_FREE char *manager = request_manager(r);
    managed_update(r->stored, NULL, json, writer_of(r, manager));
    store_new_object(r, json);
}

// Replaces `old` by json, which is taken: the last step of both update and patch.
static void store_changed_object(struct request *r, const snapshot *old, cJSON *json)
{
    err e = {0};
    const snapshot *s =
        store_update(r->api->store, r->stored, json, part_of(r), request_is_dry_run(r), &e);
    if (s)
        reply_object(r, 200, s);
    else
        reply_error(r, &e);
}

static bool names_agree(struct request *r, const cJSON *json)
{
    if (str_eq(object_name(json), r->name))
        return true;
    reply_failure(r, 400, NULL,
        "the name of the object (%s) does not match the name on the URL (%s)", object_name(json),
        r->name);
    return false;
}

// An update of a custom resource must name the resourceVersion that it replaces.
static bool names_version(struct request *r, const cJSON *json)
{
    const char *version = json_path_str(json, "metadata.resourceVersion");
    if (!(r->kind->flags & KIND_IS_CUSTOM) || (version && *version))
        return true;
    struct kind named = *r->kind;
    named.kind = r->kind->resource;
    cJSON *causes = NULL;
    causes_add(&causes, "FieldValueInvalid", "metadata.resourceVersion",
        "Invalid value: 0: must be specified for an update");
    reply_json(r, 422, status_invalid(&named, r->name, causes));
    return false;
}

void verb_update(struct request *r)
{
    cJSON *json = request_object(r);
    if (!json)
        return;
    json = alias_accept(r->kind, json);
    const snapshot *old = store_get(r->api->store, r->stored, r->ns, r->name);
    if (!old)
        verb_get(r); // answers "not found"
    else if (names_agree(r, json) && names_version(r, json) && admit(r, json, old->json)) {
        AUTO_FREE char *manager = request_manager(r);
        managed_update(r->stored, old->json, json, writer_of(r, manager));
        store_changed_object(r, old, json);
        return;
    }
    cJSON_Delete(json);
}

// The error is about the patch, not the object; otherwise kubectl would print only the object's
// name.
static void fail_patch(struct request *r, const err *e)
{
    int code = e->code == ERR_INVALID ? 422 : 400;
    reply_json(r, code, status_failure(code, NULL, e->text, NULL, NULL, NULL));
}

// The object after the patch, new; NULL if it has answered with an error.
static cJSON *patched(struct request *r, const char *type, const cJSON *old, const cJSON *patch)
{
    err e = {0};
    cJSON *json = NULL;
    if (str_starts(type, "application/json-patch+json"))
        json = patch_json(old, patch, &e);
    else if (str_starts(type, "application/merge-patch+json"))
        json = patch_merge(old, patch);
    else if (str_starts(type, "application/strategic-merge-patch+json"))
        json = patch_strategic(r->stored, old, patch, &e);
    if (!json)
        fail_patch(r, &e);
    return json;
}

static bool knows_patch(struct request *r, const char *type)
{
    static const char *const types[] = {"application/json-patch+json",
        "application/merge-patch+json", "application/apply-patch+yaml",
        "application/strategic-merge-patch+json"};
    // A custom resource has no Go type that would give its merge keys.
    size_t n = r->kind->flags & KIND_IS_CUSTOM ? 3 : 4;
    AUTO_BUF accepted = {0};
    for (size_t i = 0; i < n; i++) {
        if (str_starts(type, types[i]))
            return true;
        buf_fmt(&accepted, "%s%s", i ? ", " : "", types[i]);
    }
    reply_failure(r, 415, NULL,
        "the body of the request was in an unknown format - accepted media types include: %s",
        buf_cstr(&accepted));
    return false;
}

static cJSON *patch_body(struct request *r)
{
    err e = {0};
    cJSON *patch = json_parse(buf_cstr(&r->body), r->body.len, &e);
    if (!patch)
        reply_failure(r, 400, NULL, "error decoding patch: %s", e.text);
    return patch;
}

static bool may_apply(struct request *r, const cJSON *config, const snapshot *old)
{
    const char *kind = json_str_or(config, "kind", ""), *name = object_name(config);
    if (!*kind)
        reply_failure(r, 400, NULL, "invalid object type: /, Kind=");
    else if (!str_eq(name, r->name) && *name)
        names_agree(r, config);
    else if (cJSON_GetArraySize(json_path(config, "metadata.managedFields")))
        reply_failure(r, 400, NULL, "metadata.managedFields must be nil");
    else if (!old && *object_uid(config))
        reply_failure(r, 409, NULL,
            "Operation cannot be fulfilled on %s \"%s\": uid mismatch: the provided object "
            "specified uid %s, and no existing object was found",
            r->kind->resource, r->name, object_uid(config));
    else
        return true;
    return false;
}

static void apply(struct request *r)
{
    cJSON *config = request_object(r);
    if (!config)
        return;
    config = alias_accept(r->kind, config);
    const snapshot *old = store_get(r->api->store, r->stored, r->ns, r->name);
    if (!may_apply(r, config, old)) {
        cJSON_Delete(config);
        return;
    }
    AUTO_JSON *conflicts = NULL;
    AUTO_FREE char *manager = request_manager(r);
    cJSON *json = managed_apply(r->stored, old ? old->json : NULL, config, writer_of(r, manager),
        request_flag(r, "force"), &conflicts);
    cJSON_Delete(config);
    if (conflicts) {
        AUTO_FREE char *message = managed_conflict_text(conflicts);
        reply_json(r, 409, status_failure(409, NULL, message, NULL, NULL, STEAL(conflicts)));
    } else if (!admit(r, json, old ? old->json : NULL)) {
        cJSON_Delete(json);
    } else if (old) {
        store_changed_object(r, old, json);
    } else {
        store_new_object(r, json);
    }
}

static bool keeps_uid(struct request *r, const cJSON *json, const snapshot *old)
{
    const char *uid = object_uid(json);
    cJSON *causes = NULL;
    if (!*uid || str_eq(uid, old->uid))
        return true;
    causes_add(&causes, "FieldValueInvalid", "metadata.uid",
        "Invalid value: \"%s\": field is immutable", uid);
    reply_invalid(r, r->name, causes);
    return false;
}

void verb_patch(struct request *r)
{
    const char *type = http_request_header(r->x, "Content-Type");
    if (!knows_patch(r, type ? type : ""))
        return;
    if (str_starts(type, "application/apply-patch")) {
        apply(r);
        return;
    }
    const snapshot *old = store_get(r->api->store, r->stored, r->ns, r->name);
    if (!old) {
        verb_get(r);
        return;
    }
    AUTO_JSON *patch = patch_body(r);
    cJSON *json = patch ? patched(r, type, old->json, patch) : NULL;
    if (!json)
        return;
    if (!names_agree(r, json) || !keeps_uid(r, json, old) || !admit(r, json, old->json)) {
        cJSON_Delete(json);
        return;
    }
    AUTO_FREE char *manager = request_manager(r);
    managed_update(r->stored, old->json, json, writer_of(r, manager));
    store_changed_object(r, old, json);
}

static enum store_propagation propagation_named(const char *name)
{
    if (str_eq(name, "Foreground"))
        return STORE_FOREGROUND;
    return str_eq(name, "Orphan") ? STORE_ORPHAN : STORE_BACKGROUND;
}

// DeleteOptions come in the body or as parameters. The options point into *body.
static bool read_delete_options(struct request *r, struct store_delete *how, cJSON **body)
{
    *how = (struct store_delete){.grace = -1};
    *body = NULL;
    const char *propagation = http_query(r->x, "propagationPolicy");
    const char *grace = http_query(r->x, "gracePeriodSeconds");
    if (r->body.len) {
        *body = request_object_as(r, schema_delete_options());
        if (!*body)
            return false;
        how->grace = json_int_or(*body, "gracePeriodSeconds", -1);
        how->uid = json_path_str(*body, "preconditions.uid");
        how->version = json_path_str(*body, "preconditions.resourceVersion");
        how->dry_run = cJSON_GetArraySize(json_get(*body, "dryRun")) > 0;
        propagation = json_str_or(*body, "propagationPolicy", propagation);
        if (json_bool_or(*body, "orphanDependents", false))
            propagation = "Orphan";
    }
    if (grace)
        str_to_int(grace, &how->grace);
    how->propagation = propagation_named(propagation);
    how->dry_run = how->dry_run || request_is_dry_run(r);
    return true;
}

void verb_delete(struct request *r)
{
    struct store_delete how;
    AUTO_JSON *body = NULL;
    bool gone;
    err e = {0};
    if (!read_delete_options(r, &how, &body))
        return;
    const snapshot *s = store_delete(r->api->store, r->stored, r->ns, r->name, &how, &gone, &e);
    if (!s && e.code == ERR_NOT_FOUND)
        verb_get(r);
    else if (!s)
        reply_error(r, &e);
    else if (gone && r->stored != KIND(PODS))
        reply_json(r, 200, status_success(r->kind, s->name, s->uid));
    else
        reply_object(r, 200, s);
}

void verb_delete_all(struct request *r)
{
    struct store_delete how;
    struct selectors sel;
    AUTO_JSON *body = NULL;
    if (!read_delete_options(r, &how, &body) || !selectors_read(r, &sel))
        return;
    AUTO_LIST all = store_list(r->api->store, r->stored, r->ns);
    size_t n = 0;
    for (size_t i = 0; i < all.n; i++)
        if (selectors_match(&sel, all.items[i]->json))
            all.items[n++] = all.items[i];
        else
            snapshot_unref(all.items[i]);
    all.n = n;
    for (size_t i = 0; i < n; i++)
        store_delete(
            r->api->store, r->stored, all.items[i]->ns, all.items[i]->name, &how, NULL, NULL);
    selectors_done(&sel);
    AUTO_BUF b = {0};
    render_list(&b, &r->render, all.items, n,
        &(struct render_page){store_version(r->api->store), NULL, -1});
    reply_text(r, 200, "application/json", buf_cstr(&b), b.len);
}
