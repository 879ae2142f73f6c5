// SPDX-License-Identifier: MIT
// The containers of a pod as a table, from which a person chooses where a shell goes. Each row
// stands for its pod, with the name of the container.
#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/state/container.h"
#include "k8s/client/state/sick.h"
#include "script/api/k8s/k8s.h"
#include "script/api/pods/pod.h"
#include "script/kernel/effects/binding.h"

struct listing {
    const cJSON *pod;
    const char *name, *ns, *context;
    cJSON *rows;
    size_t running;
};

static void add_state(cJSON *cells, const cJSON *status)
{
    AUTO_BUF words = {0};
    const cJSON *ended = json_path(status, "state.terminated");
    if (ended)
        container_end(ended, &words);
    else if (json_path(status, "state.running"))
        buf_str(&words, "Running");
    else
        buf_str(&words, json_str_or(json_path(status, "state.waiting"), "reason", "Waiting"));
    cJSON_AddItemToArray(cells, cJSON_CreateString(buf_cstr(&words)));
}

static void add_age(cJSON *cells, const char *since)
{
    cJSON_AddItemToArray(cells, since ? tabletext_age(NULL, since, NULL) : cJSON_CreateString(""));
}

static void add_row(void *arg, const char *name, const char *role)
{
    struct listing *l = arg;
    const cJSON *status = container_status(l->pod, name);
    const char *since = json_path_str(status, "state.running.startedAt");
    bool ready = json_bool_or(status, "ready", false);
    AUTO_FREE char *restarts = str_fmt("%lld", (long long)json_int_or(status, "restartCount", 0));
    cJSON *row = cJSON_CreateObject(), *cells = json_array_at(row, "cells");
    cJSON *about = k8s_about(NULL);
    json_set_str(row, "uid", name);
    json_set_str(row, "name", name);
    json_set_str(row, "namespace", l->ns);
    json_set_str(about, "name", l->name);
    json_set_str(about, "uid", json_path_str(l->pod, "metadata.uid"));
    json_set_str(about, "context", l->context);
    json_set_str(about, "container", name);
    json_set(row, "about", about);
    cJSON_AddItemToArray(cells, cJSON_CreateString(name));
    cJSON_AddItemToArray(cells, cJSON_CreateString(ready ? "true" : "false"));
    add_state(cells, status);
    cJSON_AddItemToArray(cells, cJSON_CreateString(restarts));
    add_age(cells, since);
    cJSON_AddItemToArray(cells, cJSON_CreateString(role));
    cJSON_AddItemToArray(cells, cJSON_CreateString(json_str_or(status, "image", "")));
    cJSON_AddItemToArray(l->rows, row);
    l->running += json_path(status, "state.running") != NULL;
}

// The rows of all containers; new.
static cJSON *list(struct listing *l, const char *context, const cJSON *pod)
{
    *l = (struct listing){.pod = pod,
        .name = json_path_str(pod, "metadata.name"),
        .ns = json_path_str(pod, "metadata.namespace"),
        .context = context,
        .rows = cJSON_CreateArray()};
    containers_each(pod, add_row, l);
    return l->rows;
}

// Takes the rows.
static int show(call *c, const struct listing *l, cJSON *rows, cJSON **result)
{
    static const char *const columns[] = {
        "NAME", "READY", "STATE", "RESTARTS", "AGE", "ROLE", "IMAGE"};
    static const char *const actions[] = {"inside", "shell", "logs", "describe", "yaml"};
    AUTO_FREE char *title = str_fmt("containers of %s", l->name);
    cJSON *table = cJSON_CreateObject();
    json_set(table, "columns", cJSON_CreateStringArray(columns, ARRAY_LEN(columns)));
    json_set(table, "rows", rows);
    json_set(table, "actions", cJSON_CreateStringArray(actions, ARRAY_LEN(actions)));
    json_set(table, "about", k8s_about(NULL));
    json_set_str(table, "title", title);
    return k8s_show_table(c, table, result);
}

int k8s_show_containers(call *c, const char *context, const cJSON *pod, cJSON **result)
{
    struct listing l;
    cJSON *rows = list(&l, context, pod);
    return show(c, &l, rows, result);
}

int k8s_choose_container(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct target t;
    struct pod_choice p;
    AUTO_BUF note = {0};
    const char *named = json_str(args, "container");
    if (k8s_target(c, args, true, &t, e) != 0)
        return -1;
    cJSON *object = k8s_object(c, &t, e);
    if (k8s_pod_choose(&t, object, named, &note, &p, e) != 0)
        return -1;
    struct listing l;
    cJSON *rows = list(&l, p.target.context, p.pod);
    bool chosen = named || l.running < 2;
    int can = 0;
    if (chosen) { // and before anybody is asked
        cJSON_Delete(rows);
        can = k8s_pods_can(&t, "exec", e);
        *result = can == 0 ? cJSON_CreateObject() : NULL;
    } else {
        show(c, &l, rows, result);
    }
    k8s_pod_done(&p);
    return can;
}
