// SPDX-License-Identifier: MIT
// What is in a pod: its containers as a table, and of one of them what it runs, its ports, what it
// asks for, its environment and its volumes. Values of Secrets are named, never shown.
#include "base/json/secret.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/bindings.h"
#include "script/api/desk/desk.h"
#include "script/api/pods/pod.h"

#include <string.h>

struct parts {
    cJSON *rows;
    const cJSON *volumes; // of the pod
};

static void add_row(
    struct parts *p, const char *kind, const char *name, const char *value, const char *from)
{
    const char *cells[] = {kind, name, value, from};
    cJSON *row = cJSON_CreateObject();
    json_set_str(row, "uid", "");
    json_set_str(row, "name", name);
    json_set(row, "cells", cJSON_CreateStringArray(cells, (int)ARRAY_LEN(cells)));
    cJSON_AddItemToArray(p->rows, row);
}

static void join(const cJSON *words, buf *out)
{
    const cJSON *word;
    cJSON_ArrayForEach(word, words)
    {
        buf_fmt(out, "%s%s", out->len ? " " : "", cJSON_IsString(word) ? word->valuestring : "?");
    }
}

static void add_command(struct parts *p, const cJSON *container)
{
    AUTO_BUF command = {0}, args = {0};
    join(json_get(container, "command"), &command);
    join(json_get(container, "args"), &args);
    if (command.len)
        add_row(p, "command", "", command.data, "");
    if (args.len)
        add_row(p, "args", "", args.data, "");
}

static void add_ports(struct parts *p, const cJSON *container)
{
    const cJSON *port;
    cJSON_ArrayForEach(port, json_get(container, "ports"))
    {
        AUTO_FREE char *number = str_fmt("%lld/%s",
            (long long)json_int_or(port, "containerPort", 0), json_str_or(port, "protocol", "TCP"));
        add_row(p, "port", json_str_or(port, "name", ""), number, "");
    }
}

static void add_amounts(struct parts *p, const char *kind, const cJSON *amounts)
{
    const cJSON *amount;
    cJSON_ArrayForEach(amount, amounts)
    {
        AUTO_FREE char *text =
            cJSON_IsString(amount) ? mem_strdup(amount->valuestring) : json_to_str(amount);
        add_row(p, kind, amount->string, text, "");
    }
}

// "secret db, key password", "field status.podIP", "limits.cpu".
static void say_source(const cJSON *from, buf *out)
{
    static const struct {
        const char *member, *words;
    } refs[] = {{"secretKeyRef", "secret"}, {"configMapKeyRef", "configmap"}};
    for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
        const cJSON *ref = json_get(from, refs[i].member);
        if (ref)
            buf_fmt(out, "%s %s, key %s", refs[i].words, json_str_or(ref, "name", ""),
                json_str_or(ref, "key", ""));
    }
    const char *field = json_path_str(from, "fieldRef.fieldPath"),
               *amount = json_path_str(from, "resourceFieldRef.resource");
    if (field)
        buf_fmt(out, "field %s", field);
    if (amount)
        buf_str(out, amount);
}

static void add_env(struct parts *p, const cJSON *container)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, json_get(container, "envFrom"))
    {
        AUTO_BUF from = {0};
        const char *secret = json_path_str(one, "secretRef.name");
        buf_fmt(&from, "all of %s %s", secret ? "secret" : "configmap",
            secret ? secret : json_str_or(json_get(one, "configMapRef"), "name", ""));
        add_row(p, "env", json_str_or(one, "prefix", ""), "", buf_cstr(&from));
    }
    cJSON_ArrayForEach(one, json_get(container, "env"))
    {
        AUTO_BUF from = {0};
        const char *name = json_str_or(one, "name", ""), *value = json_str_or(one, "value", "");
        say_source(json_get(one, "valueFrom"), &from);
        add_row(p, "env", name, *value && secret_name(name) ? SECRET_TOLD : value, buf_cstr(&from));
    }
}

// What a volume is made of: the member of it that is not its name.
static void say_volume(const cJSON *volume, buf *out)
{
    static const char *const names[] = {
        "secretName", "claimName", "name", "path", "driver", "server"};
    const cJSON *source = volume ? volume->child : NULL;
    while (source && str_eq(source->string, "name"))
        source = source->next;
    if (!source)
        return;
    buf_str(out, source->string);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (json_str(source, names[i])) {
            buf_fmt(out, " %s", json_str(source, names[i]));
            return;
        }
}

static const cJSON *volume_of(const struct parts *p, const char *name)
{
    const cJSON *volume;
    cJSON_ArrayForEach(volume, p->volumes)
    {
        if (str_eq(json_str(volume, "name"), name))
            return volume;
    }
    return NULL;
}

static void add_mounts(struct parts *p, const cJSON *container)
{
    const cJSON *mount;
    cJSON_ArrayForEach(mount, json_get(container, "volumeMounts"))
    {
        AUTO_BUF where = {0}, from = {0};
        const char *name = json_str_or(mount, "name", ""), *sub = json_str(mount, "subPath");
        buf_str(&where, json_str_or(mount, "mountPath", ""));
        if (json_bool_or(mount, "readOnly", false))
            buf_str(&where, " (read-only)");
        say_volume(volume_of(p, name), &from);
        if (sub)
            buf_fmt(&from, ", its %s", sub);
        add_row(p, "volume", name, buf_cstr(&where), buf_cstr(&from));
    }
}

static const cJSON *container_of(const cJSON *pod, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
    const cJSON *container;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        cJSON_ArrayForEach(container, json_get(json_get(pod, "spec"), lists[i]))
        {
            if (str_eq(json_str(container, "name"), name))
                return container;
        }
    return NULL;
}

static int show_container(call *c, const cJSON *pod, const char *name, cJSON **result, err *e)
{
    static const char *const columns[] = {"WHAT", "NAME", "VALUE", "FROM"};
    const cJSON *container = container_of(pod, name);
    const char *own = json_path_str(pod, "metadata.name");
    if (!container)
        return err_set(e, ERR_NOT_FOUND, "pod %s has no container %s", own, name);
    cJSON *table = cJSON_CreateObject();
    struct parts p = {
        .rows = json_array_at(table, "rows"), .volumes = json_path(pod, "spec.volumes")};
    add_row(&p, "image", "", json_str_or(container, "image", ""),
        json_str_or(container, "imagePullPolicy", ""));
    add_command(&p, container);
    add_ports(&p, container);
    add_amounts(&p, "request", json_path(container, "resources.requests"));
    add_amounts(&p, "limit", json_path(container, "resources.limits"));
    add_env(&p, container);
    add_mounts(&p, container);
    AUTO_FREE char *title = str_fmt("container %s of %s", name, own);
    json_set(table, "columns", cJSON_CreateStringArray(columns, ARRAY_LEN(columns)));
    json_set(table, "actions", cJSON_CreateArray());
    json_set_str(table, "title", title);
    return k8s_show_table(c, table, result);
}

// Of a pod, or of one of an owner's pods: the table of its containers; with "container" what is in
// that one.
static int inside(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    AUTO_JSON *object = k8s_object(c, &t, e);
    if (!object)
        return -1;
    const char *container = json_str(args, "container");
    AUTO_JSON *pod = k8s_pod_for(&t, object, e);
    if (!pod)
        return -1;
    return container ? show_container(c, pod, container, result, e)
                     : k8s_show_containers(c, t.context, pod, result);
}

const struct binding desk_inside_bindings[] = {
    {.name = "k8s.inside", .effect = EFFECT_PURE, .start = inside},
    {0},
};
