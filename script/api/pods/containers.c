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
    const struct pod_choice *choice;
    const char *context;
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
    const struct pod_choice *p = l->choice;
    const cJSON *status = container_status(p->pod, name);
    const char *since = json_path_str(status, "state.running.startedAt");
    bool ready = json_bool_or(status, "ready", false);
    AUTO_FREE char *restarts = str_fmt("%lld", (long long)json_int_or(status, "restartCount", 0));
    cJSON *row = cJSON_CreateObject(), *cells = json_array_at(row, "cells");
    cJSON *about = k8s_about(NULL);
    json_set_str(row, "uid", name);
    json_set_str(row, "name", name);
    json_set_str(row, "namespace", p->ns);
    json_set_str(about, "name", p->name);
    json_set_str(about, "uid", json_path_str(p->pod, "metadata.uid"));
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

// A display of the table, for whoever has pressed the key.
static cJSON *show(call *c, const struct listing *l)
{
    static const char *const columns[] = {
        "NAME", "READY", "STATE", "RESTARTS", "AGE", "ROLE", "IMAGE"};
    static const char *const actions[] = {"shell", "logs", "describe", "yaml"};
    AUTO_BUF text = {0};
    AUTO_FREE char *title = str_fmt("containers of %s", l->choice->name);
    cJSON *table = cJSON_CreateObject(), *data = cJSON_CreateObject();
    json_set(table, "columns", cJSON_CreateStringArray(columns, ARRAY_LEN(columns)));
    json_set(table, "rows", cJSON_Duplicate(l->rows, true));
    json_set(table, "actions", cJSON_CreateStringArray(actions, ARRAY_LEN(actions)));
    json_set(table, "about", k8s_about(NULL));
    json_set_str(table, "title", title);
    tabletext_print(table, clock_wall(), &text);
    json_set_str(data, "text/plain", buf_cstr(&text));
    json_set(data, "application/vnd.firesteel.table+json", table);
    display *d = call_display(c, data, true);
    cJSON *shown = cJSON_CreateObject();
    json_set_int(shown, "display", display_id(d));
    display_close(d, NULL); // it stays as it is
    return shown;
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
    AUTO_JSON *rows = cJSON_CreateArray();
    struct listing l = {.choice = &p, .context = p.target.context, .rows = rows};
    containers_each(p.pod, add_row, &l);
    bool chosen = named || l.running < 2;
    *result = chosen ? cJSON_CreateObject() : show(c, &l);
    k8s_pod_done(&p);
    return 0;
}
