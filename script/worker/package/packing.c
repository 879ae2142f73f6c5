// SPDX-License-Identifier: MIT
#include "script/worker/package/packing.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "trainer/data/npy.h"
#include "trainer/data/npz.h"
#include "trainer/fit.h"
#include "trainer/nn/export.h"
#include "trainer/serve/infer.h"

#include <math.h>
#include <string.h>

// Examples are for checks: some rows tell as much as all of a data set.
enum { ROWS_OF_A_FILE = 100, EXAMPLES_MOST = 1000, TEXT_MOST = 4 << 20 };

static cJSON *read_json(const char *path, err *e)
{
    AUTO_BUF text = {0};
    return path_read(path, &text, TEXT_MOST, e) < 0 ? NULL : json_parse(text.data, text.len, e);
}

// Reading examples: each becomes {"inputs": [tensor of KServe's], "outputs"?: […]}.

static bool has_texts(const cJSON *value)
{
    while (cJSON_IsArray(value) && value->child)
        value = value->child;
    return cJSON_IsString(value);
}

static void flatten(const cJSON *value, cJSON *out)
{
    if (!cJSON_IsArray(value)) {
        cJSON_AddItemToArray(out, cJSON_Duplicate(value, false));
        return;
    }
    for (const cJSON *j = value->child; j; j = j->next)
        flatten(j, out);
}

// A row, with its shape by how its lists are nested, or as the model has it.
static cJSON *row_tensor(const char *name, const cJSON *row, const row_shape *shape)
{
    cJSON *t = cJSON_CreateObject(), *data = cJSON_CreateArray();
    bool texts = has_texts(row);
    json_set_str(t, "name", name);
    json_set_str(t, "datatype", texts ? "BYTES" : "FP32");
    cJSON *sizes = json_array_at(t, "shape");
    cJSON_AddItemToArray(sizes, json_new_int(1));
    flatten(row, data);
    if (shape && (size_t)cJSON_GetArraySize(data) == shape_size(shape))
        for (int i = 0; i < shape->dims; i++)
            cJSON_AddItemToArray(sizes, json_new_int((int64_t)shape->size[i]));
    else
        for (const cJSON *j = row; cJSON_IsArray(j); j = j->child)
            cJSON_AddItemToArray(sizes, json_new_int(cJSON_GetArraySize(j)));
    if (cJSON_GetArraySize(sizes) == 1 && !texts)
        cJSON_AddItemToArray(sizes, json_new_int(1));
    json_set(t, "data", data);
    return t;
}

// The names and shapes of what the package takes; a function's are not known.
struct ports {
    const model *m;
    row_shape (*shape)(const model *m, size_t i);
    const char *const *names;
    size_t n;
};

static bool is_port(const struct ports *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (str_eq(p->names[i], name))
            return true;
    return false;
}

// In the model's order; what it does not know comes last, by name: a model refuses it when it is
// predicted.
static cJSON *named_rows(const struct ports *p, const cJSON *rows)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *row;
    for (size_t i = 0; i < p->n; i++) {
        row_shape shape = p->shape(p->m, i);
        if ((row = json_get(rows, p->names[i])))
            cJSON_AddItemToArray(list, row_tensor(p->names[i], row, &shape));
    }
    AUTO_FREE const cJSON **sorted = json_sorted(rows); // so that a package is the same again
    for (size_t i = 0; sorted[i]; i++)
        if (!is_port(p, sorted[i]->string))
            cJSON_AddItemToArray(list, row_tensor(sorted[i]->string, sorted[i], NULL));
    return list;
}

static cJSON *read_side(const struct ports *p, const cJSON *side, const char *only)
{
    if (cJSON_IsArray(side) && cJSON_IsObject(side->child))
        return cJSON_Duplicate(side, true); // KServe's
    if (cJSON_IsObject(side))
        return named_rows(p, side);
    AUTO_JSON *one = cJSON_CreateObject();
    json_set(one, only, cJSON_Duplicate(side, true));
    return named_rows(p, one);
}

static cJSON *read_example(
    const struct ports *in, const struct ports *out, const cJSON *item, size_t number, err *e)
{
    const cJSON *inputs = cJSON_IsObject(item) ? json_get(item, "inputs") : NULL;
    const cJSON *outputs = inputs ? json_get(item, "outputs") : NULL;
    if (in->n > 1 && !inputs && !cJSON_IsObject(item)) {
        err_set(e, ERR_USAGE,
            "example %zu: the model has %zu inputs, so an example names them: "
            "{ %s = {…}, %s = {…} }",
            number, in->n, in->names[0], in->names[1]);
        return NULL;
    }
    cJSON *example = cJSON_CreateObject();
    json_set(
        example, "inputs", read_side(in, inputs ? inputs : item, in->n ? in->names[0] : "input"));
    if (outputs && !cJSON_IsNull(outputs))
        json_set(example, "outputs", read_side(out, outputs, out->n ? out->names[0] : "output"));
    return example;
}

// The first rows of arrays, as JSON.
static cJSON *rows_of(const npz *arrays, const struct ports *in, err *e)
{
    cJSON *list = cJSON_CreateArray();
    size_t rows = arrays->n ? tensor_rows(arrays->item[0].t) : 0;
    for (size_t r = 0; r < rows && r < ROWS_OF_A_FILE; r++) {
        cJSON *item = cJSON_CreateObject(), *inputs = json_object_at(item, "inputs");
        for (size_t i = 0; i < arrays->n; i++) {
            const tensor *t = arrays->item[i].t;
            size_t n = tensor_row_size(t);
            if (tensor_rows(t) != rows) {
                err_set(e, ERR_USAGE, "its arrays have different numbers of rows");
                cJSON_Delete(item);
                cJSON_Delete(list);
                return NULL;
            }
            cJSON *row = cJSON_CreateArray();
            for (size_t k = 0; k < n; k++)
                cJSON_AddItemToArray(row, cJSON_CreateNumber(tensor_at(t, r * n + k)));
            json_set(inputs, arrays->item[i].name, row);
        }
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *read_file(const char *path, const struct ports *in, err *e)
{
    AUTO_NPZ arrays = {0};
    const char *only = in->n ? in->names[0] : "input";
    if (str_ends(path, ".npz")) {
        if (npz_read(path, &arrays, e) < 0)
            return NULL;
    } else if (str_ends(path, ".npy")) {
        tensor *t = npy_read(path, e);
        if (!t)
            return NULL;
        npz_add(&arrays, only, strlen(only), t);
    } else {
        return read_json(path, e);
    }
    return rows_of(&arrays, in, e);
}

static cJSON *read_examples(
    const char *path, const struct ports *in, const struct ports *out, err *e)
{
    ERR_GUARD(e);
    AUTO_JSON *items = read_file(path, in, e);
    AUTO_JSON *list = cJSON_CreateArray();
    const cJSON *item;
    size_t n = (size_t)cJSON_GetArraySize(items);
    if (items && (!cJSON_IsArray(items) || n == 0 || n > EXAMPLES_MOST))
        err_set(e, ERR_USAGE, "examples are a list of 1 to %d", EXAMPLES_MOST);
    if (!items || e->code)
        return NULL;
    cJSON_ArrayForEach(item, items)
    {
        cJSON *example = read_example(in, out, item, (size_t)cJSON_GetArraySize(list) + 1, e);
        if (!example)
            return NULL;
        cJSON_AddItemToArray(list, example);
    }
    return STEAL(list);
}

// Predicting and comparing.

static cJSON *predict(packaged *p, const cJSON *inputs, const atomic_bool *stop, err *e)
{
    AUTO_JSON *request = cJSON_CreateObject();
    AUTO_BUF text = {0}, answer = {0};
    json_set(request, "inputs", cJSON_Duplicate(inputs, true));
    json_print(&text, request);
    if (packaged_infer_text(p, packaged_name(p), buf_cstr(&text), text.len, stop, &answer, e) < 0)
        return NULL;
    AUTO_JSON *j = json_parse(answer.data, answer.len, e);
    return j ? cJSON_Duplicate(json_get(j, "outputs"), true) : NULL;
}

void difference_done(struct difference *d)
{
    free(d->output);
    free(d->expected);
    free(d->got);
    *d = (struct difference){0};
}

static void differs(
    struct checked *out, size_t example, char *output, const char *expected, const char *got)
{
    if (out->first.output) {
        free(output);
        return;
    }
    out->first = (struct difference){example, output, mem_strdup(expected), mem_strdup(got)};
}

static void compare_values(const char *name, size_t i, const cJSON *a, const cJSON *b,
    size_t example, double tolerance, struct checked *out)
{
    out->values++;
    if (cJSON_IsNumber(a) && cJSON_IsNumber(b)) {
        double x = a->valuedouble, y = b->valuedouble;
        double apart = fabs(x - y) / fmax(1, fmax(fabs(x), fabs(y)));
        out->apart = fmax(out->apart, apart);
        if (apart <= tolerance)
            return;
    } else if (json_equal(a, b)) {
        return;
    }
    AUTO_FREE char *expected = json_to_str(a);
    AUTO_FREE char *got = json_to_str(b);
    differs(out, example, str_fmt("%s[%zu]", name, i), expected, got);
}

static const cJSON *find_output(const cJSON *list, const char *name)
{
    const cJSON *j;
    cJSON_ArrayForEach(j, list) if (str_eq(json_str(j, "name"), name)) return j;
    return NULL;
}

// Compares two lists of outputs, as tensors of KServe's; adds to `out`.
static void packing_compare(
    const cJSON *expected, const cJSON *got, size_t example, double tolerance, struct checked *out)
{
    const cJSON *want;
    cJSON_ArrayForEach(want, expected)
    {
        const char *name = json_str_or(want, "name", "?");
        const cJSON *have = find_output(got, name);
        const cJSON *a = json_get(want, "data"), *b = json_get(have, "data");
        int n = cJSON_GetArraySize(a), m = cJSON_GetArraySize(b);
        if (!have || n != m) {
            AUTO_FREE char *wants = str_fmt("%d values", n);
            AUTO_FREE char *has = have ? str_fmt("%d values", m) : mem_strdup("no such output");
            differs(out, example, mem_strdup(name), wants, has);
            continue;
        }
        a = a ? a->child : NULL;
        b = b ? b->child : NULL; // as many
        for (size_t i = 0; b; i++, a = a->next, b = b->next)
            compare_values(name, i, a, b, example, tolerance, out);
    }
}

// Predicts an example, fills in its outputs (and calls), and compares those that were given.
static int fill_in(
    packaged *p, cJSON *example, size_t number, double tolerance, const atomic_bool *stop, err *e)
{
    AUTO_JSON *got = predict(p, json_get(example, "inputs"), stop, e);
    if (!got)
        return err_wrap(e, "example %zu", number);
    const cJSON *given = json_get(example, "outputs");
    struct checked c = {0};
    packing_compare(given, got, number, tolerance, &c);
    if (c.first.output)
        err_set(e, ERR_FAILED,
            "example %zu: the packaged model does not predict what was given: output %s is %s, and "
            "%s was expected",
            number, c.first.output, c.first.got, c.first.expected);
    bool same = !c.first.output;
    difference_done(&c.first);
    if (!same)
        return -1;
    json_set(example, "outputs", STEAL(got));
    if (packaged_has_predict(p))
        json_set(example, "calls", cJSON_Duplicate(packaged_calls(p), true));
    return 0;
}

int packing_check(packaged *p, const char *folder, double tolerance, const atomic_bool *stop,
    struct checked *out, err *e)
{
    AUTO_FREE char *path = path_join(folder, PACKAGED_EXAMPLES);
    AUTO_JSON *examples = read_json(path, e);
    const cJSON *example;
    *out = (struct checked){0};
    if (!examples)
        return err_wrap(e, "%s", PACKAGED_EXAMPLES);
    cJSON_ArrayForEach(example, examples)
    {
        AUTO_JSON *got = predict(p, json_get(example, "inputs"), stop, e);
        out->examples++;
        if (!got)
            return err_wrap(e, "example %zu", out->examples);
        packing_compare(json_get(example, "outputs"), got, out->examples, tolerance, out);
    }
    if (out->values == 0 && !out->first.output)
        return err_set(e, ERR_CORRUPT, "%s: there are no examples that say what is predicted",
            PACKAGED_EXAMPLES);
    return 0;
}

// Writing the folder.

static int write_file(const char *folder, const char *name, const buf *bytes, cJSON *files, err *e)
{
    char hex[SHA256_HEX];
    AUTO_FREE char *path = path_join(folder, name);
    sha256_hex(bytes->data, bytes->len, hex);
    json_set_str(files, name, hex);
    return path_write(path, bytes->data, bytes->len, 0644, e);
}

static int copy_file(const char *from, const char *folder, const char *name, cJSON *files, err *e)
{
    AUTO_BUF bytes = {0};
    return path_read(from, &bytes, 0, e) < 0 ? -1 : write_file(folder, name, &bytes, files, e);
}

// What cannot be exported is told when somebody wants to check it.
static int write_onnx(packaged *p, const char *folder, cJSON *about, cJSON *files, err *e)
{
    AUTO_BUF bytes = {0};
    err why = {0};
    if (export_onnx(packaged_model(p), &bytes, &why) < 0) {
        json_set_str(about, "onnx_missing", why.text);
        return 0;
    }
    json_set_str(about, "onnx", PACKAGED_ONNX);
    return write_file(folder, PACKAGED_ONNX, &bytes, files, e);
}

// The ports of a function are those of its first example, with any number of rows.
static cJSON *ports_of(const cJSON *tensors)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *t;
    cJSON_ArrayForEach(t, tensors)
    {
        cJSON *port = cJSON_CreateObject(), *shape = cJSON_Duplicate(json_get(t, "shape"), true);
        if (shape && shape->child)
            cJSON_ReplaceItemInArray(shape, 0, json_new_int(-1));
        json_set_str(port, "name", json_str(t, "name"));
        json_set_str(port, "datatype", json_str(t, "datatype"));
        json_set(port, "shape", shape);
        cJSON_AddItemToArray(list, port);
    }
    return list;
}

// What a process takes that predicts with it: the weights, also packed for its kernels.
static size_t memory_of(const model *m)
{
    size_t floats = 0;
    for (size_t i = 0; i < model_layer_count(m); i++)
        floats += model_layer_floats(m, i);
    return 2 * floats * sizeof(float) + model_predict_bytes(m);
}

static int write_about(
    const struct packing *spec, packaged *p, const cJSON *examples, cJSON *about, err *e)
{
    AUTO_BUF text = {0};
    AUTO_FREE char *path = path_join(spec->folder, PACKAGED_ABOUT);
    json_set_str(about, "examples", PACKAGED_EXAMPLES);
    json_set_int(about, "memory", (int64_t)memory_of(packaged_model(p)));
    if (model_wants_dnn(packaged_model(p)))
        json_set_bool(about, "convolutions", true);
    if (packaged_has_predict(p)) {
        json_set_str(about, "predict", PACKAGED_PREDICT);
        json_set(about, "inputs", ports_of(json_get(examples->child, "inputs")));
        json_set(about, "outputs", ports_of(json_get(examples->child, "outputs")));
    }
    json_print_canonical(&text, about);
    return path_write(path, text.data, text.len, 0644, e);
}

static int write_all(const struct packing *spec, packaged *p, const cJSON *examples, err *e)
{
    AUTO_JSON *about = cJSON_CreateObject();
    AUTO_BUF text = {0};
    json_set_int(about, "firesteel", 1);
    json_set_str(about, "name", spec->name);
    json_set_str(about, "model", PACKAGED_MODEL);
    cJSON *files = json_object_at(about, "files");
    json_print(&text, examples);
    if (text.len > TEXT_MOST)
        return err_set(e, ERR_LIMIT,
            "the examples with their predictions are %zu bytes, and up to "
            "%d are kept: give fewer",
            text.len, TEXT_MOST);
    return copy_file(spec->model, spec->folder, PACKAGED_MODEL, files, e) ||
                   (spec->predict &&
                       copy_file(spec->predict, spec->folder, PACKAGED_PREDICT, files, e)) ||
                   write_onnx(p, spec->folder, about, files, e) ||
                   write_file(spec->folder, PACKAGED_EXAMPLES, &text, files, e)
               ? -1
               : write_about(spec, p, examples, about, e);
}

static struct ports names_of(
    const cJSON *metadata, const char *key, const char **names, size_t most)
{
    struct ports p = {.names = names};
    const cJSON *port;
    cJSON_ArrayForEach(port, json_get(metadata, key)) if (p.n < most) names[p.n++] =
        json_str(port, "name");
    return p;
}

static int pack(const struct packing *spec, packaged *p, const atomic_bool *stop, err *e)
{
    const char *in_names[64], *out_names[64];
    AUTO_BUF text = {0};
    if (!packaged_has_predict(p))
        infer_metadata(packaged_model(p), spec->name, &text);
    AUTO_JSON *metadata = json_parse(buf_cstr(&text), text.len, NULL);
    struct ports in = names_of(metadata, "inputs", in_names, ARRAY_LEN(in_names));
    struct ports out = names_of(metadata, "outputs", out_names, ARRAY_LEN(out_names));
    in.m = out.m = packaged_model(p);
    in.shape = model_input_shape;
    out.shape = model_output_shape;
    err_clear(e);
    AUTO_JSON *examples = read_examples(spec->examples, &in, &out, e);
    cJSON *example;
    size_t number = 0;
    if (!examples)
        return err_wrap(e, "examples");
    cJSON_ArrayForEach(example,
        examples) if (fill_in(p, example, ++number, spec->tolerance, stop, e) < 0) return -1;
    return write_all(spec, p, examples, e);
}

int packing_write(const struct packing *spec, const atomic_bool *stop, err *e)
{
    packaged *p = packaged_new(spec->name, spec->model, spec->predict, spec->dnn, e);
    int status = p ? pack(spec, p, stop, e) : -1;
    packaged_free(p);
    return status;
}
