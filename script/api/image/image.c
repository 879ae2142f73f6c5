// SPDX-License-Identifier: MIT
// image.build, image.push and the store's list. A build is verified by building again: it is
// deterministic and mostly cached, so an equal digest means that no input has changed. A push is
// verified at the registry.
#include "script/api/image/image.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/ignore.h"
#include "k8s/image/index.h"
#include "k8s/image/programs/build.h"
#include "script/api/image/fetch.h"
#include "script/api/image/remote.h"
#include "script/kernel/effects/binding.h"

#include <string.h>

enum {
    KEEP_SECONDS = 24 * 3600,
    INPUTS_MAX = 1000, // a folder may have more files than anybody looks through
};

image_store *image_open_store(call *c, err *e)
{
    const char *dir = call_paths(c)->images;
    if (dir)
        return image_store_open(dir, e);
    err_set(e, ERR_FAILED, "there is no place for images: neither XDG_DATA_HOME nor HOME is set");
    return NULL;
}

// Removes blobs to which nothing leads, after a day: otherwise the store would grow with every
// build.
void image_tidy(const image_store *s)
{
    struct image_gc removed;
    image_store_gc(s, clock_wall() / CLOCK_SEC - KEEP_SECONDS, &removed, NULL);
}

static void say_size(buf *out, int64_t bytes)
{
    work_bytes_text(out, bytes);
}

// image.build {tag, add: [name | {from, to}], from?, created?, exclude?, env?, user?, workdir?,
// entrypoint?, cmd?, worker?, firesteel?, onednn?} -> {ref, digest, size, layers: [{digest, size}]}

struct build {
    struct image_build spec;
    struct image_copy *add;
    char **exclude, **env, **entrypoint, **cmd;
    const char *dirs[3], *data_dirs[3];
    char *share_data;
};

static void build_done(struct build *b)
{
    free(b->add);
    char **lists[] = {b->exclude, b->env, b->entrypoint, b->cmd};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (lists[i])
            strv_free(lists[i]);
    free(b->share_data);
}

// An item is a name, or {"from": name, "to": place}; the strings stay the arguments'.
static int read_add(const cJSON *list, struct build *b, err *e)
{
    b->add = mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof *b->add);
    struct image_copy *next = b->add;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        *next = cJSON_IsString(item)
                    ? (struct image_copy){.name = item->valuestring}
                    : (struct image_copy){json_str(item, "from"), json_str(item, "to")};
        if (!next->name)
            return err_set(e, ERR_USAGE, "image.build: add takes names of files and folders");
        next++;
    }
    b->spec.add = b->add;
    return 0;
}

// A list of texts; *out stays NULL when there is none.
static int read_list(const cJSON *args, const char *key, char ***out, err *e)
{
    const cJSON *list = json_get(args, key), *item;
    if (!list || cJSON_IsNull(list))
        return 0;
    *out = mem_array(1, sizeof **out);
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item))
            return err_set(e, ERR_USAGE, "image.build: %s takes a list of texts", key);
        *out = strv_add(*out, item->valuestring);
    }
    return 0;
}

// As the lines of a .dockerignore, and so read.
static int read_exclude(const cJSON *args, struct build *b, err *e)
{
    char **raw = NULL;
    AUTO_BUF text = {0};
    int status = read_list(args, "exclude", &raw, e);
    for (char **p = raw; p && *p; p++)
        buf_fmt(&text, "%s\n", *p);
    if (status == 0 && raw && !(b->exclude = ignore_parse(buf_cstr(&text), e)))
        status = err_wrap(e, "image.build: exclude");
    strv_free(raw);
    return status;
}

static int read_lists(const cJSON *args, struct build *b, err *e)
{
    if (read_exclude(args, b, e) || read_list(args, "env", &b->env, e) ||
        read_list(args, "entrypoint", &b->entrypoint, e) || read_list(args, "cmd", &b->cmd, e))
        return -1;
    b->spec.exclude = (const char *const *)b->exclude;
    b->spec.env = (const char *const *)b->env;
    b->spec.entrypoint = (const char *const *)b->entrypoint;
    b->spec.cmd = (const char *const *)b->cmd;
    if (b->spec.workdir && *b->spec.workdir != '/')
        return err_set(e, ERR_USAGE, "image.build: workdir is a folder in the image, as \"/app\"");
    return read_add(json_get(args, "add"), b, e);
}

static int read_build(call *c, const cJSON *args, struct build *b, err *e)
{
    const struct call_paths *paths = call_paths(c);
    size_t n = 0;
    b->dirs[0] = call_cwd(c);
    b->dirs[1] = str_eq(paths->notebook_dir, b->dirs[0]) ? NULL : paths->notebook_dir;
    if (paths->data)
        b->data_dirs[n++] = paths->data;
    if (paths->share)
        b->data_dirs[n++] = b->share_data = path_join(paths->share, "data");
    b->spec = (struct image_build){
        .from = json_str(args, "from"),
        .tag = json_str(args, "tag"),
        .created = json_int_or(args, "created", 0),
        .user = json_str(args, "user"),
        .workdir = json_str(args, "workdir"),
        .no_worker = !json_bool_or(args, "worker", true),
        .dirs = b->dirs,
        .data_dirs = b->data_dirs,
        .worker = {paths->worker, paths->plugin, paths->spark_main, .dnn = paths->dnn},
    };
    if (json_get(args, "onednn"))
        b->spec.dnn = json_bool_or(args, "onednn", false) ? IMAGE_DNN : IMAGE_NO_DNN;
    if (b->spec.dnn == IMAGE_DNN && !paths->dnn)
        return err_set(e, ERR_NOT_FOUND,
            "image.build: firesteel-dnn.so was not built: Debian: apt install libdnnl-dev, then "
            "build again");
    if (json_bool_or(args, "firesteel", false)) {
        if (!paths->firesteel || !paths->kernel)
            return err_set(e, ERR_NOT_FOUND, "image.build: firesteel is not beside its kernel");
        b->spec.worker.firesteel = paths->firesteel;
        b->spec.worker.kernel = paths->kernel;
    }
    return read_lists(args, b, e);
}

cJSON *image_build_result(const struct image_built *built)
{
    cJSON *result = cJSON_CreateObject(), *layers = json_array_at(result, "layers");
    json_set_str(result, "ref", built->ref);
    json_set_str(result, "digest", built->manifest.digest.text);
    json_set_int(result, "size", built->size);
    for (size_t i = 0; i < built->content.layer_n; i++) {
        cJSON *one = cJSON_CreateObject();
        json_set_str(one, "digest", built->content.layers[i].digest.text);
        json_set_int(one, "size", built->content.layers[i].size);
        cJSON_AddItemToArray(layers, one);
    }
    return result;
}

static const char *name_below(const char *folder, const char *path)
{
    size_t n = strlen(folder);
    return str_starts(path, folder) && path[n] == '/' ? path + n + 1 : path;
}

void image_record_input(void *arg, const char *path, int64_t size, const char hex[SHA256_HEX])
{
    struct image_inputs *in = arg;
    if (in->n++ >= INPUTS_MAX)
        return;
    cJSON *input = cJSON_CreateObject();
    json_set_int(input, "size", size);
    json_set_str(input, "sha256", hex);
    call_recorded(in->call, "input", name_below(call_cwd(in->call), path), input);
}

void image_inputs_init(struct image_inputs *in, call *c, const char *what, const char *noun)
{
    *in = (struct image_inputs){.call = c, .told = {image_record_input, in}};
    in->watch = (struct work_watch){&in->work, call_goes_on, c};
    call_work(c, &in->work, what, WORK_BYTES, noun);
}

void image_inputs_done(struct image_inputs *in)
{
    if (in->call)
        call_work_end(in->call, &in->work);
}

static int run_build(call *c, const cJSON *args, struct image_built *built, err *e)
{
    CLEANUP(build_done) struct build b = {0};
    AUTO_STORE *store = image_open_store(c, e);
    if (!store || read_build(c, args, &b, e))
        return -1;
    if (b.spec.from && fetch_missing(c, store, b.spec.from, e))
        return err_wrap(e, "base image %s", b.spec.from);
    AUTO_FREE char *what = str_fmt("build %s", b.spec.tag ? b.spec.tag : "image");
    struct image_inputs inputs;
    image_inputs_init(&inputs, c, what, "layers");
    b.spec.added = &inputs.told;
    b.spec.watch = &inputs.watch;
    int status = image_build(store, &b.spec, built, e);
    image_inputs_done(&inputs);
    if (status)
        return -1;
    image_tidy(store);
    return 0;
}

void image_tell_built(call *c, const struct image_built *built, int64_t ns)
{
    AUTO_BUF line = {0};
    buf_fmt(&line, "built %s %.19s (", built->ref, built->manifest.digest.text);
    say_size(&line, built->size);
    buf_fmt(&line, ", %zu layers, %zu new, ", built->content.layer_n, built->new_layers);
    duration_format(&line, ns);
    buf_str(&line, ")\n");
    call_output(c, "stdout", line.data, line.len);
}

static int build_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct image_built built;
    int64_t began = clock_mono();
    if (run_build(c, args, &built, e))
        return -1;
    image_tell_built(c, &built, clock_mono() - began);
    *result = image_build_result(&built);
    image_built_done(&built);
    return 0;
}

static int build_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    ERR_GUARD(e);
    struct image_built built;
    if (!recorded)
        return 0; // building again costs little and gives the same
    if (run_build(c, args, &built, e))
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    bool same = str_eq(built.manifest.digest.text, json_str(recorded, "digest"));
    image_built_done(&built);
    return same;
}

static void build_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("build image %s", json_str_or(args, "tag", "(no tag)"));
}

// image.push {ref, digest, to?, insecure?} -> {ref, tagged, digest, pinned, registry}
//
// `ref` is what manifests take: with the digest, so that a tag that is used again never runs an
// older image that a node still has. It has no tag "latest": Kubernetes would then ask the registry
// at each start of a pod, although the digest says it all.

static int find_remote(call *c, const cJSON *args, struct remote *r, err *e)
{
    const char *ref = json_str_or(args, "to", json_str_or(args, "ref", ""));
    return remote_find(c, ref, json_bool_or(args, "insecure", false), r, e);
}

static cJSON *push_result(const struct remote *r, const cJSON *args)
{
    cJSON *result = cJSON_CreateObject();
    const char *digest = json_str_or(args, "digest", "");
    AUTO_FREE char *pinned = str_fmt("%s@%s", r->place, digest);
    AUTO_FREE char *with_tag = str_fmt("%s@%s", r->ref, digest);
    bool plain = str_eq(r->tag, "latest") || strchr(r->tag, ':');
    json_set_str(result, "ref", plain ? pinned : with_tag);
    json_set_str(result, "tagged", r->ref);
    json_set_str(result, "digest", digest);
    json_set_str(result, "pinned", pinned);
    AUTO_FREE char *registry = str_fmt("%s%s%s%s", r->to.plain ? "http://" : "", r->to.host,
        r->prefix ? "/" : "", r->prefix ? r->prefix : "");
    json_set_str(result, "registry", registry); // as --registry takes it
    return result;
}

static void tell_pushed(call *c, const struct remote *r, const struct image_pushed *p, int64_t ns)
{
    AUTO_BUF line = {0};
    buf_fmt(&line, "pushed %s (%zu of %zu blobs sent, ", r->ref, p->sent,
        p->sent + p->skipped + p->mounted);
    say_size(&line, p->bytes);
    buf_fmt(&line, "%s, ", p->mounted ? ", the base's layers were there" : "");
    duration_format(&line, ns);
    buf_str(&line, ")\n");
    call_output(c, "stdout", line.data, line.len);
}

// The base's name in the registry that we push to, new, if its layers are there: then they are
// mounted instead of sent.
static char *base_there(const image_store *s, const oci_descriptor *d, const struct remote *r)
{
    AUTO_JSON *manifest = image_store_read_json(s, &d->digest, NULL);
    const cJSON *notes = json_get(manifest, "annotations");
    const char *base = json_str(notes, OCI_BASE_NAME), *digest = json_str(notes, OCI_BASE_DIGEST);
    AUTO_FREE char *name = base ? remote_name_of(r, base) : NULL;
    oci_digest there;
    if (!name || !digest || str_eq(name, r->name) ||
        image_remote_head(&r->to, name, digest, &there, NULL))
        return NULL;
    return STEAL(name);
}

static int send_image(const image_store *s, const oci_descriptor *d, const struct remote *r,
    struct work *shown, struct image_pushed *pushed, err *e)
{
    AUTO_FREE char *base = base_there(s, d, r);
    int status =
        image_push(s, d, &r->to, &(struct image_push_to){r->name, r->tag, base, shown}, pushed, e);
    return status;
}

static int push_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    oci_descriptor d;
    struct image_pushed pushed;
    struct work shown;
    CLEANUP(remote_done) struct remote r = {0};
    AUTO_STORE *store = image_open_store(c, e);
    if (!store || image_store_find(store, json_str_or(args, "digest", ""), &d, e) ||
        find_remote(c, args, &r, e))
        return -1;
    AUTO_FREE char *label = str_fmt("push %s", r.ref);
    call_work(c, &shown, label, WORK_BYTES, "layers");
    int status = send_image(store, &d, &r, &shown, &pushed, e);
    call_work_end(c, &shown);
    if (status)
        return -1;
    tell_pushed(c, &r, &pushed, clock_mono() - shown.began);
    *result = push_result(&r, args);
    return 0;
}

static int push_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    err why = {0};
    oci_digest there;
    CLEANUP(remote_done) struct remote r = {0};
    if (find_remote(c, args, &r, e))
        return -1;
    if (recorded && !str_eq(r.ref, json_str_or(recorded, "tagged", json_str(recorded, "ref"))))
        return 0; // the cluster now has another registry
    if (image_remote_head(&r.to, r.name, r.tag, &there, &why)) {
        if (why.code == ERR_NOT_FOUND)
            return 0;
        return err_set(e, why.code, "%s", why.text);
    }
    if (!str_eq(there.text, json_str(args, "digest")))
        return 0;
    *result = push_result(&r, args);
    return 1;
}

static void push_describe(call *c, const cJSON *args, struct about *about)
{
    const char *image = json_str_or(args, "to", json_str_or(args, "ref", ""));
    about->what = str_fmt("push image %s", image);
    about->object = str_fmt("image %s", image);
}

// image.pull {ref} -> {ref, digest, from}; from: "host/name:tag", where it was found

static int pull_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct image_pulled pulled;
    const char *ref = json_str_or(args, "ref", "");
    AUTO_FREE char *from = NULL;
    AUTO_STORE *store = image_open_store(c, e);
    if (!store || fetch_image(c, store, ref, &pulled, &from, e))
        return -1;
    *result = cJSON_CreateObject();
    json_set_str(*result, "ref", ref);
    json_set_str(*result, "digest", pulled.digest.text);
    json_set_str(*result, "from", from);
    call_recorded(c, "image", ref, cJSON_CreateString(pulled.digest.text));
    return 0;
}

static void pull_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("pull image %s", json_str_or(args, "ref", ""));
}

// image.list {} -> [{ref, digest, size}]; size: of all its blobs, also shared ones

static int64_t image_size(const image_store *s, const oci_descriptor *d)
{
    oci_manifest m;
    oci_descriptor image;
    if (image_store_find(s, d->digest.text, &image, NULL) || // of an index, this machine's
        image_store_manifest(s, &image.digest, &m, NULL))
        return d->size;
    int64_t size = image.size + oci_manifest_bytes(&m);
    oci_manifest_done(&m);
    return size;
}

static int list_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct image_tag *tags;
    size_t n;
    AUTO_STORE *store = image_open_store(c, e);
    if (!store || image_store_tags(store, &tags, &n, e))
        return -1;
    *result = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        cJSON *one = cJSON_CreateObject();
        json_set_str(one, "ref", tags[i].ref);
        json_set_str(one, "digest", tags[i].manifest.digest.text);
        json_set_int(one, "size", image_size(store, &tags[i].manifest));
        cJSON_AddItemToArray(*result, one);
    }
    image_tags_free(tags, n);
    return 0;
}

// image.remove {ref} -> null

static int remove_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    AUTO_STORE *store = image_open_store(c, e);
    if (!store || image_store_untag(store, json_str_or(args, "ref", ""), NULL, e))
        return -1;
    image_tidy(store);
    return 0;
}

static void remove_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("remove image %s from the local store", json_str_or(args, "ref", ""));
}

// image.resolve {ref} -> {ref, registry, digest}: what a name leads to in its registry; no digest:
// there is no such image there.
static int resolve_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct remote r;
    oci_digest digest;
    err why = {0};
    if (find_remote(c, args, &r, e))
        return -1;
    int status = image_remote_head(&r.to, r.name, r.tag, &digest, &why);
    if (status == 0 || why.code == ERR_NOT_FOUND) {
        *result = cJSON_CreateObject();
        json_set_str(*result, "ref", r.ref);
        json_set_str(*result, "registry", r.to.host);
        json_set_str(*result, "digest", status == 0 ? digest.text : NULL);
        if (status == 0)
            call_recorded(c, "image", r.ref, cJSON_CreateString(digest.text));
        status = 0;
    } else {
        err_set(e, why.code, "%s", why.text);
    }
    remote_done(&r);
    return status;
}

// now: what a tag leads to; "": nothing.
static void compare_digest(struct glance *g, const char *ref, const char *was, const char *now)
{
    bool same = str_eq(was, now);
    free(g->why);
    g->why = same ? NULL : str_fmt("image %s %s", ref, *now ? "has changed" : "is gone");
}

static void look_here(call *c, const cJSON *args, const cJSON *result, struct glance *g, err *e)
{
    oci_descriptor d = {0};
    err why = {0};
    const char *ref = json_str_or(result, "ref", "");
    AUTO_STORE *store = image_open_store(c, e);
    if (!store)
        return;
    bool there = image_store_resolve(store, ref, &d, &why) == 0;
    if (there || why.code == ERR_NOT_FOUND)
        compare_digest(g, ref, json_str(result, "digest"), there ? d.digest.text : "");
}

// It may be a stranger's registry, and to find it may start a program that knows the login: once a
// minute will do. What was pulled is looked for where it was found.
static void look_there(call *c, const cJSON *args, const cJSON *result, struct glance *g, err *e)
{
    ERR_GUARD(e);
    oci_digest now = {0};
    CLEANUP(remote_done) struct remote r = {0};
    const char *from = json_str(result, "from");
    g->again = clock_mono() + 60 * CLOCK_SEC;
    if (from ? remote_find(c, from, false, &r, e) : find_remote(c, args, &r, e))
        return;
    bool there = image_remote_head(&r.to, r.name, r.tag, &now, e) == 0;
    if (there || e->code == ERR_NOT_FOUND)
        compare_digest(g, r.ref, json_str_or(result, "digest", ""), there ? now.text : "");
}

// A clean-up undoes neither: a tag in the store is a result, like a file (image.remove removes it),
// and others may already run a pushed image.
const struct binding image_bindings[] = {
    {.name = "image.build",
        .effect = EFFECT_LOCAL,
        .start = build_start,
        .verify = build_verify,
        .look = look_here,
        .describe = build_describe},
    {.name = "image.dockerfile",
        .effect = EFFECT_LOCAL,
        .start = image_dockerfile,
        .look = look_here,
        .describe = build_describe},
    {.name = "image.push",
        .effect = EFFECT_CLUSTER,
        .start = push_start,
        .verify = push_verify,
        .look = look_there,
        .describe = push_describe},
    {.name = "image.pull",
        .effect = EFFECT_LOCAL,
        .start = pull_start,
        .look = look_there,
        .describe = pull_describe},
    {.name = "image.resolve", .effect = EFFECT_PURE, .start = resolve_start, .look = look_there},
    {.name = "image.list", .effect = EFFECT_PURE, .start = list_start},
    {.name = "image.remove",
        .effect = EFFECT_LOCAL,
        .start = remove_start,
        .describe = remove_describe},
    {0},
};
