// SPDX-License-Identifier: MIT
// Dockerfiles: without RUN they are built here, else by buildah or podman, if one of them is there.
#include "k8s/image/dockerfile/dockerfile.h"
#include "base/clock.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/dockerfile/context.h"
#include "k8s/image/import.h"
#include "k8s/image/index.h"
#include "script/api/core/process.h"
#include "script/api/image/fetch.h"
#include "script/api/image/image.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { FILE_LIMIT = 4 << 20, IGNORE_LIMIT = 1 << 20 };

struct request {
    char *what; // "build mnist:latest"
    char *file, *context, **args;
    char *ignore, *ignore_file; // its own ignore file; NULL: it has none
    const char *name, *target, *tag;
    const image_store *store;
    call *call;
    struct image_inputs inputs;
    buf text;
    struct dockerfile parsed;
    char **extra_tags; // tags that a builder reads; they go when it has ended
};

static void request_done(struct request *r)
{
    image_inputs_done(&r->inputs);
    free(r->what);
    free(r->file);
    free(r->context);
    free(r->ignore);
    free(r->ignore_file);
    strv_free(r->args);
    buf_done(&r->text);
    dockerfile_done(&r->parsed);
    for (char **tag = r->extra_tags; tag && *tag; tag++)
        image_store_untag(r->store, *tag, NULL, NULL);
    strv_free(r->extra_tags);
}

// The Dockerfile, and its own ignore file, which counts instead of the context's. A link is
// followed within the context, or within the file's folder if it is not in the context.
static int read_files(struct request *r, err *e)
{
    size_t n = strlen(r->context);
    bool within = str_starts(r->file, r->context) && r->file[n] == '/';
    AUTO_FREE char *above = path_dirname(r->file), *last = path_basename(r->file);
    const char *name = within ? r->file + n + 1 : last;
    AUTO_FREE char *own = str_fmt("%s.dockerignore", name);
    CLEANUP(context_done) struct context from;
    AUTO_BUF ignore = {0};
    err why = {0};
    if (context_open(&from, within ? r->context : above, e) ||
        context_read(&from, name, &r->text, FILE_LIMIT, e))
        return -1;
    if (context_read(&from, own, &ignore, IGNORE_LIMIT, &why) == 0) {
        r->ignore = mem_strdup(buf_cstr(&ignore));
        r->ignore_file = str_fmt("%s.dockerignore", r->file);
    }
    return why.code && why.code != ERR_NOT_FOUND ? err_set(e, why.code, "%s", why.text) : 0;
}

static int read_request(call *c, const cJSON *args, struct request *r, err *e)
{
    const char *context = json_str_or(args, "context", ".");
    r->call = c;
    r->tag = json_str(args, "tag");
    r->what = str_fmt("build %s", r->tag ? r->tag : "image");
    image_inputs_init(&r->inputs, c, r->what, "steps");
    r->name = json_str_or(args, "dockerfile", "Dockerfile");
    r->target = json_str(args, "target");
    r->context = *context == '/'        ? mem_strdup(context)
                 : str_eq(context, ".") ? mem_strdup(call_cwd(c))
                                        : path_join(call_cwd(c), context);
    r->file = *r->name == '/' ? mem_strdup(r->name) : path_join(call_cwd(c), r->name);
    r->args = mem_array(1, sizeof *r->args);
    r->extra_tags = mem_array(1, sizeof *r->extra_tags);
    const cJSON *arg;
    cJSON_ArrayForEach(arg, json_get(args, "args"))
    {
        if (cJSON_IsString(arg))
            r->args = strv_add(r->args, arg->valuestring);
    }
    if (!path_is_dir(r->context))
        return err_set(e, ERR_NOT_FOUND, "the context %s is no folder", r->context);
    if (read_files(r, e))
        return -1;
    char hex[SHA256_HEX];
    sha256_hex(buf_cstr(&r->text), r->text.len, hex);
    image_record_input(&r->inputs, r->file, (int64_t)r->text.len, hex);
    err why = {0};
    return dockerfile_parse(buf_cstr(&r->text), &r->parsed, &why)
               ? err_set(e, why.code, "%s:%s", r->name, why.text)
               : 0;
}

static int need(void *arg, const char *ref, err *e)
{
    struct request *r = arg;
    return fetch_missing(r->call, r->store, ref, e);
}

static int build_here(struct request *r, int64_t created, struct image_built *built, err *e)
{
    AUTO_FREE char *folder = call_temp(r->call, "image", NULL, e);
    if (!folder)
        return -1;
    int status = dockerfile_run(r->store, &r->parsed,
        &(struct dockerfile_build){.name = r->name,
            .context = r->context,
            .ignore = r->ignore,
            .args = (const char *const *)r->args,
            .target = r->target,
            .tag = r->tag,
            .created = created,
            .temp = folder,
            .added = &r->inputs.told,
            .watch = &r->inputs.watch,
            .need = need,
            .arg = r},
        built, e);
    call_drop_temp(r->call, folder);
    return status;
}

// The first of the two that is in PATH; NULL: neither.
static const char *find_builder(call *c)
{
    static const char *const builders[] = {"buildah", "podman"};
    const char *path = env_get(call_env(c), "PATH");
    char **folders = strv_split(path ? path : "", ':');
    const char *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(builders) && !found; i++)
        for (char **f = folders; *f && !found; f++) {
            AUTO_FREE char *program = path_join(**f ? *f : ".", builders[i]);
            found = access(program, X_OK) == 0 ? builders[i] : NULL;
        }
    strv_free(folders);
    return found;
}

static int run(call *c, const char *cwd, char **argv, err *e)
{
    struct process_result result = {0};
    int status = process_run(c,
        &(struct process_spec){.argv = (const char *const *)argv, .env = call_env(c), .cwd = cwd},
        &result, e);
    buf_done(&result.output);
    if (status == 0 && result.code != 0)
        status = err_set(e, ERR_FAILED, "%s %s ended with %d", argv[0], argv[1],
            result.signal ? -result.signal : result.code);
    strv_free(argv);
    return status;
}

static char **words(const char *const *list)
{
    return strv_dup(list);
}

// "NAME" is "NAME:latest".
static char *with_tag(const char *name)
{
    return str_fmt("%s%s", name, strrchr(name, ':') > strrchr(name, '/') ? "" : ":latest");
}

// A tag by which a builder can find the image in our store. One that a digest names has none.
static char *tag_for_builder(struct request *r, const char *name, oci_descriptor *d, err *e)
{
    if (image_store_resolve(r->store, name, d, e))
        return NULL;
    if (!strchr(name, '@'))
        return with_tag(name);
    AUTO_FREE char *tag =
        str_fmt("firesteel-build/%s:%zu", call_run(r->call), strv_len(r->extra_tags) + 1);
    if (image_store_tag(r->store, tag, d, e))
        return NULL;
    r->extra_tags = strv_add(r->extra_tags, tag);
    return STEAL(tag);
}

// A builder keeps such an image under the layout's path, which has to be a name of an image then.
// So the layout has one in the folder, where the builder works, for each base.
static char *layout_for_builder(
    struct request *r, const char *folder, const oci_descriptor *base, err *e)
{
    AUTO_FREE char *name = str_fmt("base-%.12s", base->digest.text + strlen("sha256:"));
    AUTO_FREE char *link = path_join(folder, name);
    if (symlink(image_store_dir(r->store), link) && errno != EEXIST) {
        err_errno(e, errno, "cannot make %s", link);
        return NULL;
    }
    return STEAL(name);
}

// "oci:LAYOUT:TAG" of an image in our store; NULL: it is not there, and cannot be pulled.
static char *base_for_builder(struct request *r, const char *folder, const char *name, err *e)
{
    oci_descriptor d;
    if (fetch_missing(r->call, r->store, name, e))
        return NULL;
    AUTO_FREE char *tag = tag_for_builder(r, name, &d, e);
    AUTO_FREE char *layout = tag ? layout_for_builder(r, folder, &d, e) : NULL;
    return layout ? str_fmt("oci:%s:%s", layout, tag) : NULL;
}

static char **with_base(char **argv, const char *name, const char *base)
{
    AUTO_FREE char *context = str_fmt("%s=docker-image://%s", name, base);
    return strv_add(strv_add(argv, "--build-context"), context);
}

// Bases come from our store, whoever builds: we have pulled them as the notebook says, or made them
// ourselves. What we cannot find the builder may know, so our reason is kept for its failure.
// Buildah 1.28 looks for what stands in the file; whoever fills in arguments first, for the name.
static int lend_bases(struct request *r, const char *folder, char ***argv, err *missing, err *e)
{
    ERR_GUARD(missing);
    struct dockerfile_image *images;
    size_t n;
    struct dockerfile_build options = {
        .name = r->name, .args = (const char *const *)r->args, .watch = &r->inputs.watch};
    if (dockerfile_images(&r->parsed, &options, &images, &n, e))
        return -1;
    bool goes_on = true;
    for (size_t i = 0; i < n && goes_on; i++) {
        AUTO_FREE char *base = base_for_builder(r, folder, images[i].name, missing);
        goes_on = base || missing->code != ERR_CANCELLED;
        if (base)
            *argv = with_base(*argv, images[i].name, base);
        if (base && !str_eq(images[i].name, images[i].said))
            *argv = with_base(*argv, images[i].said, base);
    }
    dockerfile_images_free(images, n);
    return goes_on ? 0 : err_give(e, missing);
}

static const char MADE[] = "made"; // the layout of what a builder has made

// Makes the image in the builder's own store, and copies it into a layout in the folder.
static int run_builder(
    struct request *r, const char *builder, const char *own, const char *folder, err *e)
{
    ERR_GUARD(e);
    AUTO_FREE char *to = str_fmt("oci:%s/%s:%s", folder, MADE, own);
    // In its own format, OCI's, a builder passes over SHELL, HEALTHCHECK and ONBUILD.
    char **argv = words((const char *const[]){
        builder, "build", "--format", "docker", "--layers", "--file", r->file, "--tag", own, NULL});
    for (char **a = r->args; *a; a++)
        argv = strv_add(strv_add(argv, "--build-arg"), *a);
    if (r->target)
        argv = strv_add(strv_add(argv, "--target"), r->target);
    if (r->ignore_file)
        argv = strv_add(strv_add(argv, "--ignorefile"), r->ignore_file);
    err missing = {0};
    if (lend_bases(r, folder, &argv, &missing, e)) {
        strv_free(argv);
        return -1;
    }
    if (run(r->call, folder, strv_add(argv, r->context), e)) {
        err failed = *e;
        if (missing.text[0] && failed.code == ERR_FAILED)
            err_set(e, ERR_FAILED, "%s; here %s", failed.text, missing.text);
        return -1;
    }
    return run(r->call, folder, words((const char *const[]){builder, "push", own, to, NULL}), e);
}

static int take_image(struct request *r, const char *folder, const char *own, const char *tag,
    struct image_built *built, err *e)
{
    AUTO_FREE char *layout = path_join(folder, MADE);
    AUTO_STORE *made = image_store_open(layout, e);
    if (!made || image_import(r->store, tag, made, own, &built->manifest, &built->new_layers, e) ||
        image_store_manifest(r->store, &built->manifest.digest, &built->content, e))
        return -1;
    built->ref = mem_strdup(tag);
    built->size = built->manifest.size + oci_manifest_bytes(&built->content);
    return 0;
}

// Its name in the builder's store is that of all builds of this tag, so they do not pile up there.
static int build_by(struct request *r, const char *builder, struct image_built *built, err *e)
{
    char digits[SHA256_SHORT];
    AUTO_FREE char *tag = with_tag(r->tag);
    sha256_short(tag, strlen(tag), digits);
    AUTO_FREE char *own = str_fmt("localhost/firesteel-build:%s", digits);
    AUTO_FREE char *folder = call_temp(r->call, "image", NULL, e);
    if (!folder)
        return -1;
    int status = run_builder(r, builder, own, folder, e);
    if (status == 0)
        status = take_image(r, folder, own, tag, built, e);
    call_drop_temp(r->call, folder);
    return status ? err_wrap(e, "%s", r->name) : 0;
}

static int build(struct request *r, int64_t created, struct image_built *built, err *e)
{
    const struct dockerfile_step *foreign = dockerfile_foreign(&r->parsed);
    if (!foreign)
        return build_here(r, created, built, e);
    const char *builder = find_builder(r->call);
    if (builder)
        return build_by(r, builder, built, e);
    return err_set(e, ERR_NOT_FOUND,
        "%s:%d: %s%s needs a builder: install buildah or podman (Debian: apt install buildah). "
        "FROM, "
        "ARG, ENV, COPY, ADD, WORKDIR, USER, ENTRYPOINT, CMD, EXPOSE and LABEL need none",
        r->name, foreign->line, foreign->name, foreign->here ? " with a here-document" : "");
}

int image_dockerfile(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct image_built built = {0};
    AUTO_STORE *store = image_open_store(c, e); // it goes after the request
    CLEANUP(request_done) struct request r = {.store = store};
    if (!store || read_request(c, args, &r, e))
        return -1;
    if (build(&r, json_int_or(args, "created", 0), &built, e)) {
        image_built_done(&built);
        return -1;
    }
    image_tidy(store);
    image_tell_built(c, &built, clock_mono() - r.inputs.work.began);
    *result = image_build_result(&built);
    image_built_done(&built);
    return 0;
}
