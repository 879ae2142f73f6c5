// SPDX-License-Identifier: MIT
// The k8s bindings that read: manifests, objects, lists, events, descriptions, permissions.
#include "base/clock.h"
#include "base/data/digest.h"
#include "base/json/rowset.h"
#include "base/json/tabletext.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/describe/describe.h"
#include "k8s/client/describe/events.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/state.h"
#include "k8s/client/state/workflow.h"
#include "k8s/client/watch/table.h"
#include "k8s/manifest/manifest.h"
#include "script/api/k8s/k8s.h"

#include <string.h>

enum { MANIFEST_LIMIT = 32 << 20 };

// Registers the contents of a Secret, as they are and decoded: nobody shall see them.
void k8s_register_secrets(call *c, const cJSON *object)
{
    if (!str_eq(json_str(object, "kind"), "Secret"))
        return;
    const cJSON *value;
    cJSON_ArrayForEach(value, json_get(object, "stringData"))
    {
        if (cJSON_IsString(value))
            call_secret(c, value->valuestring);
    }
    cJSON_ArrayForEach(value, json_get(object, "data"))
    {
        AUTO_BUF bytes = {0};
        if (!cJSON_IsString(value))
            continue;
        call_secret(c, value->valuestring);
        if (base64_decode(&bytes, value->valuestring, strlen(value->valuestring), NULL) == 0)
            call_secret(c, buf_cstr(&bytes));
    }
}

// Reads a manifest's file from the working folder, else from the notebook's folder.
static int read_file(call *c, const char *name, buf *text, err *e)
{
    const struct call_paths *paths = call_paths(c);
    AUTO_FREE char *here = path_join(call_cwd(c), name);
    AUTO_FREE char *there =
        paths && paths->notebook_dir ? path_join(paths->notebook_dir, name) : NULL;
    const char *path = !path_exists(here) && there && path_exists(there) ? there : here;
    if (path_read(path, text, MANIFEST_LIMIT, e) < 0)
        return -1;
    char hex[SHA256_HEX];
    sha256_hex(text->data, text->len, hex);
    cJSON *input = cJSON_CreateObject();
    json_set_int(input, "size", (int64_t)text->len);
    json_set_str(input, "sha256", hex);
    call_recorded(c, "input", path == here ? name : path, input);
    return 0;
}

int k8s_manifest(call *c, const cJSON *args, cJSON **result, err *e)
{
    const char *file = json_str(args, "file"), *given = json_str(args, "text");
    AUTO_BUF text = {0};
    AUTO_JSON *objects = NULL;
    if (file) {
        if (read_file(c, file, &text, e) != 0)
            return -1;
        objects = manifest_parse(file, buf_cstr(&text), text.len, e);
    } else if (given) {
        objects = manifest_parse("the manifest", given, strlen(given), e);
    } else {
        objects = manifest_from_json(json_get(args, "value"), e);
    }
    if (!objects)
        return -1;
    const cJSON *o;
    cJSON_ArrayForEach(o, objects)
    {
        k8s_register_secrets(c, o);
    }
    *result = STEAL(objects);
    return 0;
}

cJSON *k8s_object(call *c, struct target *t, err *e)
{
    AUTO_JSON *object = client_get(t->client, &t->patience, t->resource, t->ns, t->name, e);
    if (!object)
        return NULL;
    if (t->uid && !str_eq(json_path_str(object, "metadata.uid"), t->uid)) {
        err_set(e, ERR_NOT_FOUND, "%s %s in namespace %s is gone; there is another one of its name",
            t->resource->singular, t->name, t->ns);
        return NULL;
    }
    k8s_register_secrets(c, object);
    return STEAL(object);
}

// {"value": an object}, or the reference to one.
int k8s_yaml(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    AUTO_JSON *value = cJSON_Duplicate(json_get(args, "value"), 1);
    if (!value && (k8s_target(c, args, true, &t, e) != 0 || !(value = k8s_object(c, &t, e))))
        return -1;
    cJSON *m = (cJSON *)json_get(value, "metadata");
    cJSON_DeleteItemFromObjectCaseSensitive(m, "managedFields");
    AUTO_BUF text = {0};
    yaml_print(&text, value);
    *result = k8s_text(&text);
    return 0;
}

// Would the server accept it? {"object", "verb": "create" | "apply"}; sends a dry run.
int k8s_check(call *c, const cJSON *args, cJSON **result, err *e)
{
    const cJSON *given = json_get(args, "object");
    struct target t;
    if (k8s_target(c, given, false, &t, e) != 0)
        return -1;
    AUTO_JSON *object = cJSON_Duplicate(given, 1);
    bool applied = str_eq(json_str(args, "verb"), "apply");
    manifest_label(object, call_run(c), !applied);
    *result = applied ? client_apply(t.client, &t.patience, t.resource, object,
                            json_bool_or(args, "force", false), true, e)
                      : client_create(t.client, &t.patience, t.resource, object, true, e);
    return *result ? 0 : -1;
}

int k8s_get(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = client_get(t.client, &t.patience, t.resource, t.ns, t.name, e);
    if (!object || workflow_unpack(object, e) != 0)
        return -1;
    k8s_register_secrets(c, object);
    k8s_note_read(c, &t, object, NULL);
    *result = STEAL(object);
    return 0;
}

int k8s_state(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = client_get(t.client, &t.patience, t.resource, t.ns, t.name, e);
    if (!object)
        return -1;
    struct state s = state_of(object);
    *result = cJSON_CreateObject();
    k8s_note_read(c, &t, object, s.text);
    json_set_str(*result, "state", s.text);
    json_set_bool(*result, "ended", s.outcome != OUTCOME_OPEN);
    json_set_bool(*result, "failed", s.outcome == OUTCOME_BAD);
    json_set_str(*result, "cause", s.cause);
    return 0;
}

int k8s_events(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    AUTO_JSON *about = cJSON_Duplicate(args, 1);
    if (!json_str(about, "kind"))
        json_set_str(about, "kind", "events");
    if (k8s_target(c, about, false, &t, e) != 0)
        return -1;
    bool one = t.name != NULL;
    AUTO_JSON *events =
        client_events(t.client, &t.patience, one && !t.resource->namespaced ? NULL : t.ns,
            one ? t.resource->kind : NULL, t.name, one ? t.uid : NULL, e);
    if (!events)
        return -1;
    *result = cJSON_CreateObject();
    cJSON *table = table_of_events(events);
    k8s_take_events(table, events);
    k8s_set_table(*result, table);
    json_set(*result, "items", STEAL(events));
    return 0;
}

// What a description shows beside its object; it is described also to people who may not read that.
static cJSON *related_to(struct target *t, const cJSON *object, cJSON **also)
{
    struct describe_relation r = describe_relations(object);
    cJSON *items = NULL;
    const char *ns = r.everywhere ? NULL : r.ns ? r.ns : t->ns;
    if (r.kind)
        items = k8s_items(t, &t->patience, r.api_version, r.kind, ns,
            &(struct list_query){.labels = r.labels, .fields = r.fields}, NULL);
    if (r.also_kind)
        *also = k8s_items(
            t, &t->patience, r.also_version, r.also_kind, ns, &(struct list_query){0}, NULL);
    describe_relation_done(&r);
    return items;
}

static cJSON *lease_of(struct target *t)
{
    const struct resource *r =
        client_resource_of(t->client, &t->patience, "coordination.k8s.io/v1", "Lease", NULL);
    return r ? client_get(t->client, &t->patience, r, "kube-node-lease", t->name, NULL) : NULL;
}

int k8s_describe(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = k8s_object(c, &t, e);
    if (!object)
        return -1;
    bool node = str_eq(t.resource->api_version, "v1") && str_eq(t.resource->kind, "Node");
    // A kubelet gives the name of its node as the uid in events.
    struct target aside = t; // what only adds to the object's own text
    aside.patience = k8s_quick(&t);
    AUTO_JSON *events =
        client_events(t.client, &aside.patience, t.resource->namespaced ? t.ns : NULL,
            t.resource->kind, t.name, node ? NULL : json_path_str(object, "metadata.uid"), NULL);
    AUTO_JSON *also = NULL;
    AUTO_JSON *related = related_to(&aside, object, &also);
    AUTO_JSON *lease = node ? lease_of(&aside) : NULL;
    AUTO_BUF text = {0};
    describe(&text, object,
        &(struct describe_more){.events = events, .related = related, .also = also, .lease = lease},
        clock_wall());
    *result = k8s_text(&text);
    return 0;
}

int k8s_can_i(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    const char *verb = json_str(args, "verb");
    if (!verb)
        return err_set(e, ERR_USAGE, "can_i needs a verb, as \"create\"");
    if (k8s_target(c, args, false, &t, e) != 0)
        return -1;
    AUTO_FREE char *reason = NULL;
    int allowed = client_can_i(t.client, &t.patience, verb, t.resource, t.ns, t.name,
        json_str(args, "subresource"), &reason, e);
    if (allowed < 0)
        return -1;
    *result = cJSON_CreateObject();
    json_set_bool(*result, "allowed", allowed);
    json_set_str(*result, "reason", reason);
    return 0;
}

static void add_attribute(cJSON *table, const char *name, const cJSON *value)
{
    const cJSON *item;
    AUTO_BUF text = {0};
    if (cJSON_IsString(value))
        buf_str(&text, value->valuestring);
    cJSON_ArrayForEach(item, value)
    {
        buf_fmt(&text, "%s%s%s", item == value->child ? "[" : " ",
            cJSON_IsString(item) ? item->valuestring : "", item->next ? "" : "]");
    }
    if (!text.len)
        return;
    cJSON *row = cJSON_CreateArray();
    cJSON_AddItemToArray(row, cJSON_CreateString(name));
    cJSON_AddItemToArray(row, cJSON_CreateString(buf_cstr(&text)));
    cJSON_AddItemToArray(json_array_at(table, "rows"), row);
}

// kubectl's table of it: a line for each attribute, lists as [a b].
static void print_user(const cJSON *user, buf *out)
{
    AUTO_JSON *table = cJSON_CreateObject();
    static const char *const columns[] = {"ATTRIBUTE", "VALUE"};
    json_set(table, "columns", cJSON_CreateStringArray(columns, 2));
    add_attribute(table, "Username", json_get(user, "username"));
    add_attribute(table, "UID", json_get(user, "uid"));
    add_attribute(table, "Groups", json_get(user, "groups"));
    AUTO_FREE const cJSON **extra = json_sorted(json_get(user, "extra"));
    for (const cJSON **x = extra; *x; x++) {
        AUTO_FREE char *name = str_fmt("Extra: %s", (*x)->string);
        add_attribute(table, name, *x);
    }
    tabletext_print(table, 0, out);
}

int k8s_whoami(call *c, const cJSON *args, cJSON **result, err *e)
{
    client *k = bind_client(c, e);
    struct patience p = bind_patience(c);
    if (!k || !(*result = client_whoami(k, &p, e)))
        return -1;
    AUTO_BUF text = {0};
    print_user(*result, &text);
    json_set(*result, "text", k8s_text(&text));
    json_set_str(*result, "context", client_config(k)->context);
    return 0;
}

int k8s_version(call *c, const cJSON *args, cJSON **result, err *e)
{
    client *k = bind_client(c, e);
    struct patience p = bind_patience(c);
    if (!k || !(*result = client_version(k, &p, e)))
        return -1;
    const char *git = json_str_or(*result, "gitVersion", "");
    json_set_bool(*result, "sandbox", strstr(git, "+firesteel-") != NULL);
    json_set_str(*result, "server", client_config(k)->server);
    json_set_str(*result, "context", client_config(k)->context);
    json_set_str(*result, "namespace", client_config(k)->namespace_);
    return 0;
}

static bool add_kind(void *arg, const struct resource *r)
{
    cJSON *kind = cJSON_CreateObject();
    json_set_str(kind, "name", r->plural);
    json_set_str(kind, "apiVersion", r->api_version);
    json_set_str(kind, "kind", r->kind);
    json_set_bool(kind, "namespaced", r->namespaced);
    if (r->short_names)
        json_set(kind, "shortNames", cJSON_Duplicate(r->short_names, 1));
    cJSON_AddItemToArray(arg, kind);
    return true;
}

int k8s_kinds(call *c, const cJSON *args, cJSON **result, err *e)
{
    client *k = bind_client_of(c, json_str(args, "context"), e);
    struct patience p = bind_patience(c);
    if (!k)
        return -1;
    AUTO_JSON *kinds = cJSON_CreateArray();
    if (client_resources(k, &p, add_kind, kinds, e) != 0)
        return -1;
    *result = STEAL(kinds);
    return 0;
}

// The plain words of a list: not those that ask for a condition or a number.
static cJSON *words_of(const char *list)
{
    cJSON *words = cJSON_CreateArray();
    const char *part;
    for (size_t n; (n = known_part(&list, &part));) {
        AUTO_FREE char *word = mem_strndup(part, n);
        if (!strpbrk(word, "=/!>"))
            cJSON_AddItemToArray(words, cJSON_CreateString(word));
    }
    return words;
}

// {"apiVersion", "kind"} → what the table of kinds has: {"words": paths, "good", "bad", "way":
// words, "past": the word of an end does not stay}; null: nothing. It asks nobody.
int k8s_known(call *c, const cJSON *args, cJSON **result, err *e)
{
    const char *version = json_str_or(args, "apiVersion", "");
    AUTO_FREE char *group = mem_strndup(version, known_group(version));
    if (bind_kinds(c, e) < 0)
        return -1;
    const struct known *row = known_find(group, json_str_or(args, "kind", ""));
    if (!row)
        return 0;
    *result = cJSON_CreateObject();
    json_set(*result, "words", words_of(row->words));
    json_set(*result, "good", words_of(row->good));
    json_set(*result, "bad", words_of(row->bad));
    json_set(*result, "way", words_of(row->way));
    json_set_bool(*result, "past", row->history != NULL);
    return 0;
}
