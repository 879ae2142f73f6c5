// SPDX-License-Identifier: MIT
// Who may do what to an object's kind, as roles and their bindings say: a table of users, groups
// and accounts. What other authorizers of the server allow (webhooks, nodes) stands in no role.
//
//   RoleBindings of the namespace ──┐
//   ClusterRoleBindings ────────────┴─> role ──> its rules that match ──> a row for each subject
#include "base/mem.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/desk/desk.h"

#include <string.h>

struct search {
    struct target *t;
    const char *verb; // NULL: any
    const char *name; // of the object; NULL: any
    cJSON *roles, *cluster_roles;
    cJSON *rows;
};

static bool has(const cJSON *list, const char *word, bool stars)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const char *text = cJSON_GetStringValue(item);
        if (str_eq(text, word) || (stars && str_eq(text, "*")))
            return true;
    }
    return false;
}

static bool is_about(const struct search *s, const cJSON *rule)
{
    const cJSON *names = json_get(rule, "resourceNames");
    return has(json_get(rule, "apiGroups"), s->t->resource->group, true) &&
           has(json_get(rule, "resources"), s->t->resource->plural, true) &&
           (!names || !names->child || has(names, s->name, false)) &&
           (!s->verb || has(json_get(rule, "verbs"), s->verb, true));
}

// The verbs of the role's rules that match, "get list watch"; "" where none does.
static void add_verbs(const struct search *s, const cJSON *role, buf *out)
{
    AUTO_JSON *seen = cJSON_CreateArray();
    const cJSON *rule, *verb;
    cJSON_ArrayForEach(rule, json_get(role, "rules"))
    {
        if (!is_about(s, rule))
            continue;
        cJSON_ArrayForEach(verb, json_get(rule, "verbs"))
        {
            const char *text = cJSON_GetStringValue(verb);
            if (!text || has(seen, text, false))
                continue;
            cJSON_AddItemToArray(seen, cJSON_CreateString(text));
            buf_fmt(out, "%s%s", out->len ? " " : "", text);
        }
    }
}

static const cJSON *role_of(const struct search *s, const cJSON *binding)
{
    const char *name = json_path_str(binding, "roleRef.name");
    bool wide = str_eq(json_path_str(binding, "roleRef.kind"), "ClusterRole");
    const cJSON *role, *roles = wide ? s->cluster_roles : s->roles;
    cJSON_ArrayForEach(role, roles)
    {
        if (str_eq(json_path_str(role, "metadata.name"), name))
            return role;
    }
    return NULL;
}

static void add_row(struct search *s, const cJSON *subject, const char *verbs, const char *binding,
    const char *role)
{
    const char *ns = json_str(subject, "namespace"), *kind = json_str_or(subject, "kind", ""),
               *name = json_str_or(subject, "name", "");
    AUTO_FREE char *who = ns ? str_fmt("%s/%s", ns, name) : mem_strdup(name);
    const char *cells[] = {who, kind, verbs, binding, role};
    cJSON *row = cJSON_CreateObject();
    json_set_str(row, "uid", "");
    json_set_str(row, "name", who);
    json_set(row, "cells", cJSON_CreateStringArray(cells, (int)ARRAY_LEN(cells)));
    cJSON_AddItemToArray(s->rows, row);
}

static void add_bindings(struct search *s, const cJSON *bindings, const char *kind)
{
    const cJSON *binding, *subject;
    cJSON_ArrayForEach(binding, bindings)
    {
        AUTO_BUF verbs = {0};
        AUTO_FREE char *via = str_fmt("%s/%s", kind, json_path_str(binding, "metadata.name")),
                       *role = str_fmt("%s/%s", json_path_str(binding, "roleRef.kind"),
                           json_path_str(binding, "roleRef.name"));
        add_verbs(s, role_of(s, binding), &verbs);
        const cJSON *subjects = verbs.len ? json_get(binding, "subjects") : NULL;
        cJSON_ArrayForEach(subject, subjects)
        {
            add_row(s, subject, verbs.data, via, role);
        }
    }
}

static cJSON *list(struct search *s, const char *kind, const char *ns, err *e)
{
    return k8s_items(s->t, &s->t->patience, "rbac.authorization.k8s.io/v1", kind, ns,
        &(struct list_query){0}, e);
}

static int find_all(struct search *s, err *e)
{
    const char *ns = s->t->resource->namespaced ? s->t->ns : NULL;
    AUTO_JSON *cluster_bindings = NULL, *bindings = NULL;
    if (!(s->cluster_roles = list(s, "ClusterRole", NULL, e)) ||
        !(cluster_bindings = list(s, "ClusterRoleBinding", NULL, e)) ||
        (ns &&
            (!(s->roles = list(s, "Role", ns, e)) || !(bindings = list(s, "RoleBinding", ns, e)))))
        return -1;
    add_bindings(s, bindings, "RoleBinding");
    add_bindings(s, cluster_bindings, "ClusterRoleBinding");
    return 0;
}

static int who_can(call *c, const cJSON *args, cJSON **result, err *e)
{
    static const char *const columns[] = {"SUBJECT", "KIND", "VERBS", "BINDING", "ROLE"};
    static const char *const keep[] = {"SUBJECT", "VERBS"};
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    const char *typed = json_str_or(args, "verb", "");
    AUTO_FREE char *verb = str_trim(typed, strlen(typed));
    struct search s = {
        .t = &t, .verb = *verb ? verb : NULL, .name = t.name, .rows = cJSON_CreateArray()};
    int done = find_all(&s, e);
    cJSON_Delete(s.roles);
    cJSON_Delete(s.cluster_roles);
    if (done != 0) {
        cJSON_Delete(s.rows);
        return err_wrap(e, "who may: roles and their bindings are read");
    }
    cJSON *table = cJSON_CreateObject();
    AUTO_FREE char *title =
        str_fmt("who may %s %s %s%s%s", *verb ? verb : "do what to", t.resource->singular, t.name,
            t.resource->namespaced ? " in " : "", t.resource->namespaced ? t.ns : "");
    json_set(table, "columns", cJSON_CreateStringArray(columns, ARRAY_LEN(columns)));
    json_set(table, "keep", cJSON_CreateStringArray(keep, ARRAY_LEN(keep)));
    json_set(table, "rows", s.rows);
    json_set(table, "actions", cJSON_CreateArray());
    json_set_str(table, "title", title);
    return k8s_show_table(c, table, result);
}

const struct binding desk_who_bindings[] = {
    {.name = "k8s.who_can", .effect = EFFECT_PURE, .start = who_can},
    {0},
};
