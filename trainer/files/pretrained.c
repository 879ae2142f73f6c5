// SPDX-License-Identifier: MIT
#include "trainer/files/pretrained.h"

#include "base/mem.h"
#include "trainer/data/npz.h"
#include "trainer/files/checkpoint.h"
#include "trainer/files/naming.h"
#include "trainer/files/safetensors.h"
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

// The name of its i-th tensor; NULL after the last.
static const char *name_at(const struct source *s, size_t i)
{
    return !s->is_npz ? safetensors_name(&s->s, i) : i < s->z.n ? s->z.item[i].name : NULL;
}

static const struct npz_item *find_array(const struct source *s, const char *name)
{
    for (size_t i = 0; i < s->z.n; i++)
        if (strcmp(s->z.item[i].name, name) == 0)
            return &s->z.item[i];
    return NULL;
}

static tensor *take(const struct source *s, const char *name, err *e)
{
    return s->is_npz ? tensor_ref(find_array(s, name)->t) : safetensors_get(&s->s, name, e);
}

static bool begins(const void *bytes, size_t n, const char *with, size_t length)
{
    return n >= length && memcmp(bytes, with, length) == 0;
}

// Formats that people have instead: Keras's .h5 and .keras, PyTorch's .pt and .pth.
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

// Converts a kernel of PyTorch to our layout. One with a single input channel for each group, as in
// depthwise convolutions, (height, width, 1, channels·multiplier), is (height, width, channels,
// multiplier) in the same order.
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

// The tensor for weight i, in our layout; NULL with e.
static tensor *take_weight(const struct source *s, const model *m, size_t i, const char *name,
    const char *there, bool torch, err *e)
{
    tensor *t = take(s, there, e);
    size_t length = strlen(name);
    bool kernel = length > 7 && strcmp(name + length - 7, "/kernel") == 0;
    row_shape picture;
    if (t && torch && model_weight_of_flattened(m, i, &picture) &&
        t->shape[t->dims - 1] == shape_size(&picture) && t->dims == (kernel ? 2 : 1))
        return turn_flattened(t, &picture, e);
    if (!t || !torch || !kernel || (t->dims != 2 && t->dims != 4))
        return t;
    tensor *like = model_weight(m, i, e);
    if (like)
        t = turn(t, like, e);
    tensor_free(like);
    return t;
}

// The names of both sides, and how they match.
struct names {
    const char **here, **there;
    size_t m, n;
    naming_hit *hit; // [m]
};

static void names_done(struct names *x)
{
    for (size_t i = 0; i < x->m; i++)
        free((void *)x->here[i]);
    free(x->here), free(x->there), free(x->hit);
}

static struct names names_of(const struct source *s, const model *m)
{
    struct names x = {.m = model_weight_count(m)};
    x.here = mem_array(x.m + 1, sizeof *x.here);
    x.hit = mem_array(x.m + 1, sizeof *x.hit);
    for (size_t i = 0; i < x.m; i++) {
        AUTO_BUF name = {0};
        model_weight_name(m, i, &name);
        x.here[i] = mem_strndup(buf_cstr(&name), name.len);
    }
    while (name_at(s, x.n))
        x.n++;
    x.there = mem_array(x.n + 1, sizeof *x.there);
    for (size_t i = 0; i < x.n; i++)
        x.there[i] = name_at(s, i);
    naming_find(x.here, x.m, x.there, x.n, x.hit);
    return x;
}

// "a/kernel, a/bias and 7 more"
static void add_list(buf *out, const char *const *names, size_t n)
{
    enum { LISTED = 300 }; // bytes: an error has room for two such lists
    size_t i = 0;
    for (; i < n && out->len < LISTED; i++)
        buf_fmt(out, "%s%s", i ? ", " : "", names[i]);
    if (i < n)
        buf_fmt(out, " and %zu more", n - i);
}

static int not_found(const struct names *x, size_t i, err *e)
{
    AUTO_BUF there = {0}, here = {0}, torch = {0};
    const char *name = x->here[i];
    add_list(&there, x->there, x->n);
    add_list(&here, x->here, x->m);
    if (x->hit[i].other != SIZE_MAX)
        return err_set(e, ERR_INVALID,
            "\"%s\" may be \"%s\" or another of the file's tensors: %s; the model's weights are %s",
            name, x->there[x->hit[i].other], buf_cstr(&there), buf_cstr(&here));
    naming_torch(name, &torch);
    return err_set(e, ERR_INVALID,
        "the file has neither \"%s\" nor \"%s\" among its %zu tensors: %s; the model's weights are "
        "%s. A layer has one name on both sides: nn.Dense { 8, name = \"…\" }",
        name, buf_cstr(&torch), x->n, buf_cstr(&there), buf_cstr(&here));
}

// Finds the tensors of all weights; found[i] is NULL for one that is skipped.
static int find_all(const struct source *s, const model *m, const struct names *x, bool skip,
    tensor **found, buf *skipped, err *e)
{
    for (size_t i = 0; i < x->m; i++) {
        const char *there = x->hit[i].at == SIZE_MAX ? NULL : x->there[x->hit[i].at];
        found[i] = there ? take_weight(s, m, i, x->here[i], there, x->hit[i].torch, e) : NULL;
        if (found[i] && model_check_weight(m, i, found[i], e) == 0)
            continue;
        if (!skip)
            return there ? err_wrap(e, "tensor \"%s\"", there) : not_found(x, i, e);
        tensor_free(found[i]);
        found[i] = NULL;
        buf_fmt(skipped, "%s\n", x->here[i]);
    }
    return 0;
}

static int take_all(model *m, const struct source *s, bool skip, buf *skipped, err *e)
{
    struct names x = names_of(s, m);
    AUTO_FREE tensor **found = mem_array(x.m + 1, sizeof *found);
    int status = find_all(s, m, &x, skip, found, skipped, e);
    for (size_t i = 0; i < x.m; i++) {
        if (status == 0 && found[i])
            status = model_set_weight(m, i, found[i], e);
        tensor_free(found[i]);
    }
    names_done(&x);
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
