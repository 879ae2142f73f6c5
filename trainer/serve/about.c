// SPDX-License-Identifier: MIT
#include "trainer/serve/about.h"

#include "base/json/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/serve/infer.h"

#include <string.h>

enum { NOT_FOUND = 404, NOT_ALLOWED = 405 };
static const char models[] = "/v2/models/", version[] = "/versions/";

struct path {
    const char *text;
    enum about_what what;
    bool posts;
};

static const struct path paths[] = {{"/v2", ABOUT_SERVER, false},
    {"/v2/health/live", ABOUT_LIVE, false}, {"/v2/health/ready", ABOUT_READY, false},
    {"/metrics", ABOUT_COUNTS, false}, {"/v2/models/stats", ABOUT_ALL_STATS, false},
    {"/v2/repository/index", ABOUT_INDEX, true}};
static const struct path paths_of_model[] = {{"", ABOUT_MODEL, false},
    {"/ready", ABOUT_MODEL_READY, false}, {"/config", ABOUT_CONFIG, false},
    {"/stats", ABOUT_STATS, false}, {"/infer", ABOUT_INFER, true}};

static unsigned check_method(const struct path *p, const char *method, const char *path, err *e)
{
    bool posts = str_eq(method, "POST");
    if (p->posts == posts)
        return 0;
    err_set(e, ERR_INVALID, "%s is asked by %s", path, p->posts ? "POST" : "GET");
    return NOT_ALLOWED;
}

static unsigned no_model(const struct serve_options *o, const char *name, int length, err *e)
{
    AUTO_BUF known = {0};
    for (size_t i = 0; i < o->n; i++)
        buf_fmt(&known, "%s%s", i ? ", " : "", o->models[i].name);
    err_set(e, ERR_INVALID, "there is no model %.*s; there is %s", length, name,
        str_short(buf_cstr(&known), 600).text);
    return NOT_FOUND;
}

// rest: what follows the model's name.
static unsigned find_of_model(const struct serve_options *o, const char *method, const char *path,
    const char *rest, struct about *out, err *e)
{
    const char *name = o->models[out->model].name;
    if (str_starts(rest, version)) {
        const char *number = rest + strlen(version);
        size_t length = strcspn(number, "/");
        if (length != 1 || *number != '1') {
            err_set(e, ERR_INVALID, "the model %s has version 1 alone, no version %.*s", name,
                (int)length, number);
            return NOT_FOUND;
        }
        rest = number + length;
    }
    for (size_t i = 0; i < ARRAY_LEN(paths_of_model); i++) {
        if (!str_eq(rest, paths_of_model[i].text))
            continue;
        out->what = paths_of_model[i].what;
        return check_method(&paths_of_model[i], method, path, e);
    }
    err_set(e, ERR_INVALID, "a model has no %s; it has /infer, /ready, /config and /stats", rest);
    return NOT_FOUND;
}

unsigned about_find(
    const struct serve_options *o, const char *method, const char *path, struct about *out, err *e)
{
    if (!str_eq(method, "POST") && !str_eq(method, "GET") && !str_eq(method, "HEAD")) {
        err_set(e, ERR_INVALID, "there is no %s here", method);
        return NOT_ALLOWED;
    }
    const char *name = str_starts(path, models) ? path + strlen(models) : "";
    size_t length = strcspn(name, "/");
    for (size_t i = 0; length && i < o->n; i++) {
        out->model = i;
        if (strlen(o->models[i].name) == length && memcmp(o->models[i].name, name, length) == 0)
            return find_of_model(o, method, path, name + length, out, e);
    }
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (!str_eq(path, paths[i].text))
            continue;
        out->what = paths[i].what;
        bool either = out->what == ABOUT_INDEX && str_eq(method, "GET");
        return either ? 0 : check_method(&paths[i], method, path, e);
    }
    if (length)
        return no_model(o, name, (int)length, e);
    err_set(e, ERR_INVALID, "there is no %s; models are below %s", path, models);
    return NOT_FOUND;
}

// Bodies.

static void tell_server(const struct serve_options *o, buf *out)
{
    static const char *const extensions[] = {
        "model_configuration", "statistics", "model_repository"};
    AUTO_JSON *j = cJSON_CreateObject();
    json_set_str(j, "name", "firesteel-worker");
    json_set_str(j, "version", o->version);
    json_set(j, "extensions", cJSON_CreateStringArray(extensions, (int)ARRAY_LEN(extensions)));
    json_print(out, j);
}

static void tell_model(const struct serve_model *m, buf *out)
{
    if (m->describe)
        m->describe(m->ctx, out);
    else
        infer_metadata(m->model, m->name, out);
}

// Triton's spelling of a type: "TYPE_FP32", "TYPE_STRING".
static void set_type(cJSON *j, const char *type)
{
    AUTO_FREE char *text = str_fmt("TYPE_%s", str_eq(type, "BYTES") ? "STRING" : type);
    json_set_str(j, "data_type", text);
}

// Inputs or outputs of the metadata, without the rows.
static cJSON *config_of_ports(const cJSON *ports)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *port;
    cJSON_ArrayForEach(port, ports)
    {
        cJSON *j = cJSON_CreateObject(), *dims = cJSON_Duplicate(json_get(port, "shape"), true);
        cJSON_DeleteItemFromArray(dims, 0);
        json_set_str(j, "name", json_str(port, "name"));
        set_type(j, json_str_or(port, "datatype", ""));
        json_set(j, "dims", dims ? dims : cJSON_CreateArray());
        cJSON_AddItemToArray(list, j);
    }
    return list;
}

// Triton's model configuration, as far as there is one here.
static void tell_config(const struct serve_options *o, const struct serve_model *m, buf *out)
{
    AUTO_BUF text = {0};
    tell_model(m, &text);
    AUTO_JSON *about = json_parse(text.data, text.len, NULL);
    AUTO_JSON *j = cJSON_CreateObject();
    json_set_str(j, "name", m->name);
    json_set_str(j, "platform", "firesteel");
    json_set_str(j, "backend", "");
    json_set_int(j, "max_batch_size", (int64_t)o->batch_rows);
    json_set(j, "input", config_of_ports(json_get(about, "inputs")));
    json_set(j, "output", config_of_ports(json_get(about, "outputs")));
    cJSON *batches = json_object_at(j, "dynamic_batching");
    json_set_int(batches, "max_queue_delay_microseconds", o->batch_latency_ns / 1000);
    json_print(out, j);
}

static void tell_index(const struct serve_options *o, buf *out)
{
    AUTO_JSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < o->n; i++) {
        cJSON *j = cJSON_CreateObject();
        json_set_str(j, "name", o->models[i].name);
        json_set_str(j, "version", "1");
        json_set_str(j, "state", "READY");
        json_set_str(j, "reason", "");
        cJSON_AddItemToArray(list, j);
    }
    json_print(out, list);
}

void about_tell(const struct serve_options *o, const struct about *a, counts *c,
    const struct counts_now *now, buf *out)
{
    switch (a->what) {
    case ABOUT_SERVER:
        tell_server(o, out);
        break;
    case ABOUT_COUNTS:
        counts_print(c, now, out);
        break;
    case ABOUT_ALL_STATS:
        counts_stats(c, 0, o->n, out);
        break;
    case ABOUT_STATS:
        counts_stats(c, a->model, a->model + 1, out);
        break;
    case ABOUT_INDEX:
        tell_index(o, out);
        break;
    case ABOUT_MODEL:
        tell_model(&o->models[a->model], out);
        break;
    case ABOUT_CONFIG:
        tell_config(o, &o->models[a->model], out);
        break;
    case ABOUT_LIVE:
    case ABOUT_READY:
    case ABOUT_MODEL_READY:
    case ABOUT_INFER:
        break;
    }
}
