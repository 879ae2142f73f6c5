// SPDX-License-Identifier: MIT
// model.package and model.verify: a trained model as an image that predicts what the model did, and
// the check that it does.
//
//   model, predict.lua, examples ─ firesteel-worker package ─> a folder ─ image_build ─> the store
//   an image of the store ─ its last layer ─> a folder ─┬─ firesteel-worker verify
//                                                       └─ onnxruntime, in a Python that has it
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/index.h"
#include "k8s/image/unpack.h"
#include "script/api/core/process.h"
#include "script/api/image/image.h"
#include "script/embed.h"
#include "script/kernel/effects/binding.h"

#include <string.h>
#include <unistd.h>

enum { EXAMPLES_SHOWN = 1 << 20, LAYER_FILES = 1000 };
static const int64_t package_bytes = (int64_t)8 << 30;

extern const struct lua_source model_sources[]; // onnxcheck.py

// A folder that goes with the block.
struct folder {
    call *call;
    char *path;
};

static void remove_folder(struct folder *f)
{
    call_drop_temp(f->call, f->path);
    free(f->path);
}
#define AUTO_FOLDER CLEANUP(remove_folder) struct folder

static struct folder make_folder(call *c, err *e)
{
    return (struct folder){c, call_temp(c, "model", NULL, e)};
}

static int find_worker(call *c, err *e)
{
    return call_paths(c)->worker ? 0
                                 : err_set(e, ERR_NOT_FOUND,
                                       "firesteel-worker is not there; it belongs beside "
                                       "firesteel-kernel");
}

// Sets the error to the last line of the program's output, without the prefix "firesteel-worker: ".
// Without output it says that the program was killed or failed.
static int said(const buf *output, const char *what, int code, err *e)
{
    static const char ours[] = "firesteel-worker: ";
    AUTO_FREE char *text = str_trim(buf_cstr(output), output->len);
    const char *last = strrchr(text, '\n');
    last = last ? last + 1 : text;
    if (str_starts(last, ours))
        last += sizeof ours - 1;
    return err_set(e, ERR_FAILED, "%s: %s", what,
        *last      ? last
        : code < 0 ? "it was killed"
                   : "it failed without a word");
}

static int run_quiet(call *c, const char *const *argv, struct process_result *r, err *e)
{
    struct process_spec spec = {.argv = argv, .env = call_env(c), .quiet = true};
    *r = (struct process_result){0};
    return process_run(c, &spec, r, e);
}

// model.package {name, tag, model, predict?, examples (a file) or rows (their text), tolerance,
// annotations, labels, from?} -> {ref, digest, size, layers, name, files, examples}

static int write_rows(const char *folder, const cJSON *rows, char **path, err *e)
{
    AUTO_BUF text = {0};
    json_print(&text, rows);
    *path = path_join(folder, "rows.json");
    return path_write(*path, text.data, text.len, 0600, e);
}

static int make_package(call *c, const cJSON *args, const char *folder, const char *to, err *e)
{
    const char *predict = json_str(args, "predict"), *argv[16];
    const cJSON *rows = json_get(args, "rows");
    AUTO_FREE char *examples = NULL;
    AUTO_FREE char *tolerance = str_fmt(
        "%.17g", json_get(args, "tolerance") ? json_get(args, "tolerance")->valuedouble : 1e-5);
    if (!rows || cJSON_IsNull(rows))
        examples = mem_strdup(json_str_or(args, "examples", ""));
    else if (write_rows(folder, rows, &examples, e) < 0)
        return -1;
    size_t n = 0;
    const char *const words[] = {call_paths(c)->worker, "package", "--name",
        json_str_or(args, "name", ""), "--model", json_str_or(args, "model", ""), "--examples",
        examples, "--tolerance", tolerance};
    for (; n < ARRAY_LEN(words); n++)
        argv[n] = words[n];
    if (predict) {
        argv[n++] = "--predict";
        argv[n++] = predict;
    }
    argv[n++] = to;
    argv[n] = NULL;
    struct process_result r;
    int status = run_quiet(c, argv, &r, e);
    if (status == 0 && r.code != 0)
        status = said(&r.output, "model.package", r.code, e);
    buf_done(&r.output);
    return status;
}

// The texts of a JSON array, as they are.
static const char **texts_of(const cJSON *list)
{
    const char **texts = mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof *texts);
    size_t n = 0;
    const cJSON *text;
    cJSON_ArrayForEach(text, list) if (cJSON_IsString(text)) texts[n++] = text->valuestring;
    return texts;
}

static int build_image(
    call *c, const cJSON *args, const char *folder, bool dnn, struct image_built *built, err *e)
{
    static const char *const cmd[] = {"serve", ".", NULL};
    const struct call_paths *paths = call_paths(c);
    const char *const dirs[] = {folder, NULL};
    const struct image_copy add[] = {{"package", "."}, {0}};
    AUTO_FREE const char **annotations = texts_of(json_get(args, "annotations"));
    AUTO_FREE const char **labels = texts_of(json_get(args, "labels"));
    AUTO_STORE *store = image_open_store(c, e);
    struct image_build spec = {.add = add,
        .tag = json_str(args, "tag"),
        .cmd = cmd,
        .annotations = annotations,
        .labels = labels,
        .dirs = dirs,
        .worker = {paths->worker, paths->plugin, paths->spark_main, .dnn = paths->dnn},
        .dnn = dnn && paths->dnn ? IMAGE_DNN : IMAGE_NO_DNN};
    if (!store)
        return -1;
    AUTO_FREE char *what = str_fmt("package %s", spec.tag ? spec.tag : "image");
    struct work work;
    struct work_watch watch = {&work, call_goes_on, c};
    spec.watch = &watch;
    call_work(c, &work, what, WORK_BYTES, "layers");
    int status = image_build(store, &spec, built, e);
    call_work_end(c, &work);
    if (status)
        return -1;
    image_tidy(store);
    return 0;
}

static cJSON *read_part(const char *folder, const char *name, err *e)
{
    AUTO_BUF text = {0};
    AUTO_FREE char *path = str_fmt("%s/package/%s", folder, name);
    return path_read(path, &text, 0, e) < 0 ? NULL : json_parse(text.data, text.len, e);
}

static int check_text(call *c, const char *text, const char *where, err *e)
{
    return call_is_secret(c, text)
               ? err_set(e, ERR_USAGE,
                     "model.package: a secret is in %s; who has the image reads it there, so it "
                     "must be left out",
                     where)
               : 0;
}

// Images travel: what gets into this one as a text has no secret.
static int check_secrets(call *c, const cJSON *args, const char *folder, err *e)
{
    static const char *const parts[] = {"annotations", "labels"};
    static const char *const files[] = {"examples.json", "predict.lua"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const cJSON *part = json_get(args, parts[i]);
        AUTO_FREE char *text = part ? json_to_str(part) : NULL;
        if (text && check_text(c, text, parts[i], e))
            return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = path_join(folder, files[i]);
        AUTO_BUF text = {0};
        if (path_exists(path) &&
            (path_read(path, &text, 0, e) || check_text(c, buf_cstr(&text), files[i], e)))
            return -1;
    }
    return 0;
}

static int package(
    call *c, const cJSON *args, struct image_built *built, cJSON **about, cJSON **examples, err *e)
{
    AUTO_FOLDER temp = make_folder(c, e);
    const char *folder = temp.path;
    if (!folder || find_worker(c, e) < 0)
        return -1;
    AUTO_FREE char *to = path_join(folder, "package");
    if (make_package(c, args, folder, to, e) < 0 || check_secrets(c, args, to, e) < 0)
        return -1;
    AUTO_JSON *read = read_part(folder, "package.json", e);
    AUTO_JSON *shown = read ? read_part(folder, "examples.json", e) : NULL;
    if (!shown ||
        build_image(c, args, folder, json_bool_or(read, "convolutions", false), built, e) < 0)
        return -1;
    *about = STEAL(read);
    *examples = STEAL(shown);
    return 0;
}

static void record_files(call *c, const cJSON *args, const cJSON *about)
{
    AUTO_JSON *files = cJSON_CreateObject();
    const cJSON *digests = json_get(about, "files");
    json_set_str(files, json_str_or(args, "model", ""), json_str(digests, "model.safetensors"));
    if (json_str(args, "predict"))
        json_set_str(files, json_str(args, "predict"), json_str(digests, "predict.lua"));
    process_record_inputs(c, NULL, files);
}

static int package_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct image_built built;
    int64_t began = clock_mono();
    AUTO_JSON *about = NULL, *examples = NULL;
    if (package(c, args, &built, &about, &examples, e) < 0)
        return -1;
    image_tell_built(c, &built, clock_mono() - began);
    record_files(c, args, about);
    *result = image_build_result(&built);
    json_set_str(*result, "name", json_str(about, "name"));
    json_set(*result, "files", cJSON_Duplicate(json_get(about, "files"), true));
    json_set(*result, "onnx", cJSON_CreateBool(json_get(about, "onnx") != NULL));
    json_set_int(*result, "count", cJSON_GetArraySize(examples));
    json_set_int(*result, "memory", json_int_or(about, "memory", 0));
    AUTO_FREE char *text = json_to_str(examples);
    if (strlen(text) <= EXAMPLES_SHOWN)
        json_set(*result, "examples", STEAL(examples));
    image_built_done(&built);
    return 0;
}

// Making it again costs little, and gives the same of the same files.
static int package_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    ERR_GUARD(e);
    struct image_built built;
    AUTO_JSON *about = NULL, *examples = NULL;
    if (!recorded)
        return VERDICT_NO;
    if (package(c, args, &built, &about, &examples, e) < 0)
        return e->code == ERR_CANCELLED ? -1 : VERDICT_NO;
    bool same = str_eq(built.manifest.digest.text, json_str(recorded, "digest"));
    if (same)
        record_files(c, args, about);
    image_built_done(&built);
    return same ? VERDICT_YES : VERDICT_NO;
}

static void package_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("package %s as image %s", json_str_or(args, "model", "a model"),
        json_str_or(args, "tag", "(no tag)"));
}

// model.verify {digest, runtime: "firesteel" or "onnxruntime", tolerance, python?} -> what the
// worker's verify tells as JSON: {name, same, examples, values, apart, first?}, and version of
// another runtime

static int unpack(call *c, const char *digest, const char *folder, err *e)
{
    AUTO_STORE *store = image_open_store(c, e);
    oci_descriptor d;
    CLEANUP(oci_manifest_done) oci_manifest m = {0};
    struct image_limits limits = {.bytes = package_bytes, .files = LAYER_FILES};
    if (!store || image_store_find(store, digest, &d, e) < 0 ||
        image_store_manifest(store, &d.digest, &m, e) < 0)
        return -1;
    if (m.layer_n == 0)
        return err_set(e, ERR_INVALID, "%s has no layers", digest);
    AUTO_FD fd = image_store_blob(store, &m.layers[m.layer_n - 1].digest, NULL, e);
    return fd < 0 ? -1 : image_unpack_layer(fd, folder, &limits, e);
}

static const char *check_program(void)
{
    return model_sources[0].text;
}

// Has this Python onnxruntime?
static bool has_runtime(call *c, const char *python)
{
    const char *const argv[] = {python, "-c", "import onnxruntime, numpy", NULL};
    struct process_result r;
    err why = {0};
    bool has = run_quiet(c, argv, &r, &why) == 0 && r.code == 0;
    buf_done(&r.output);
    return has;
}

static const char *find_python(call *c, const cJSON *args, err *e)
{
    const char *given = json_str(args, "python");
    const char *const known[] = {"python3", "python"};
    for (size_t i = 0; i < ARRAY_LEN(known) && !given; i++)
        if (has_runtime(c, known[i]))
            return known[i];
    if (given && has_runtime(c, given))
        return given;
    err_set(e, ERR_NOT_FOUND,
        "model.verify: %s has no onnxruntime, in which the ONNX form of the model is checked: pip "
        "install onnxruntime, or name a Python that has it (python = \"venv/bin/python\"), or "
        "leave "
        "that check out (runtime = false)",
        given ? given : "python3");
    return NULL;
}

static int verify_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    AUTO_FOLDER temp = make_folder(c, e);
    const char *folder = temp.path;
    const char *digest = json_str_or(args, "digest", "");
    bool other = str_eq(json_str(args, "runtime"), "onnxruntime");
    const char *python = other ? find_python(c, args, e) : NULL;
    if (!folder || (other && !python) || find_worker(c, e) < 0 || unpack(c, digest, folder, e) < 0)
        return -1;
    AUTO_FREE char *package = path_join(folder, "work");
    AUTO_FREE char *tolerance = str_fmt("%.17g", json_get(args, "tolerance")->valuedouble);
    const char *const here[] = {
        call_paths(c)->worker, "verify", "--json", "--tolerance", tolerance, package, NULL};
    const char *const there[] = {python, "-c", check_program(), package, tolerance, NULL};
    struct process_result r;
    if (run_quiet(c, other ? there : here, &r, e) < 0)
        return -1;
    // The result is the last line: predict.lua may print.
    AUTO_FREE char *text = str_trim(buf_cstr(&r.output), r.output.len);
    const char *last = strrchr(text, '\n');
    last = last ? last + 1 : text;
    *result = r.code >= 0 && *last == '{' ? json_parse(last, strlen(last), NULL) : NULL;
    int status = *result ? 0 : said(&r.output, "model.verify", r.code, e);
    buf_done(&r.output);
    return status;
}

static void verify_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("check the predictions of %s", json_str_or(args, "name", "a model"));
}

const struct binding model_bindings[] = {
    {.name = "model.package",
        .effect = EFFECT_LOCAL,
        .start = package_start,
        .verify = package_verify,
        .describe = package_describe},
    {.name = "model.verify",
        .effect = EFFECT_LOCAL,
        .start = verify_start,
        .describe = verify_describe},
    {0},
};
