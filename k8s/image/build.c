// SPDX-License-Identifier: MIT
// The worker brings its own ld.so and libraries, and is linked to use them. So the same layer runs
// alone and on any base, whatever C library the base has.
//
//   /opt/firesteel/firesteel-worker, spark.py
//   /opt/firesteel/lib/ld-linux-x86-64.so.2, libc.so.6, firesteel-mpi.so, libmpich.so.12 …
#include "k8s/image/build.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "k8s/image/closure.h"
#include "k8s/image/index.h"
#include "k8s/image/relocate.h"

#include <string.h>

#define HOME "opt/firesteel"

enum { MANIFEST_LIMIT = 4 << 20, PROGRAM_LIMIT = 256 << 20 };

static int add_libraries(layer *l, const struct closure *closure, err *e)
{
    for (size_t i = 0; i < closure->n; i++) {
        const struct closure_library *lib = &closure->libraries[i];
        AUTO_FREE char *to = str_fmt(HOME "/lib/%s", lib->soname);
        if (layer_file(l, to, lib->path, e))
            return -1;
    }
    return 0;
}

// Adds a program that looks for ld.so and its libraries in the image's own folder.
static int add_program(layer *l, const char *to, const char *source, struct closure *needs, err *e)
{
    AUTO_BUF program = {0};
    if (path_read(source, &program, PROGRAM_LIMIT, e) || closure_add(needs, source, e))
        return -1;
    if (needs->interpreter) {
        AUTO_FREE char *name = path_basename(needs->interpreter);
        AUTO_FREE char *interpreter = str_fmt("/" HOME "/lib/%s", name);
        if (relocate(&program, interpreter, "/" HOME "/lib", e))
            return err_wrap(e, "%s", source);
    }
    layer_bytes(l, to, program.data, program.len, 0755);
    return 0;
}

static int add_files(layer *l, const struct image_worker *w, struct closure *needs, err *e)
{
    if (!w->program)
        return err_set(e, ERR_NOT_FOUND, "firesteel-worker is not installed");
    if (add_program(l, HOME "/firesteel-worker", w->program, needs, e) ||
        (w->plugin && (layer_file(l, HOME "/lib/firesteel-mpi.so", w->plugin, e) ||
                          closure_add(needs, w->plugin, e))) ||
        (w->spark_main && layer_file(l, HOME "/spark.py", w->spark_main, e)))
        return -1;
    return add_libraries(l, needs, e);
}

static int worker_layer(const image_store *s, const struct image_build *b, layer_result *r, err *e)
{
    layer *l = layer_new();
    struct closure needs = {0};
    int status = add_files(l, &b->worker, &needs, e) || layer_write(l, s, b->created, r, e)
                     ? err_wrap(e, "the worker's layer")
                     : 0;
    closure_done(&needs);
    layer_free(l);
    return status;
}

static void add_text(layer *l, const char *path, const char *text)
{
    layer_bytes(l, path, text, strlen(text), 0644);
}

static int root_layer(const image_store *s, const struct image_build *b, layer_result *r, err *e)
{
    static const char *const mount_points[] = {"dev", "proc", "run", "sys", "usr/bin"};
    layer *l = layer_new();
    for (size_t i = 0; i < ARRAY_LEN(mount_points); i++)
        layer_dir(l, mount_points[i], 0755);
    layer_dir(l, "root", 0700);
    layer_dir(l, "tmp", 01777);
    layer_dir(l, "var/tmp", 01777);
    layer_link(l, "bin", "usr/bin");
    add_text(l, "etc/passwd",
        "root:x:0:0:root:/root:/sbin/nologin\n"
        "spark:x:185:0:spark:/work:/sbin/nologin\n"
        "nobody:x:65534:65534:nobody:/:/sbin/nologin\n");
    add_text(l, "etc/group", "root:x:0:\nnogroup:x:65534:\n");
    add_text(l, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    int status = layer_write(l, s, b->created, r, e);
    layer_free(l);
    return status;
}

// "./a//b/" -> "a/b"
static char *normal_name(const char *name)
{
    char **parts = strv_split(name, '/');
    buf out = {0};
    for (size_t i = 0; parts[i]; i++)
        if (parts[i][0] && !str_eq(parts[i], "."))
            buf_fmt(&out, "%s%s", out.len ? "/" : "", parts[i]);
    strv_free(parts);
    buf_char(&out, '\0');
    return buf_take(&out);
}

static char *find_in(const char *const *dirs, const char *name)
{
    for (size_t i = 0; dirs && dirs[i]; i++) {
        char *path = path_join(dirs[i], name);
        if (path_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

static int not_found(const struct image_build *b, const char *name, err *e)
{
    AUTO_BUF places = {0};
    for (size_t i = 0; b->dirs && b->dirs[i]; i++)
        buf_fmt(&places, "%s%s", places.len ? ", " : "", b->dirs[i]);
    bool data = str_starts(name, "data/");
    for (size_t i = 0; data && b->data_dirs && b->data_dirs[i]; i++)
        buf_fmt(&places, ", %s", b->data_dirs[i]);
    return err_set(e, ERR_NOT_FOUND, "there is no such file or folder in %s", buf_cstr(&places));
}

static int add_entry(layer *l, const struct image_build *b, const char *entry, err *e)
{
    AUTO_FREE char *name = normal_name(entry);
    if (!path_is_below(entry) || !*name)
        return err_set(
            e, ERR_USAGE, "it must be the relative name of a file or folder, without “..”");
    AUTO_FREE char *source = find_in(b->dirs, name);
    if (!source && str_starts(name, "data/"))
        source = find_in(b->data_dirs, name + strlen("data/"));
    if (!source)
        return not_found(b, name, e);
    AUTO_FREE char *to = path_join("work", name);
    return layer_tree(l, to, source, e);
}

static int files_layer(const image_store *s, const struct image_build *b, layer_result *r, err *e)
{
    layer *l = layer_new();
    layer_dir(l, "work", 01777); // writable for any user that the cluster runs us as
    int status = 0;
    for (size_t i = 0; b->add && b->add[i] && status == 0; i++)
        if (add_entry(l, b, b->add[i], e))
            status = err_wrap(e, "add[%zu] “%s”", i + 1, b->add[i]);
    if (status == 0)
        status = layer_write(l, s, b->created, r, e);
    layer_free(l);
    return status;
}

struct draft {
    cJSON *config, *manifest;
    const char *created;
};

static void draft_done(struct draft *d)
{
    cJSON_Delete(d->config);
    cJSON_Delete(d->manifest);
}

static cJSON *new_manifest(void)
{
    cJSON *manifest = cJSON_CreateObject();
    json_set_int(manifest, "schemaVersion", 2);
    json_set_str(manifest, "mediaType", oci_type_text(OCI_TYPE_OCI_MANIFEST));
    json_set(manifest, "config", cJSON_CreateNull());
    json_array_at(manifest, "layers");
    return manifest;
}

static int find_base(
    const image_store *s, const char *from, oci_descriptor *base, oci_manifest *m, err *e)
{
    AUTO_BUF text = {0};
    return image_store_find(s, from, base, e) ||
                   image_store_read(s, &base->digest, &text, MANIFEST_LIMIT, e) ||
                   oci_manifest_parse(text.data, text.len, m, e)
               ? -1
               : 0;
}

static void note_base(cJSON *manifest, const char *from, const oci_descriptor *base)
{
    if (str_starts(from, "sha256:"))
        return; // an image of ours, without a name in a registry
    cJSON *notes = json_object_at(manifest, "annotations");
    json_set_str(notes, OCI_BASE_NAME, from);
    json_set_str(notes, OCI_BASE_DIGEST, base->digest.text);
}

static int check_platform(const cJSON *config, err *e)
{
    const char *os = json_str_or(config, "os", ""),
               *machine = json_str_or(config, "architecture", "");
    if (str_eq(os, "linux") && str_eq(machine, OCI_ARCHITECTURE))
        return 0;
    return err_set(e, ERR_INVALID, "it is for %s/%s, and the worker for linux/%s", os, machine,
        OCI_ARCHITECTURE);
}

static int begin_from(const image_store *s, const char *from, struct draft *d, err *e)
{
    CLEANUP(oci_manifest_done) oci_manifest m = {0};
    oci_descriptor base;
    if (find_base(s, from, &base, &m, e))
        return -1;
    d->config = image_store_read_json(s, &m.config.digest, e);
    if (!d->config || check_platform(d->config, e))
        return -1;
    d->manifest = new_manifest();
    note_base(d->manifest, from, &base);
    for (size_t i = 0; i < m.layer_n; i++) {
        oci_descriptor below = m.layers[i];
        if (below.type == OCI_TYPE_DOCKER_LAYER) // the same bytes under OCI's media type
            below.type = OCI_TYPE_OCI_LAYER_GZIP;
        cJSON_AddItemToArray(json_array_at(d->manifest, "layers"), oci_descriptor_json(&below));
    }
    return 0;
}

static void begin_alone(struct draft *d)
{
    d->manifest = new_manifest();
    d->config = cJSON_CreateObject();
    json_set_str(d->config, "created", d->created);
    json_set_str(d->config, "architecture", OCI_ARCHITECTURE);
    json_set_str(d->config, "os", "linux");
    cJSON *run = json_object_at(d->config, "config");
    cJSON *env = json_array_at(run, "Env"), *entrypoint = json_array_at(run, "Entrypoint");
    cJSON_AddItemToArray(env, cJSON_CreateString("PATH=/" HOME ":/usr/bin:/bin"));
    cJSON_AddItemToArray(entrypoint, cJSON_CreateString("/" HOME "/firesteel-worker"));
    json_set_str(json_object_at(d->config, "rootfs"), "type", "layers");
}

static void add_layer(struct draft *d, const layer_result *r, const char *created_by)
{
    cJSON *diffs = json_array_at(json_object_at(d->config, "rootfs"), "diff_ids");
    cJSON_AddItemToArray(diffs, cJSON_CreateString(r->diff_id.text));
    cJSON *history = cJSON_CreateObject();
    json_set_str(history, "created", d->created);
    json_set_str(history, "created_by", created_by);
    cJSON_AddItemToArray(json_array_at(d->config, "history"), history);
    cJSON_AddItemToArray(json_array_at(d->manifest, "layers"), oci_descriptor_json(&r->blob));
}

static int store_json(
    const image_store *s, const cJSON *json, enum oci_type type, oci_descriptor *d, err *e)
{
    AUTO_BUF text = {0};
    json_print(&text, json);
    d->type = type;
    d->size = (int64_t)text.len;
    return image_store_add(s, text.data, text.len, &d->digest, e);
}

static int finish(const image_store *s, struct draft *d, struct image_built *out, err *e)
{
    json_set_str(json_object_at(d->config, "config"), "WorkingDir", "/work");
    json_set_str(d->config, "created", d->created);
    oci_descriptor config;
    if (store_json(s, d->config, OCI_TYPE_OCI_CONFIG, &config, e))
        return -1;
    json_set(d->manifest, "config", oci_descriptor_json(&config));
    if (store_json(s, d->manifest, OCI_TYPE_OCI_MANIFEST, &out->manifest, e))
        return -1;
    AUTO_BUF text = {0};
    json_print(&text, d->manifest);
    return oci_manifest_parse(text.data, text.len, &out->content, e);
}

typedef int make_layer(const image_store *s, const struct image_build *b, layer_result *r, err *e);

static int build_layer(const image_store *s, const struct image_build *b, struct draft *d,
    make_layer *make, const char *created_by, struct image_built *out, err *e)
{
    layer_result r;
    if (make(s, b, &r, e))
        return -1;
    add_layer(d, &r, created_by);
    out->new_layers += !r.cached;
    return 0;
}

static int build_layers(const image_store *s, const struct image_build *b, struct draft *d,
    struct image_built *out, err *e)
{
    return (!b->from && build_layer(s, b, d, root_layer, "firesteel: a root", out, e)) ||
                   build_layer(s, b, d, worker_layer, "firesteel: the worker", out, e) ||
                   build_layer(s, b, d, files_layer, "firesteel: files for /work", out, e)
               ? -1
               : 0;
}

static void measure(struct image_built *out)
{
    out->size = out->manifest.size + out->content.config.size;
    for (size_t i = 0; i < out->content.layer_n; i++)
        out->size += out->content.layers[i].size;
}

int image_build(const image_store *s, const struct image_build *b, struct image_built *out, err *e)
{
    AUTO_BUF created = {0};
    clock_rfc3339(&created, b->created * CLOCK_SEC, CLOCK_SECONDS);
    CLEANUP(draft_done) struct draft d = {.created = buf_cstr(&created)};
    *out = (struct image_built){0};
    oci_ref ref;
    if (!b->tag || oci_ref_parse(b->tag, &ref, e))
        return b->tag ? -1 : err_set(e, ERR_USAGE, "image.build needs a tag");
    out->ref = str_fmt("%s%s%s:%s", ref.host ? ref.host : "", ref.host ? "/" : "", ref.name,
        ref.tag ? ref.tag : "latest");
    oci_ref_done(&ref);
    int status = 0;
    if (!b->from)
        begin_alone(&d);
    else if (begin_from(s, b->from, &d, e))
        status = err_wrap(e, "base image %s", b->from);
    if (status || build_layers(s, b, &d, out, e) || finish(s, &d, out, e) ||
        image_store_tag(s, out->ref, &out->manifest, e)) {
        image_built_done(out);
        return -1;
    }
    measure(out);
    return 0;
}

void image_built_done(struct image_built *b)
{
    free(b->ref);
    oci_manifest_done(&b->content);
    *b = (struct image_built){0};
}
