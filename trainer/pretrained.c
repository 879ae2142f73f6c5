// SPDX-License-Identifier: MIT
#include "trainer/pretrained.h"

#include "base/mem.h"
#include "trainer/checkpoint.h"
#include "trainer/data/npz.h"
#include "trainer/safetensors.h"
#include "trainer/tensor/arrange.h"

#include <string.h>

// A file's tensors by name.
struct source {
    safetensors s;
    npz z;
    bool is_npz;
};

static void source_done(struct source *s)
{
    if (s->is_npz)
        npz_done(&s->z);
    else
        safetensors_done(&s->s);
}

static size_t count(const struct source *s)
{
    return s->is_npz ? s->z.n : (size_t)cJSON_GetArraySize(s->s.header);
}

static const struct npz_item *find_array(const struct source *s, const char *name)
{
    for (size_t i = 0; i < s->z.n; i++)
        if (strcmp(s->z.item[i].name, name) == 0)
            return &s->z.item[i];
    return NULL;
}

static bool has(const struct source *s, const char *name)
{
    return s->is_npz ? find_array(s, name) != NULL : safetensors_has(&s->s, name);
}

static tensor *take(const struct source *s, const char *name, err *e)
{
    return s->is_npz ? tensor_ref(find_array(s, name)->t) : safetensors_get(&s->s, name, e);
}

static bool begins(const void *bytes, size_t n, const char *with, size_t length)
{
    return n >= length && memcmp(bytes, with, length) == 0;
}

// What people have instead: Keras's .h5 and .keras, PyTorch's .pt and .pth.
static int check_format(const void *bytes, size_t n, err *e)
{
    size_t looked = begins(bytes, n, "PK", 2) ? n < 4096 ? n : 4096 : 0; // of a ZIP archive
    if (begins(bytes, n, "\x89HDF", 4) || memmem(bytes, looked, "config.json", 11))
        return err_set(e, ERR_INVALID,
            "a file of Keras in HDF5: save it where Keras is, with "
            "numpy.savez(\"weights.npz\", **{w.path: w.numpy() for w in model.weights})");
    if (begins(bytes, n, "\x80\x02", 2) || memmem(bytes, looked, "data.pkl", 8))
        return err_set(e, ERR_INVALID,
            "a pickle of PyTorch, which can hold any code: save it where PyTorch is, with "
            "safetensors.torch.save_file(model.state_dict(), \"weights.safetensors\")");
    return 0;
}

static int open_source(struct source *s, const void *bytes, size_t n, err *e)
{
    bool ours = safetensors_begins(bytes, n);
    *s = (struct source){.is_npz = !ours && begins(bytes, n, "PK", 2)};
    if (!ours && check_format(bytes, n, e) < 0)
        return -1;
    if (!s->is_npz)
        return safetensors_open(&s->s, bytes, n, e);
    if (npz_parse(bytes, n, &s->z, e) == 0)
        return 0;
    npz_done(&s->z);
    return -1;
}

static const struct rename {
    const char *here, *there;
} torch_names[] = {
    {"kernel", "weight"},
    {"embeddings", "weight"},
    {"gamma", "weight"},
    {"beta", "bias"},
    {"bias", "bias"},
    {"moving_mean", "running_mean"},
    {"moving_variance", "running_var"},
};

// "conv1.weight" for "conv1/kernel".
static void torch_name(const char *name, buf *out)
{
    const char *last = strrchr(name, '/');
    for (size_t i = 0; last && i < ARRAY_LEN(torch_names); i++)
        if (strcmp(last + 1, torch_names[i].here) == 0)
            buf_fmt(out, "%.*s.%s", (int)(last - name), name, torch_names[i].there);
}

// A kernel of PyTorch as it lies here. Of one input channel for each group, as a depthwise one has
// it, (height, width, 1, channels·multiplier) is (height, width, channels, multiplier) in the same
// order.
static tensor *turn(tensor *t, const tensor *like, err *e)
{
    static const int64_t axes[] = {2, 3, 1, 0};
    int64_t shape[TENSOR_MAX_DIMS];
    tensor *turned = t->dims == 4 ? tensor_transpose(t, axes, e) : tensor_transpose(t, NULL, e);
    bool depthwise = turned && t->dims == 4 && like->dims == 4 && t->shape[1] == 1 &&
                     tensor_count(t) == tensor_count(like);
    tensor_free(t);
    if (!depthwise)
        return turned;
    for (int i = 0; i < 4; i++)
        shape[i] = (int64_t)like->shape[i];
    tensor *shaped = tensor_reshape(turned, 4, shape, e);
    tensor_free(turned);
    return shaped;
}

// PyTorch flattens a picture channel by channel: t is (units, channels·height·width), or only the
// latter. It becomes (height·width·channels, units), or only the former.
static tensor *turn_flattened(tensor *t, const row_shape *picture, err *e)
{
    const size_t *size = picture->size;
    int64_t units = (int64_t)t->shape[0], all = (int64_t)shape_size(picture);
    bool rows = t->dims == 2;
    int64_t parts[] = {units, (int64_t)size[2], (int64_t)size[0], (int64_t)size[1]};
    static const int64_t of_rows[] = {2, 3, 1, 0}, of_one[] = {1, 2, 0};
    tensor *cut = tensor_reshape(t, rows ? 4 : 3, rows ? parts : parts + 1, e);
    tensor *turned = cut ? tensor_transpose(cut, rows ? of_rows : of_one, e) : NULL;
    tensor *out = turned ? tensor_reshape(turned, rows ? 2 : 1, (int64_t[]){all, units}, e) : NULL;
    tensor_free(t), tensor_free(cut), tensor_free(turned);
    return out;
}

// The tensor for weight i; NULL with e. *there: what the file calls it.
static tensor *find_weight(
    const struct source *s, const model *m, size_t i, const char *name, buf *there, err *e)
{
    AUTO_BUF numbered = {0}, torch = {0};
    buf_fmt(&numbered, "%s:0", name);
    torch_name(name, &torch);
    const char *names[] = {name, buf_cstr(&numbered), buf_cstr(&torch)};
    size_t k = 0;
    while (k < ARRAY_LEN(names) && !has(s, names[k]))
        k++;
    if (k == ARRAY_LEN(names)) {
        err_set(e, ERR_INVALID, "the file has neither \"%s\" nor \"%s\" among its %zu tensors",
            name, buf_cstr(&torch), count(s));
        return NULL;
    }
    buf_str(there, names[k]);
    tensor *t = take(s, names[k], e);
    size_t length = strlen(name);
    bool kernel = length > 7 && strcmp(name + length - 7, "/kernel") == 0;
    row_shape picture;
    if (t && k == 2 && model_weight_of_flattened(m, i, &picture) &&
        t->shape[t->dims - 1] == shape_size(&picture) && t->dims == (kernel ? 2 : 1))
        return turn_flattened(t, &picture, e);
    if (!t || k < 2 || !kernel || (t->dims != 2 && t->dims != 4))
        return t;
    tensor *like = model_weight(m, i, e);
    if (like)
        t = turn(t, like, e);
    tensor_free(like);
    return t;
}

// Finds the tensors of all weights; found[i] is NULL for one that is skipped.
static int find_all(
    const struct source *s, const model *m, bool skip, tensor **found, buf *skipped, err *e)
{
    for (size_t i = 0; i < model_weight_count(m); i++) {
        AUTO_BUF name = {0}, there = {0};
        model_weight_name(m, i, &name);
        found[i] = find_weight(s, m, i, buf_cstr(&name), &there, e);
        if (found[i] && model_check_weight(m, i, found[i], e) == 0)
            continue;
        if (!skip)
            return there.len ? err_wrap(e, "tensor \"%s\"", buf_cstr(&there)) : -1;
        tensor_free(found[i]);
        found[i] = NULL;
        buf_fmt(skipped, "%s\n", buf_cstr(&name));
    }
    return 0;
}

static int take_all(model *m, const struct source *s, bool skip, buf *skipped, err *e)
{
    size_t n = model_weight_count(m);
    AUTO_FREE tensor **found = mem_array(n + 1, sizeof *found);
    int status = find_all(s, m, skip, found, skipped, e);
    for (size_t i = 0; i < n; i++) {
        if (status == 0 && found[i])
            status = model_set_weight(m, i, found[i], e);
        tensor_free(found[i]);
    }
    return status;
}

int pretrained_load(
    model *m, const void *bytes, size_t n, pretrained_options options, buf *skipped, err *e)
{
    struct source s;
    if (!model_is_built(m))
        return err_set(e, ERR_USAGE, "the model has no weights yet: build it first");
    if (open_source(&s, bytes, n, e) < 0)
        return -1;
    bool own = !s.is_npz && safetensors_text(&s.s, "config");
    int status = own && !options.skip_mismatch ? checkpoint_restore(m, bytes, n, e)
                                               : take_all(m, &s, options.skip_mismatch, skipped, e);
    source_done(&s);
    return status;
}
