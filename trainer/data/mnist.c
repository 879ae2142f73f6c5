// SPDX-License-Identifier: MIT
#include "trainer/data/mnist.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "trainer/data/idx.h"

#include <ctype.h>
#include <string.h>

enum { CLASSES = 10, SIDE = 28, SUMS_MAX = 64 * 1024 };

static const char *const names[MNIST_FILES] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

// The path of the file, with or without .gz; NULL when it is missing.
static char *find(const char *folder, const char *name)
{
    static const char *const endings[] = {".gz", ""};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        AUTO_FREE char *path = str_fmt("%s/%s%s", folder, name, endings[i]);
        if (path_exists(path))
            return STEAL(path);
    }
    return NULL;
}

void mnist_find(const char *folder, mnist_file files[MNIST_FILES])
{
    for (int i = 0; i < MNIST_FILES; i++)
        files[i] = (mnist_file){.path = find(folder, names[i])};
}

void mnist_files_done(mnist_file files[MNIST_FILES])
{
    for (int i = 0; i < MNIST_FILES; i++)
        free(files[i].path);
}

bool mnist_is_folder(const char *folder)
{
    AUTO_FREE char *path = find(folder, names[0]);
    return path != NULL;
}

// Finds the file's sum in the text of a SHA256SUMS file (lines "<64 digits> <name>") and copies it
// into hex, in lower case; false when the file is not listed.
static bool listed_sum(const char *sums, const char *name, char hex[SHA256_HEX])
{
    for (const char *line = sums; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, "\n");
        if (n == 66 + strlen(name) && strncmp(line + 66, name, strlen(name)) == 0) {
            for (int i = 0; i < SHA256_HEX - 1; i++)
                hex[i] = (char)tolower((unsigned char)line[i]);
            hex[SHA256_HEX - 1] = '\0';
            return true;
        }
    }
    return false;
}

static tensor *load(
    const char *folder, const char *sums, mnist_file *file, const char *name, int dims, err *e)
{
    char hex[SHA256_HEX];
    if (!file->path) {
        err_set(e, ERR_NOT_FOUND, "%s: %s.gz is not there; MNIST is four files in one folder",
            folder, name);
        return NULL;
    }
    bool listed = listed_sum(sums, strrchr(file->path, '/') + 1, hex);
    bool known = listed && str_eq(hex, file->sum);
    tensor *t = idx_read(file->path, listed && !known ? hex : NULL, e);
    if (t && listed && !known)
        memcpy(file->sum, hex, sizeof hex);
    if (t && t->type == TENSOR_U8 && t->dims == dims)
        return t;
    if (t)
        err_set(e, ERR_CORRUPT, "%s: expected bytes in %d dimensions, not %s in %d", file->path,
            dims, tensor_type_name(t->type), t->dims);
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

// of: the names of images and labels.
static int check_pair(
    const char *folder, const char *const *of, const tensor *x, const tensor *y, err *e)
{
    if (x->shape[1] != SIDE || x->shape[2] != SIDE)
        return err_set(e, ERR_CORRUPT, "%s/%s: images are %zu×%zu, expected %d×%d", folder, of[0],
            x->shape[1], x->shape[2], SIDE, SIDE);
    if (x->shape[0] != y->shape[0])
        return err_set(e, ERR_CORRUPT, "%s: %s has %zu images, but %s has %zu labels", folder,
            of[0], x->shape[0], of[1], y->shape[0]);
    return check_labels(folder, of[1], y, e);
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

// first: the images' place among the files; the labels are behind them.
static int load_set(const char *folder, const char *sums, mnist_file *files, int first, int rank,
    int size, tensor **x, tensor **y, err *e)
{
    *y = load(folder, sums, &files[first + 1], names[first + 1], 1, e);
    *x = *y ? load(folder, sums, &files[first], names[first], 3, e) : NULL;
    if (!*x || check_pair(folder, names + first, *x, *y, e) < 0)
        return -1;
    if (shard(x, 1 / 255.0f, rank, size, e) < 0)
        return -1;
    return shard(y, 1, rank, size, e);
}

int mnist_load(mnist *m, const char *folder, mnist_file *files, int rank, int size, err *e)
{
    mnist_file own[MNIST_FILES] = {0};
    AUTO_BUF sums = {0};
    AUTO_FREE char *path = path_join(folder, "SHA256SUMS");
    *m = (mnist){0};
    if (path_exists(path) && path_read(path, &sums, SUMS_MAX, e) < 0)
        return -1;
    if (!files)
        mnist_find(folder, files = own);
    const char *text = buf_cstr(&sums);
    int result = load_set(folder, text, files, 0, rank, size, &m->train_x, &m->train_y, e);
    if (result == 0)
        result = load_set(folder, text, files, 2, rank, size, &m->test_x, &m->test_y, e);
    mnist_files_done(own);
    if (result < 0)
        mnist_done(m);
    return result;
}

void mnist_done(mnist *m)
{
    tensor_free(m->train_x);
    tensor_free(m->train_y);
    tensor_free(m->test_x);
    tensor_free(m->test_y);
    *m = (mnist){0};
}
