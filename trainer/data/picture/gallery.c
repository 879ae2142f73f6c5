// SPDX-License-Identifier: MIT
#include "trainer/data/picture/gallery.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "trainer/cpu/pool.h"
#include "trainer/data/order.h"
#include "trainer/data/picture/resize.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { FILE_MAX = 1 << 29 };

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The names in a folder, sorted, without hidden ones.
static char **names_in(const char *folder, size_t *n, err *e)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        err_errno(e, errno, "cannot read the folder %s", folder);
        return NULL;
    }
    char **names = mem_alloc(sizeof *names);
    *n = 0;
    for (struct dirent *d; (d = readdir(dir));) {
        if (d->d_name[0] == '.')
            continue;
        names = mem_resize(names, *n + 2, sizeof *names);
        names[(*n)++] = mem_strdup(d->d_name);
        names[*n] = NULL;
    }
    closedir(dir);
    qsort(names, *n, sizeof *names, by_name);
    return names;
}

static bool has_ending(const char *name, const char *const *endings)
{
    const char *dot = strrchr(name, '.');
    for (; dot && *endings; endings++)
        if (strcasecmp(dot, *endings) == 0)
            return true;
    return false;
}

static bool is_own_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// A file of a class's folder.
static int add_picture(gallery *g, const char *root, const char *path, err *e)
{
    static const char *const known[] = {".jpg", ".jpeg", ".png", NULL}, *const other[] = {".gif",
                                                                            ".bmp", ".webp", ".tif",
                                                                            ".tiff", NULL};
    if (has_ending(path, known)) {
        g->item = mem_resize(g->item, g->n + 1, sizeof *g->item);
        g->item[g->n++] = (struct gallery_item){mem_strdup(path), g->class_n};
    } else if (has_ending(path, other)) {
        return err_set(e, ERR_INVALID,
            "%s/%s is a picture of a kind that is not read: turn it into PNG or JPEG", root, path);
    }
    return 0;
}

// The pictures of one folder; adds the folders in it to the list. Does not follow links to folders:
// they may lead out of the folder, or in a circle.
static int add_folder(gallery *g, const char *root, const char *folder, char ***folders, err *e)
{
    AUTO_FREE char *path = path_join(root, folder);
    size_t n = 0;
    char **names = names_in(path, &n, e);
    int status = names ? 0 : -1;
    for (size_t i = 0; i < n && status == 0; i++) {
        AUTO_FREE char *below = path_join(folder, names[i]), *full = path_join(root, below);
        if (!path_is_dir(full))
            status = add_picture(g, root, below, e);
        else if (is_own_folder(full))
            *folders = strv_add(*folders, below);
    }
    strv_free(names);
    return status;
}

// By folder, then by name.
static int by_place(const void *a, const void *b)
{
    const char *x = ((const struct gallery_item *)a)->path,
               *y = ((const struct gallery_item *)b)->path;
    size_t n = (size_t)(strrchr(x, '/') - x), m = (size_t)(strrchr(y, '/') - y);
    int order = memcmp(x, y, n < m ? n : m);
    return order ? order : n != m ? (n < m ? -1 : 1) : strcmp(x + n, y + m);
}

static int add_class(gallery *g, const char *root, const char *name, err *e)
{
    char **folders = strv_add(NULL, name);
    size_t first = g->n;
    int status = 0;
    for (size_t i = 0; status == 0 && folders[i]; i++)
        status = add_folder(g, root, folders[i], &folders, e);
    strv_free(folders);
    if (g->n > first)
        qsort(g->item + first, g->n - first, sizeof *g->item, by_place);
    g->classes = strv_add(g->classes, name);
    g->class_n++;
    return status;
}

int gallery_open(gallery *g, const char *folder, err *e)
{
    size_t n = 0;
    *g = (gallery){0};
    char **names = names_in(folder, &n, e);
    int status = names ? 0 : -1;
    for (size_t i = 0; i < n && status == 0; i++) {
        AUTO_FREE char *path = path_join(folder, names[i]);
        if (path_is_dir(path))
            status = add_class(g, folder, names[i], e);
    }
    strv_free(names);
    if (status == 0 && !g->class_n)
        return err_set(e, ERR_USAGE, "%s has no folders: there must be one for each class", folder);
    if (status == 0 && !g->n)
        return err_set(e, ERR_USAGE, "the folders in %s hold no .jpg, .jpeg or .png", folder);
    return status;
}

void gallery_done(gallery *g)
{
    strv_free(g->classes);
    for (size_t i = 0; i < g->n; i++)
        free(g->item[i].path);
    free(g->item);
    *g = (gallery){0};
}

void gallery_shuffle(gallery *g, uint64_t seed)
{
    AUTO_FREE uint32_t *order = mem_array(g->n, sizeof *order);
    struct gallery_item *old = g->item;
    order_shuffle(order, g->n, seed, 0);
    g->item = mem_array(g->n, sizeof *g->item);
    for (size_t i = 0; i < g->n; i++)
        g->item[i] = old[order[i]];
    free(old);
}

void gallery_split(gallery *g, double share, gallery *last)
{
    size_t n = (size_t)((double)g->n * share);
    *last = (gallery){.class_n = g->class_n, .n = n, .item = mem_array(n + 1, sizeof *last->item)};
    g->n -= n;
    for (size_t i = 0; i < n; i++)
        last->item[i] = g->item[g->n + i];
}

struct loading {
    const gallery *g;
    const char *folder;
    const gallery_spec *spec;
    size_t first, step, n;
    const uint32_t *rows; // NULL: all
    void *out;
    bool floats; // else bytes
    atomic_size_t next;
    atomic_bool failed;
    err *errors; // one for each thread
    size_t *at;  // for each thread, the picture at which it failed
};

static int decode(const struct loading *l, size_t i, float *room, err *e)
{
    size_t row = l->rows ? l->rows[i] : i;
    const struct gallery_item *item = &l->g->item[l->first + row * l->step];
    const gallery_spec *s = l->spec;
    AUTO_FREE char *path = path_join(l->folder, item->path);
    AUTO_BUF bytes = {0};
    picture p;
    if (path_read(path, &bytes, FILE_MAX, e) < 0)
        return -1;
    if (picture_decode(buf_cstr(&bytes), bytes.len, s->channels, &p, e) < 0)
        return err_wrap(e, "%s", path);
    size_t n = s->height * s->width * s->channels;
    float *to = l->floats ? (float *)l->out + i * n : room;
    picture_resize(&p, s->height, s->width, to);
    picture_done(&p);
    for (size_t k = 0; s->type == TENSOR_U8 && k < n; k++)
        if (l->floats)
            to[k] = rintf(to[k]);
        else
            ((uint8_t *)l->out)[i * n + k] = (uint8_t)lrintf(room[k]);
    return 0;
}

static void work(void *ctx, int thread)
{
    struct loading *l = ctx;
    const gallery_spec *s = l->spec;
    AUTO_FREE float *room = mem_array(s->height * s->width * s->channels, sizeof *room);
    while (!atomic_load(&l->failed)) {
        size_t i = atomic_fetch_add(&l->next, 1);
        if (i >= l->n)
            return;
        if (s->stop && atomic_load(s->stop))
            err_set(&l->errors[thread], ERR_CANCELLED, "interrupted");
        else if (decode(l, i, room, &l->errors[thread]) == 0)
            continue;
        l->at[thread] = i;
        atomic_store(&l->failed, true);
    }
}

static size_t count_of(const gallery *g, int rank, int size)
{
    size_t step = size > 1 ? (size_t)size : 1, first = size > 1 ? (size_t)rank : 0;
    return g->n > first ? (g->n - first + step - 1) / step : 0;
}

// Decodes on all threads of the pool; if several pictures are damaged, reports the first.
static int decode_all(struct loading *l, pool *threads, err *e)
{
    size_t workers = (size_t)pool_threads(threads), first = 0;
    l->first = l->spec->size > 1 ? (size_t)l->spec->rank : 0;
    l->step = l->spec->size > 1 ? (size_t)l->spec->size : 1;
    l->errors = mem_array(workers, sizeof *l->errors);
    l->at = mem_array(workers, sizeof *l->at);
    for (size_t i = 0; i < workers; i++)
        l->at[i] = SIZE_MAX;
    pool_run(threads, false, work, l);
    for (size_t i = 1; i < workers; i++)
        first = l->at[i] < l->at[first] ? i : first;
    bool failed = atomic_load(&l->failed);
    if (failed)
        err_give(e, &l->errors[first]);
    free(l->errors);
    free(l->at);
    return failed ? -1 : 0;
}

tensor *gallery_load(const gallery *g, const char *folder, const gallery_spec *s, err *e)
{
    size_t n = count_of(g, s->rank, s->size);
    tensor *out = tensor_new(s->type, 4, (size_t[]){n, s->height, s->width, s->channels}, e);
    if (!out)
        return NULL;
    pool *threads = pool_new(s->threads > 0 ? s->threads : pool_cores());
    struct loading l = {.g = g, .folder = folder, .spec = s, .n = n, .out = out->data};
    l.floats = s->type == TENSOR_F32;
    int status = decode_all(&l, threads, e);
    pool_free(threads);
    if (status == 0)
        return out;
    tensor_free(out);
    return NULL;
}

struct gallery_rows {
    gallery g;
    char *folder;
    gallery_spec spec;
    pthread_mutex_t lock; // for `threads`, which does one thing at a time
    pool *threads;        // made with the first rows
    struct tensor_later later;
    tensor *stands; // for the pictures
};

static int fill(void *ctx, const uint32_t *rows, size_t n, float *out, err *e)
{
    gallery_rows *r = ctx;
    struct loading l = {.g = &r->g, .folder = r->folder, .spec = &r->spec, .n = n, .rows = rows};
    l.out = out;
    l.floats = true;
    pthread_mutex_lock(&r->lock);
    if (!r->threads)
        r->threads = pool_new(r->spec.threads > 0 ? r->spec.threads : pool_cores());
    int status = decode_all(&l, r->threads, e);
    pthread_mutex_unlock(&r->lock);
    return status;
}

gallery_rows *gallery_later(const gallery *g, const char *folder, const gallery_spec *s, err *e)
{
    gallery_rows *r = mem_alloc(sizeof *r);
    *r = (gallery_rows){.g.n = g->n, .folder = mem_strdup(folder), .spec = *s};
    r->g.item = mem_array(g->n + 1, sizeof *r->g.item);
    for (size_t i = 0; i < g->n; i++)
        r->g.item[i] = (struct gallery_item){mem_strdup(g->item[i].path), g->item[i].class};
    pthread_mutex_init(&r->lock, NULL);
    r->later = (struct tensor_later){r, fill};
    size_t shape[] = {count_of(&r->g, s->rank, s->size), s->height, s->width, s->channels};
    r->stands = tensor_of_later(4, shape, &r->later, e);
    if (r->stands)
        return r;
    gallery_rows_free(r);
    return NULL;
}

const tensor *gallery_rows_tensor(const gallery_rows *r)
{
    return r->stands;
}

void gallery_rows_free(gallery_rows *r)
{
    if (!r)
        return;
    tensor_free(r->stands);
    pool_free(r->threads);
    pthread_mutex_destroy(&r->lock);
    gallery_done(&r->g);
    free(r->folder);
    free(r);
}

tensor *gallery_labels(const gallery *g, int rank, int size, err *e)
{
    size_t n = count_of(g, rank, size), step = size > 1 ? (size_t)size : 1;
    tensor *y = tensor_new(TENSOR_I64, 1, &n, e);
    for (size_t i = 0; y && i < n; i++)
        ((int64_t *)y->data)[i] = (int64_t)g->item[(size > 1 ? (size_t)rank : 0) + i * step].class;
    return y;
}
