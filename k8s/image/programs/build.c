// SPDX-License-Identifier: MIT
// The worker brings its own ld.so and libraries, and is linked to use them. So the same layer runs
// alone and on any base, whatever C library the base has.
//
//   /opt/firesteel/firesteel-worker, spark.py; firesteel, firesteel-kernel if they are asked for
//   /opt/firesteel/lib/firesteel-dnn.so, libdnnl.so.2 …: a layer of its own
//   /opt/firesteel/lib/ld-linux-x86-64.so.2, libc.so.6, firesteel-mpi.so, libmpich.so.12 …
#include "k8s/image/programs/build.h"

#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/programs/closure.h"
#include "k8s/image/programs/draft.h"
#include "k8s/image/programs/relocate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define HOME "opt/firesteel"

enum { PROGRAM_LIMIT = 256 << 20, TRAINER_LIMIT = 4 << 20 };

static bool has_library(const struct closure *c, const char *soname)
{
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->libraries[i].soname, soname))
            return true;
    return false;
}

// Those that are not in `there` already.
static int add_libraries(
    layer *l, const struct closure *closure, const struct closure *there, err *e)
{
    for (size_t i = 0; i < closure->n; i++) {
        const struct closure_library *lib = &closure->libraries[i];
        if (has_library(there, lib->soname))
            continue;
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
        (w->spark_main && layer_file(l, HOME "/spark.py", w->spark_main, e)) ||
        (w->firesteel && add_program(l, HOME "/firesteel", w->firesteel, needs, e)) ||
        (w->kernel && add_program(l, HOME "/firesteel-kernel", w->kernel, needs, e)))
        return -1;
    return add_libraries(l, needs, &(struct closure){0}, e);
}

static int worker_layer(layer *l, const struct image_build *b, err *e)
{
    struct closure needs = {0};
    int status = add_files(l, &b->worker, &needs, e) ? err_wrap(e, "the worker's layer") : 0;
    closure_done(&needs);
    return status;
}

// The libraries of the layer below.
static int below(const struct image_worker *w, struct closure *there, err *e)
{
    const char *const files[] = {w->program, w->plugin, w->firesteel, w->kernel};
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (files[i] && closure_add(there, files[i], e))
            return -1;
    return 0;
}

static int dnn_layer(layer *l, const struct image_build *b, err *e)
{
    struct closure needs = {0}, there = {0};
    int status = below(&b->worker, &there, e) ||
                         layer_file(l, HOME "/lib/firesteel-dnn.so", b->worker.dnn, e) ||
                         closure_add(&needs, b->worker.dnn, e) ||
                         add_libraries(l, &needs, &there, e)
                     ? err_wrap(e, "oneDNN's layer (apt install libdnnl2, in Debian 13 libdnnl3.6)")
                     : 0;
    closure_done(&needs);
    closure_done(&there);
    return status;
}

static void add_text(layer *l, const char *path, const char *text)
{
    layer_bytes(l, path, text, strlen(text), 0644);
}

static int root_layer(layer *l, const struct image_build *b, err *e)
{
    static const char *const mount_points[] = {"dev", "proc", "run", "sys", "usr/bin"};
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
    return 0;
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

// Where a name was found.
struct search {
    int folder; // an open folder that has it; -1: none has
    char *dir;  // its path
    char *name; // its name there
};

static void search_done(struct search *s)
{
    if (s->folder >= 0)
        close(s->folder);
    free(s->dir);
    free(s->name);
}

// A link inside the person's own folder may lead to another disk, and what the notebook names is
// taken from there; further links in it must not lead out.
static void follow(const char *dir, const char *name, struct search *s)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *real = path_absolute(path, NULL);
    if (!real || !path_exists(real))
        return;
    s->dir = path_dirname(real);
    s->name = path_basename(real);
    s->folder = open(s->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// Continues the search after the folder where nothing was found.
static void look_in(const char *const *dirs, const char *name, struct search *s)
{
    for (size_t i = 0; dirs && dirs[i] && s->folder < 0; i++) {
        AUTO_FD folder = open(dirs[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        AUTO_FD there = folder < 0 ? -1 : inside_open(folder, name, O_PATH, INSIDE_BENEATH);
        if (folder >= 0 && there < 0 && errno == EXDEV)
            follow(dirs[i], name, s);
        if (there < 0)
            continue;
        s->folder = folder;
        s->dir = mem_strdup(dirs[i]);
        s->name = mem_strdup(name);
        folder = -1;
    }
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

// The file's place in the image: "/srv/app/" appends its name, "/etc/app.conf" is the new name, and
// both may be relative to the working folder.
static char *target_of(const struct image_build *b, const struct image_copy *copy, const char *name)
{
    const char *home = b->workdir ? b->workdir : "/work", *to = copy->to ? copy->to : name;
    AUTO_FREE char *last = path_basename(name);
    AUTO_FREE char *whole = str_fmt("%s%s%s%s", *to == '/' ? "" : home, *to == '/' ? "" : "/", to,
        copy->to && str_ends(copy->to, "/") ? last : "");
    return normal_name(whole);
}

static int add_entry(layer *l, const struct image_build *b, const struct image_copy *copy, err *e)
{
    AUTO_FREE char *name = normal_name(copy->name);
    if (!path_is_below(copy->name) || !*name)
        return err_set(
            e, ERR_USAGE, "it must be the relative name of a file or folder, without “..”");
    CLEANUP(search_done) struct search s = {.folder = -1};
    look_in(b->dirs, name, &s);
    if (s.folder < 0 && str_starts(name, "data/"))
        look_in(b->data_dirs, name + strlen("data/"), &s);
    if (s.folder < 0)
        return not_found(b, name, e);
    AUTO_FREE char *to = target_of(b, copy, name);
    if (!*to || strstr(to, "../") || str_ends(to, ".."))
        return err_set(e, ERR_USAGE, "“%s” is no place in an image", copy->to);
    return layer_reads(l, s.folder, s.dir, e) || layer_tree(l, to, s.name, name, b->exclude, e) ? -1
                                                                                                : 0;
}

static int files_layer(layer *l, const struct image_build *b, err *e)
{
    AUTO_FREE char *home = normal_name(b->workdir ? b->workdir : "/work");
    if (b->from)
        layer_bare(l);
    if (*home)
        layer_dir(l, home, 01777); // writable for any user that the cluster runs us as
    layer_tells(l, b->added);
    for (size_t i = 0; b->add && b->add[i].name; i++)
        if (add_entry(l, b, &b->add[i], e))
            return err_wrap(e, "add[%zu] “%s”", i + 1, b->add[i].name);
    return 0;
}

typedef int fill_layer(layer *l, const struct image_build *b, err *e);

static int add_layer(const image_store *s, const struct image_build *b, struct draft *d,
    fill_layer *fill, const char *by, err *e)
{
    layer *l = layer_new();
    size_t before = d->new_layers;
    int status = fill(l, b, e) || draft_add(d, s, l, b->created, by, e) ? -1 : 0;
    work_part(work_of(b->watch), d->new_layers == before);
    layer_free(l);
    return status;
}

// A name in a trainer file is a cheap heuristic; a wrong guess costs only megabytes or seconds.
static bool has_convolutions(const struct image_build *b, const char *name)
{
    AUTO_BUF text = {0};
    CLEANUP(search_done) struct search s = {.folder = -1};
    if (str_ends(name, ".lua"))
        look_in(b->dirs, name, &s);
    AUTO_FD fd =
        s.folder < 0 ? -1 : inside_open(s.folder, s.name, O_RDONLY | O_NONBLOCK, INSIDE_BENEATH);
    return fd >= 0 && fd_read_all(fd, &text, TRAINER_LIMIT, NULL) == 0 &&
           (strstr(buf_cstr(&text), "Conv2D") || strstr(buf_cstr(&text), "nn.applications"));
}

static bool takes_dnn(const struct image_build *b)
{
    bool found = b->dnn == IMAGE_DNN;
    for (size_t i = 0; b->dnn == IMAGE_DNN_BY_FILES && b->add && b->add[i].name && !found; i++)
        found = b->worker.dnn && has_convolutions(b, b->add[i].name);
    return found && !b->no_worker;
}

static int add_layers(const image_store *s, const struct image_build *b, struct draft *d, err *e)
{
    AUTO_FREE char *files = str_fmt("firesteel: files for %s", b->workdir ? b->workdir : "/work");
    bool dnn = takes_dnn(b);
    work_parts(work_of(b->watch), !b->from + !b->no_worker + dnn + 1);
    return (!b->from && add_layer(s, b, d, root_layer, "firesteel: a root", e)) ||
                   (!b->no_worker &&
                       add_layer(s, b, d, worker_layer, "firesteel: the worker", e)) ||
                   (dnn && add_layer(s, b, d, dnn_layer, "firesteel: oneDNN", e)) ||
                   add_layer(s, b, d, files_layer, files, e)
               ? -1
               : 0;
}

static void set_list(cJSON *run, const char *key, const char *const *words)
{
    cJSON *list = cJSON_CreateArray();
    for (; *words; words++)
        cJSON_AddItemToArray(list, cJSON_CreateString(*words));
    json_set(run, key, list);
}

// "key=value" of each as a field of the object.
static void set_pairs(cJSON *object, const char *const *pairs)
{
    for (; *pairs; pairs++) {
        size_t n = strcspn(*pairs, "=");
        AUTO_FREE char *key = mem_strndup(*pairs, n);
        json_set_str(object, key, (*pairs)[n] ? *pairs + n + 1 : "");
    }
}

static void set_run(struct draft *d, const struct image_build *b)
{
    cJSON *run = draft_run(d);
    if (!b->from && !b->no_worker) {
        static const char *const entrypoint[] = {"/" HOME "/firesteel-worker", NULL};
        draft_env(d, "PATH=/" HOME ":/usr/bin:/bin");
        set_list(run, "Entrypoint", entrypoint);
    }
    for (const char *const *v = b->env; v && *v; v++)
        draft_env(d, *v);
    if (b->entrypoint) {
        set_list(run, "Entrypoint", b->entrypoint);
        cJSON_DeleteItemFromObjectCaseSensitive(run, "Cmd"); // the base's program used it
    }
    if (b->cmd)
        set_list(run, "Cmd", b->cmd);
    if (b->labels)
        set_pairs(json_object_at(run, "Labels"), b->labels);
    if (b->annotations)
        set_pairs(json_object_at(d->manifest, "annotations"), b->annotations);
    json_set_str(run, "User", b->user);
    json_set_str(run, "WorkingDir", b->workdir ? b->workdir : "/work");
}

int image_build(const image_store *s, const struct image_build *b, struct image_built *out, err *e)
{
    CLEANUP(draft_done) struct draft d = {.watch = b->watch};
    *out = (struct image_built){0};
    if (!b->from)
        draft_alone(&d, b->created);
    else if (draft_from(&d, s, b->from, b->created, e))
        return err_wrap(e, "base image %s", b->from);
    set_run(&d, b);
    return add_layers(s, b, &d, e) || draft_finish(&d, s, b->tag, out, e) ? -1 : 0;
}
