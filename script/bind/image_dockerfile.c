// SPDX-License-Identifier: MIT
// Dockerfiles: without RUN they are built here, else by buildah or podman, if one of them is there.
#include "base/env.h"
#include "base/path.h"
#include "base/str.h"
#include "k8s/image/dockerfile.h"
#include "k8s/image/index.h"
#include "script/bind/fetch.h"
#include "script/bind/image.h"
#include "script/bind/process.h"

#include <string.h>
#include <unistd.h>

enum { FILE_LIMIT = 4 << 20 };

struct request {
    char *file, *context, **args;
    const char *name, *target, *tag;
    const image_store *store;
    call *call;
    struct image_inputs inputs;
    buf text;
    struct dockerfile parsed;
};

static void request_done(struct request *r)
{
    free(r->file);
    free(r->context);
    strv_free(r->args);
    buf_done(&r->text);
    dockerfile_done(&r->parsed);
}

static int read_request(call *c, const cJSON *args, struct request *r, err *e)
{
    const char *context = json_str_or(args, "context", ".");
    r->call = c;
    image_inputs_init(&r->inputs, c);
    r->name = json_str_or(args, "dockerfile", "Dockerfile");
    r->target = json_str(args, "target");
    r->tag = json_str(args, "tag");
    r->context = *context == '/'        ? mem_strdup(context)
                 : str_eq(context, ".") ? mem_strdup(call_cwd(c))
                                        : path_join(call_cwd(c), context);
    r->file = *r->name == '/' ? mem_strdup(r->name) : path_join(call_cwd(c), r->name);
    r->args = mem_array(1, sizeof *r->args);
    const cJSON *arg;
    cJSON_ArrayForEach(arg, json_get(args, "args"))
    {
        if (cJSON_IsString(arg))
            r->args = strv_add(r->args, arg->valuestring);
    }
    if (path_read(r->file, &r->text, FILE_LIMIT, e))
        return -1;
    char hex[SHA256_HEX];
    sha256_hex(buf_cstr(&r->text), r->text.len, hex);
    image_record_input(&r->inputs, r->file, (int64_t)r->text.len, hex);
    if (!path_is_dir(r->context))
        return err_set(e, ERR_NOT_FOUND, "the context %s is no folder", r->context);
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
    const char *temp = env_get(call_env(r->call), "TMPDIR");
    AUTO_FREE char *folder = path_make_temp(temp ? temp : "/tmp", "firesteel-image-", e);
    if (!folder)
        return -1;
    int status = dockerfile_run(r->store, &r->parsed,
        &(struct dockerfile_build){.name = r->name,
            .context = r->context,
            .args = (const char *const *)r->args,
            .target = r->target,
            .tag = r->tag,
            .created = created,
            .temp = folder,
            .added = &r->inputs.told,
            .need = need,
            .arg = r},
        built, e);
    path_remove(folder, NULL);
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

static int run(call *c, char **argv, err *e)
{
    struct process_result result = {0};
    int status = process_run(c,
        &(struct process_spec){.argv = (const char *const *)argv, .env = call_env(c)}, &result, e);
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

// The builder makes the image in its own store, and copies it into ours.
static int build_by(struct request *r, const char *builder, struct image_built *built, err *e)
{
    AUTO_FREE char *own = str_fmt("localhost/firesteel-build:%s", call_run(r->call));
    AUTO_FREE char *full =
        str_fmt("%s%s", r->tag, strrchr(r->tag, ':') > strrchr(r->tag, '/') ? "" : ":latest");
    AUTO_FREE char *to = str_fmt("oci:%s:%s", image_store_dir(r->store), full);
    char **argv = words(
        (const char *const[]){builder, "build", "--layers", "--file", r->file, "--tag", own, NULL});
    for (char **a = r->args; *a; a++)
        argv = strv_add(strv_add(argv, "--build-arg"), *a);
    if (r->target)
        argv = strv_add(strv_add(argv, "--target"), r->target);
    argv = strv_add(argv, r->context);
    if (run(r->call, argv, e) ||
        run(r->call, words((const char *const[]){builder, "push", own, to, NULL}), e) ||
        image_store_find(r->store, full, &built->manifest, e))
        return err_wrap(e, "%s", r->name);
    AUTO_BUF text = {0};
    if (image_store_read(r->store, &built->manifest.digest, &text, FILE_LIMIT, e) ||
        oci_manifest_parse(text.data, text.len, &built->content, e))
        return -1;
    built->ref = STEAL(full);
    built->size = built->manifest.size + oci_manifest_bytes(&built->content);
    built->new_layers = built->content.layer_n;
    return 0;
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
    CLEANUP(request_done) struct request r = {0};
    AUTO_STORE *store = image_open_store(c, e);
    r.store = store;
    if (!store || read_request(c, args, &r, e))
        return -1;
    if (build(&r, json_int_or(args, "created", 0), &built, e)) {
        image_built_done(&built);
        return -1;
    }
    image_tidy(store);
    image_tell_built(c, &built);
    *result = image_build_result(&built);
    image_built_done(&built);
    return 0;
}
