// SPDX-License-Identifier: MIT
#include "trainer/data/npz.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "trainer/data/mapped.h"
#include "trainer/data/npy.h"
#include "trainer/data/zip.h"

#include <string.h>

enum {
    HEAD_MOST = 64 << 10, // more than any header of numbers has
    LARGE = 1 << 20,
};

void npz_add(npz *z, const char *name, size_t n, tensor *t)
{
    z->item = mem_resize(z->item, z->n + 1, sizeof *z->item);
    z->item[z->n++] = (struct npz_item){mem_strndup(name, n), t};
}

void npz_done(npz *z)
{
    for (size_t i = 0; i < z->n; i++) {
        free(z->item[i].name);
        tensor_free(z->item[i].t);
    }
    free(z->item);
    *z = (npz){0};
}

// Is the array as large as its own header says? Checked before memory is allocated: a few
// compressed MiB may expand to GiB.
static bool is_as_it_says(const zip_member *m, err *e)
{
    AUTO_FREE uint8_t *head = mem_alloc(HEAD_MOST);
    size_t got = zip_first(m, head, HEAD_MOST);
    return npy_check(head, got, m->size, e) == 0;
}

static int not_read(const zip_member *m, size_t n, err *e)
{
    AUTO_FREE char *name = mem_strndup(m->name, n);
    return err_wrap(e, "array '%s'", str_short(name, 100).text);
}

static int read_member(const zip_member *m, npz *out, err *e)
{
    static const char ending[] = ".npy";
    size_t n = m->name_n, cut = sizeof ending - 1;
    if (n >= cut && memcmp(m->name + n - cut, ending, cut) == 0)
        n -= cut;
    uint8_t *bytes = m->size <= LARGE || is_as_it_says(m, e) ? zip_unpack(m, e) : NULL;
    tensor *t = bytes ? npy_take(bytes, m->size, e) : NULL;
    if (!t)
        return not_read(m, n, e);
    npz_add(out, m->name, n, t);
    return 0;
}

int npz_parse(const void *bytes, size_t n, npz *out, err *e)
{
    zip z;
    zip_member m;
    int more = zip_open(&z, bytes, n, e) < 0 ? -1 : 1;
    *out = (npz){0};
    while (more > 0 && (more = zip_next(&z, &m, e)) > 0)
        if (read_member(&m, out, e) < 0)
            return -1;
    return more;
}

int npz_read(const char *path, npz *out, err *e)
{
    AUTO_MAPPED file = {0};
    *out = (npz){0};
    if (mapped_open(&file, path, e) < 0)
        return -1;
    return npz_parse(file.bytes, file.n, out, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

int npz_write(const char *path, const npz *arrays, bool compress, err *e)
{
    AUTO_BUF out = {0};
    zip_writer w = {.out = &out, .deflate = compress};
    for (size_t i = 0; i < arrays->n; i++) {
        AUTO_BUF name = {0}, bytes = {0};
        buf_fmt(&name, "%s.npy", arrays->item[i].name);
        npy_format(arrays->item[i].t, &bytes);
        if (zip_add(&w, buf_cstr(&name), bytes.data, bytes.len, e) < 0) {
            buf_done(&w.directory);
            return -1;
        }
    }
    zip_finish(&w);
    return path_update(path, out.data, out.len, 0644, e);
}
