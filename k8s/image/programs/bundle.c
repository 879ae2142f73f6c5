// SPDX-License-Identifier: MIT
#include "k8s/image/programs/bundle.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/layer.h"
#include "k8s/image/programs/closure.h"
#include "k8s/image/programs/license.h"
#include "k8s/image/programs/relocate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARIES "lib"
#define LICENSES  "share/doc/firesteel/licenses"

enum { PROGRAM_LIMIT = 256 << 20 };

static const char *const suffixes[] = {
#define X(name, suffix) [BUNDLE_##name] = suffix,
    BUNDLE_PARTS(X)
#undef X
};

struct part {
    layer *layer;
    struct closure needs;
    size_t files;
};
struct packing {
    const struct bundle_spec *spec;
    struct part parts[BUNDLE_PARTS_N];
    char **unknown;
};

static char *place(const struct packing *p, const char *to)
{
    return str_fmt("%s/%s", p->spec->name, to);
}

// From the folder of `to` to the one of libraries: "../lib".
static char *way_to_libraries(const char *to)
{
    buf way = {0};
    for (; (to = strchr(to, '/')); to++)
        buf_str(&way, "../");
    buf_str(&way, LIBRARIES);
    return buf_take(&way);
}

// loader: the name of its file; NULL: it is a library.
static int add_changed(
    struct packing *p, struct part *part, const struct bundle_file *f, const char *loader, err *e)
{
    AUTO_BUF bytes = {0};
    AUTO_FREE char *to = place(p, f->to), *way = way_to_libraries(f->to),
                   *interpreter = loader ? str_fmt("%s/%s", way, loader) : NULL,
                   *folders = str_fmt("$ORIGIN/%s", way);
    if (path_read(f->from, &bytes, PROGRAM_LIMIT, e))
        return -1;
    if (relocate(&bytes, interpreter, folders, e))
        return err_wrap(e, "%s", f->from);
    layer_bytes(part->layer, to, bytes.data, bytes.len, loader ? 0755 : 0644);
    return 0;
}

static int add_program(struct packing *p, struct part *part, const struct bundle_file *f, err *e)
{
    if (closure_add(&part->needs, f->from, e))
        return -1;
    if (!part->needs.interpreter)
        return err_set(e, ERR_INVALID, "%s is linked statically, and not to be packed", f->from);
    AUTO_FREE char *loader = path_basename(part->needs.interpreter);
    return add_changed(p, part, f, loader, e);
}

static int add_plugin(struct packing *p, struct part *part, const struct bundle_file *f, err *e)
{
    return closure_add(&part->needs, f->from, e) ? -1 : add_changed(p, part, f, NULL, e);
}

static int add_tree(struct packing *p, struct part *part, const struct bundle_file *f, err *e)
{
    AUTO_FREE char *to = place(p, f->to);
    if (!path_is_dir(f->from))
        return layer_file(part->layer, to, f->from, e);
    AUTO_FD folder = open(f->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return err_errno(e, errno, "cannot read %s", f->from);
    return layer_reads(part->layer, folder, f->from, e) ||
                   layer_tree(part->layer, to, "", f->from, NULL, e)
               ? -1
               : 0;
}

static int add_foreign(struct packing *p, struct part *part, const struct bundle_file *f, err *e)
{
    return closure_add(&part->needs, f->from, e) ? -1 : add_tree(p, part, f, e);
}

static int add_file(struct packing *p, const struct bundle_file *f, err *e)
{
    static int (*const ways[])(
        struct packing *, struct part *, const struct bundle_file *, err *) = {
        [BUNDLE_PROGRAM] = add_program,
        [BUNDLE_PLUGIN] = add_plugin,
        [BUNDLE_FOREIGN] = add_foreign,
        [BUNDLE_TREE] = add_tree,
    };
    struct part *part = &p->parts[f->part];
    part->files++;
    return ways[f->kind](p, part, f, e);
}

static bool has_library(const struct closure *c, const char *soname)
{
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->libraries[i].soname, soname))
            return true;
    return false;
}

// The licence of what is at `file`: its package's, which several libraries may have.
static void add_license(struct packing *p, struct part *part, const char *file, const char *package)
{
    AUTO_BUF text = {0};
    if (!package || license_text(package, &text)) {
        p->unknown = strv_add(p->unknown, file);
        return;
    }
    AUTO_FREE char *name = str_fmt(LICENSES "/%s", package), *to = place(p, name);
    layer_bytes(part->layer, to, text.data, text.len, 0644);
}

static void add_licenses(struct packing *p, struct part *part, char *const *files)
{
    size_t n = strv_len(files);
    char **packages = mem_array(n + 1, sizeof *packages);
    license_packages((const char *const *)files, n, packages);
    for (size_t i = 0; i < n; i++) {
        add_license(p, part, files[i], packages[i]);
        free(packages[i]);
    }
    free(packages);
}

// Those that the main part has are left out of the others.
static int add_libraries(struct packing *p, struct part *part, err *e)
{
    const struct closure *first = &p->parts[BUNDLE_MAIN].needs, *c = &part->needs;
    char **files = strv_dup((const char *const[]){NULL});
    int status = 0;
    for (size_t i = 0; i < c->n && status == 0; i++) {
        const struct closure_library *library = &c->libraries[i];
        if (c != first && has_library(first, library->soname))
            continue;
        AUTO_FREE char *name = str_fmt(LIBRARIES "/%s", library->soname), *to = place(p, name);
        status = layer_file(part->layer, to, library->path, e);
        files = strv_add(files, library->path);
    }
    for (size_t i = 0; i < p->spec->n; i++)
        if (&p->parts[p->spec->files[i].part] == part && p->spec->files[i].kind == BUNDLE_FOREIGN)
            files = strv_add(files, p->spec->files[i].from);
    if (status == 0)
        add_licenses(p, part, files);
    strv_free(files);
    return status;
}

// The file appears whole, or not at all.
static int save(const struct packing *p, struct part *part, const char *path, err *e)
{
    AUTO_FREE char *partial = str_fmt("%s.partial", path);
    AUTO_FD fd = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_errno(e, errno, "cannot write %s", partial);
    int status = layer_save(part->layer, fd, p->spec->time, p->spec->level, e);
    if (status == 0 && (fsync(fd) || rename(partial, path)))
        status = err_errno(e, errno, "cannot write %s", path);
    if (status)
        unlink(partial);
    return status;
}

static int write_part(struct packing *p, enum bundle_part i, const char *folder, buf *sums, err *e)
{
    struct part *part = &p->parts[i];
    AUTO_FREE char *name = str_fmt("%s%s.tar.zst", p->spec->name, suffixes[i]);
    AUTO_FREE char *path = path_join(folder, name);
    char hex[SHA256_HEX];
    if (!part->files)
        return 0;
    layer_watched(part->layer, p->spec->watch);
    if (add_libraries(p, part, e) || save(p, part, path, e) || sha256_file(path, hex, e))
        return -1;
    buf_fmt(sums, "%s  %s\n", hex, name);
    work_part(work_of(p->spec->watch), false);
    return 0;
}

static int write_all(struct packing *p, const char *folder, err *e)
{
    AUTO_BUF sums = {0};
    for (size_t i = 0; i < p->spec->n; i++)
        if (add_file(p, &p->spec->files[i], e))
            return -1;
    int64_t parts = 0;
    for (size_t i = 0; i < BUNDLE_PARTS_N; i++)
        parts += p->parts[i].files > 0;
    work_parts(work_of(p->spec->watch), parts);
    for (size_t i = 0; i < BUNDLE_PARTS_N; i++)
        if (write_part(p, (enum bundle_part)i, folder, &sums, e))
            return -1;
    AUTO_FREE char *path = path_join(folder, "SHA256SUMS");
    return path_write(path, sums.data, sums.len, 0644, e);
}

int bundle_write(const struct bundle_spec *spec, const char *folder, char ***unknown, err *e)
{
    struct packing p = {.spec = spec, .unknown = strv_dup((const char *const[]){NULL})};
    for (size_t i = 0; i < BUNDLE_PARTS_N; i++)
        p.parts[i].layer = layer_new();
    int status = path_make_dirs(folder, 0755, e) ? -1 : write_all(&p, folder, e);
    for (size_t i = 0; i < BUNDLE_PARTS_N; i++) {
        layer_free(p.parts[i].layer);
        closure_done(&p.parts[i].needs);
    }
    *unknown = p.unknown;
    return status;
}
