// SPDX-License-Identifier: MIT
// The image library as a command, for the tests in Python: a command takes one JSON object and
// answers with one. An error goes to stderr, after its code's name, with exit code 1.
//
//   image-tool build  {"store", "tag", "from"?, "add": […], "dirs": […], "worker": {"program", …}}
//   image-tool push   {"store", "ref", "host", "name", "tag", "plain"?, "user"?, "password"?,
//                      "mount_from"?}
//   image-tool pull   {"store", "ref"?, "host", "name", "tag", "plain"?, …}
//   image-tool head   {"host", "name", "tag", "plain"?, …}
//   image-tool unpack {"store", "ref", "cache"}
//   image-tool gc     {"store"}
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/index.h"
#include "k8s/image/programs/build.h"
#include "k8s/image/registry/pull.h"
#include "k8s/image/registry/push.h"
#include "k8s/image/unpack.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static char **strings(const cJSON *list)
{
    char **v = mem_alloc(sizeof *v);
    const cJSON *item;
    cJSON_ArrayForEach(item, list) v = strv_add(v, item->valuestring);
    return v;
}

static cJSON *build(const image_store *s, const cJSON *o, err *e)
{
    struct image_copy add[8] = {0};
    size_t n = 0;
    const cJSON *name;
    cJSON_ArrayForEach(name, json_get(o, "add")) if (n < 7) add[n++].name = name->valuestring;
    char **dirs = strings(json_get(o, "dirs"));
    const cJSON *w = json_get(o, "worker");
    struct image_build b = {
        .from = json_str(o, "from"),
        .add = add,
        .tag = json_str(o, "tag"),
        .dirs = (const char *const *)dirs,
        .created = json_int_or(o, "created", 0),
        .worker = {json_str(w, "program"), json_str(w, "plugin"), json_str(w, "spark_main")},
    };
    struct image_built built;
    int status = image_build(s, &b, &built, e);
    strv_free(dirs);
    if (status)
        return NULL;
    cJSON *answer = cJSON_CreateObject(), *layers = json_array_at(answer, "layers");
    json_set_str(answer, "ref", built.ref);
    json_set_str(answer, "digest", built.manifest.digest.text);
    json_set_int(answer, "size", built.size);
    json_set_int(answer, "new_layers", (int64_t)built.new_layers);
    for (size_t i = 0; i < built.content.layer_n; i++)
        cJSON_AddItemToArray(layers, oci_descriptor_json(&built.content.layers[i]));
    image_built_done(&built);
    return answer;
}

static void *run(void *l)
{
    loop_run(l);
    return NULL;
}

static void stop(void *l)
{
    loop_stop(l);
}

static cJSON *push(const image_store *s, const cJSON *o, struct image_remote *r, err *e)
{
    oci_descriptor d;
    struct image_pushed out;
    if (image_store_find(s, json_str_or(o, "ref", ""), &d, e) ||
        image_push(s, &d, r,
            &(struct image_push_to){
                json_str(o, "name"), json_str(o, "tag"), json_str(o, "mount_from"), NULL},
            &out, e))
        return NULL;
    cJSON *answer = cJSON_CreateObject();
    json_set_str(answer, "digest", out.digest.text);
    json_set_int(answer, "sent", (int64_t)out.sent);
    json_set_int(answer, "skipped", (int64_t)out.skipped);
    json_set_int(answer, "mounted", (int64_t)out.mounted);
    json_set_int(answer, "bytes", out.bytes);
    return answer;
}

static cJSON *pull(const image_store *s, const cJSON *o, struct image_remote *r, err *e)
{
    struct image_pulled out;
    if (image_pull(s, r,
            &(struct image_pull_from){
                json_str(o, "name"), json_str(o, "tag"), json_str(o, "ref"), NULL},
            &out, e))
        return NULL;
    cJSON *answer = cJSON_CreateObject();
    json_set_str(answer, "digest", out.digest.text);
    json_set_str(answer, "manifest", out.manifest.digest.text);
    json_set_int(answer, "fetched", (int64_t)out.fetched);
    json_set_int(answer, "present", (int64_t)out.present);
    json_set_int(answer, "bytes", out.bytes);
    return answer;
}

static cJSON *head(const cJSON *o, struct image_remote *r, err *e)
{
    oci_digest d;
    if (image_remote_head(r, json_str(o, "name"), json_str(o, "tag"), &d, e))
        return NULL;
    cJSON *answer = cJSON_CreateObject();
    json_set_str(answer, "digest", d.text);
    return answer;
}

static cJSON *remote(const char *command, const image_store *s, const cJSON *o, err *e)
{
    loop *l = loop_new(e);
    http *h = l ? http_new(l, "image-tool", e) : NULL;
    if (!h)
        return NULL;
    pthread_t thread;
    loop_timer *stay = loop_timer_new(l, stop, l);
    loop_timer_start(stay, 600000, 0);
    pthread_create(&thread, NULL, run, l);
    struct image_remote r = {
        .http = h,
        .canceller = canceller_new(),
        .deadline = clock_mono() + 120 * CLOCK_SEC,
        .host = json_str(o, "host"),
        .plain = json_bool_or(o, "plain", false),
        .insecure = json_bool_or(o, "insecure", false),
        .user = json_str(o, "user"),
        .password = json_str(o, "password"),
        .token = json_str(o, "token"),
    };
    cJSON *answer = str_eq(command, "push")   ? push(s, o, &r, e)
                    : str_eq(command, "pull") ? pull(s, o, &r, e)
                                              : head(o, &r, e);
    loop_post(l, stop, l);
    pthread_join(thread, NULL);
    http_free(h);
    loop_timer_free(stay);
    loop_free(l);
    canceller_free(r.canceller);
    return answer;
}

static cJSON *unpack(const image_store *s, const cJSON *o, err *e)
{
    oci_descriptor d;
    if (image_store_find(s, json_str_or(o, "ref", ""), &d, e))
        return NULL;
    AUTO_FREE char *root = image_unpack(s, &d.digest, json_str(o, "cache"), NULL, e);
    if (!root)
        return NULL;
    cJSON *answer = cJSON_CreateObject();
    json_set_str(answer, "root", root);
    return answer;
}

static cJSON *collect(const image_store *s, err *e)
{
    struct image_gc removed;
    if (image_store_gc(s, INT64_MAX, &removed, e))
        return NULL;
    cJSON *answer = cJSON_CreateObject();
    json_set_int(answer, "blobs", (int64_t)removed.blobs);
    return answer;
}

static cJSON *dispatch(const char *command, const cJSON *o, err *e)
{
    const char *dir = json_str(o, "store");
    image_store *s = dir ? image_store_open(dir, e) : NULL;
    cJSON *answer = dir && !s                   ? NULL
                    : str_eq(command, "build")  ? build(s, o, e)
                    : str_eq(command, "unpack") ? unpack(s, o, e)
                    : str_eq(command, "gc")     ? collect(s, e)
                                                : remote(command, s, o, e);
    image_store_free(s);
    return answer;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    err e = {0};
    AUTO_JSON *options = json_parse(argv[2], strlen(argv[2]), &e);
    AUTO_JSON *answer = options ? dispatch(argv[1], options, &e) : NULL;
    if (!answer) {
        fprintf(stderr, "%s: %s\n", err_name(e.code), e.text);
        return 1;
    }
    AUTO_FREE char *text = json_to_str(answer);
    puts(text);
    return 0;
}
