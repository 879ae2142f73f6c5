// SPDX-License-Identifier: MIT
#include "trainer/data/mnist.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
#include "trainer/data/idx.h"

#include <string.h>

enum { CLASSES = 10, SIDE = 28, SUMS_MAX = 64 * 1024 };

static const char *const images_of[2] = {"train-images-idx3-ubyte", "t10k-images-idx3-ubyte"};
static const char *const labels_of[2] = {"train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"};

// The name that the file has in the folder, with or without .gz; NULL when it is missing.
static char *find(const char *folder, const char *name)
{
    static const char *const endings[] = {".gz", ""};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        AUTO_BUF file = {0};
        buf_fmt(&file, "%s%s", name, endings[i]);
        AUTO_FREE char *path = path_join(folder, buf_cstr(&file));
        if (path_exists(path))
            return buf_take(&file);
    }
    return NULL;
}

bool mnist_is_folder(const char *folder)
{
    AUTO_FREE char *name = find(folder, images_of[0]);
    return name != NULL;
}

// Finds the file's sum in the text of a SHA256SUMS file (lines "<64 digits> <name>") and copies it
// into hex; false when the file is not listed.
static bool listed_sum(const char *sums, const char *name, char hex[65])
{
    for (const char *line = sums; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, "\n");
        if (n == 66 + strlen(name) && strncmp(line + 66, name, strlen(name)) == 0) {
            memcpy(hex, line, 64);
            hex[64] = 0;
            return true;
        }
    }
    return false;
}

static tensor *load(const char *folder, const char *sums, const char *name, int dims, err *e)
{
    AUTO_FREE char *file = find(folder, name);
    if (!file) {
        err_set(e, ERR_NOT_FOUND, "%s: %s.gz is not there; MNIST is four files in one folder",
            folder, name);
        return NULL;
    }
    AUTO_FREE char *path = path_join(folder, file);
    char hex[65];
    tensor *t = idx_read(path, listed_sum(sums, file, hex) ? hex : NULL, e);
    if (t && t->type == TENSOR_U8 && t->dims == dims)
        return t;
    if (t)
        err_set(e, ERR_CORRUPT, "%s: expected bytes in %d dimensions, not %s in %d", path, dims,
            tensor_type_name(t->type), t->dims);
    tensor_free(t);
    return NULL;
}

static int check_labels(const char *folder, const char *name, const tensor *labels, err *e)
{
    const uint8_t *label = labels->data;
    for (size_t i = 0; i < labels->shape[0]; i++)
        if (label[i] >= CLASSES)
            return err_set(e, ERR_CORRUPT, "%s/%s: label %d at index %zu is out of range (0 to %d)",
                folder, name, label[i], i, CLASSES - 1);
    return 0;
}

static int check_pair(const char *folder, int set, const tensor *x, const tensor *y, err *e)
{
    if (x->shape[1] != SIDE || x->shape[2] != SIDE)
        return err_set(e, ERR_CORRUPT, "%s/%s: images are %zu×%zu, expected %d×%d", folder,
            images_of[set], x->shape[1], x->shape[2], SIDE, SIDE);
    if (x->shape[0] != y->shape[0])
        return err_set(e, ERR_CORRUPT, "%s: %s has %zu images, but %s has %zu labels", folder,
            images_of[set], x->shape[0], labels_of[set], y->shape[0]);
    return check_labels(folder, labels_of[set], y, e);
}

// Replaces a tensor by this rank's part of it.
static int shard(tensor **t, float scale, int rank, int size, err *e)
{
    tensor *part = tensor_shard(*t, rank, size, e);
    tensor *scaled = part ? tensor_scaled(part, scale, e) : NULL;
    tensor_free(part);
    if (!scaled)
        return -1;
    tensor_free(*t);
    *t = scaled;
    return 0;
}

static int load_set(const char *folder, const char *sums, int set, int rank, int size, tensor **x,
    tensor **y, err *e)
{
    *y = load(folder, sums, labels_of[set], 1, e);
    *x = *y ? load(folder, sums, images_of[set], 3, e) : NULL;
    if (!*x || check_pair(folder, set, *x, *y, e) < 0)
        return -1;
    if (shard(x, 1 / 255.0f, rank, size, e) < 0)
        return -1;
    return shard(y, 1, rank, size, e);
}

int mnist_load(mnist *m, const char *folder, int rank, int size, err *e)
{
    *m = (mnist){0};
    AUTO_BUF sums = {0};
    AUTO_FREE char *path = path_join(folder, "SHA256SUMS");
    if (path_exists(path) && path_read(path, &sums, SUMS_MAX, e) < 0)
        return -1;
    if (load_set(folder, buf_cstr(&sums), 0, rank, size, &m->train_x, &m->train_y, e) == 0 &&
        load_set(folder, buf_cstr(&sums), 1, rank, size, &m->test_x, &m->test_y, e) == 0)
        return 0;
    mnist_done(m);
    return -1;
}

void mnist_done(mnist *m)
{
    tensor_free(m->train_x);
    tensor_free(m->train_y);
    tensor_free(m->test_x);
    tensor_free(m->test_y);
    *m = (mnist){0};
}
