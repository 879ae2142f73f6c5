// SPDX-License-Identifier: MIT
// COPY and ADD of a Dockerfile: what they read, and the layer that they make of it.
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "k8s/image/archive_late.h"
#include "k8s/image/building.h"
#include "k8s/image/ignore.h"
#include "k8s/image/index.h"
#include "k8s/image/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *building_flag(const struct dockerfile_step *s, const char *name)
{
    size_t n = strlen(name);
    for (char **f = s->flags; *f; f++)
        if (strncmp(*f, name, n) == 0 && (*f)[n] == '=')
            return *f + n + 1;
    return NULL;
}

// Where COPY reads, and what stays out.
struct source {
    const char *root;
    const char *const *ignore;
    const struct layer_told *told; // hears of the files that are read; NULL: nobody does
};

struct copying {
    struct building *building;
    struct source from;
    layer *layer;
    char *to;    // in the image, absolute
    bool into;   // it is a folder
    bool unpack; // ADD: archives are unpacked
    size_t found;
};

static int unpack_stage(struct building *b, const oci_descriptor *manifest, char **root, err *e)
{
    if (!*root)
        *root = image_unpack(b->store, &manifest->digest, b->options->temp, NULL, e);
    return *root ? 0 : -1;
}

static int find_source(struct building *b, struct source *from, char **owned, err *e)
{
    const char *name = building_flag(b->step, "--from");
    *owned = NULL;
    *from = (struct source){b->options->context, (const char *const *)b->ignore, b->options->added};
    if (!name)
        return 0;
    struct stage *s = building_find(b, name, b->n - 1);
    if (s) {
        *from = (struct source){0};
        if (unpack_stage(b, &s->manifest, &s->root, e))
            return -1;
        from->root = s->root;
        return 0;
    }
    oci_descriptor image;
    if ((b->options->need && b->options->need(b->options->arg, name, e)) ||
        image_store_find(b->store, name, &image, e) || unpack_stage(b, &image, owned, e))
        return -1;
    *from = (struct source){.root = *owned};
    return 0;
}

// Is this place a folder in the stage so far?
static int is_folder(struct building *b, const char *place, bool *is, err *e)
{
    struct stage *s = building_stage(b);
    *is = false;
    for (char **k = s->known; *k && !*is; k++)
        *is = str_eq(*k, place);
    if (*is || !s->has_base)
        return 0;
    struct image_built now = {0};
    AUTO_FREE char *root = NULL;
    if (draft_store(&s->draft, b->store, &now, e))
        return -1;
    int status = unpack_stage(b, &now.manifest, &root, e);
    image_built_done(&now);
    AUTO_FREE char *path = root ? path_join(root, place + 1) : NULL;
    *is = path && path_is_dir(path);
    return status;
}

// The kinds of archives that can be unpacked here. *what: a name for the error of others.
static bool is_archive(const char *path, const char **what)
{
    struct archive *a = archive_read_new();
    struct archive_entry *head;
    archive_read_support_format_tar(a);
    archive_read_support_filter_all(a);
    bool tar = archive_read_open_filename(a, path, 64 << 10) == ARCHIVE_OK &&
               archive_read_next_header(a, &head) == ARCHIVE_OK;
    int filter = archive_filter_code(a, 0);
    if (tar && filter != ARCHIVE_FILTER_NONE && filter != ARCHIVE_FILTER_GZIP &&
        filter != ARCHIVE_FILTER_ZSTD)
        *what = archive_filter_name(a, 0);
    archive_read_free(a);
    return tar;
}

// What is read is the archive, not what it is unpacked to.
static int tell_archive(struct copying *c, const char *path, err *e)
{
    char hex[SHA256_HEX];
    int64_t size;
    if (!c->from.told)
        return 0;
    if (sha256_read(path, c->from.told->go_on, c->from.told->arg, &size, hex, e))
        return -1;
    c->from.told->fn(c->from.told->arg, path, size, hex);
    return 0;
}

static int unpack_archive(struct copying *c, const char *path, const char *what, err *e)
{
    struct image_limits limits = {.bytes = (int64_t)32 << 30, .files = 1000000};
    if (what)
        return err_set(e, ERR_INVALID, "%s: archives of %s are not unpacked here", path, what);
    AUTO_FREE char *root = path_make_temp(c->building->options->temp, "add-", e);
    AUTO_FD fd = root ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || tell_archive(c, path, e) || image_unpack_layer(fd, root, &limits, e))
        return err_wrap(e, "%s", path);
    layer_tells(c->layer, NULL);
    int status = layer_tree(c->layer, c->to + 1, root, e);
    layer_tells(c->layer, c->from.told);
    return status;
}

static int copy_one(struct copying *c, const char *path, err *e)
{
    const char *name = path + strlen(c->from.root);
    name += strspn(name, "/");
    struct stat st;
    const char *what = NULL;
    if (lstat(path, &st))
        return 0; // it went away
    if (!S_ISDIR(st.st_mode) && ignore_matches(c->from.ignore, name))
        return 0;
    c->found++;
    if (c->unpack && archive_late(e) != 0)
        return -1;
    if (c->unpack && S_ISREG(st.st_mode) && is_archive(path, &what))
        return unpack_archive(c, path, what, e);
    AUTO_FREE char *last = path_basename(path);
    AUTO_FREE char *place =
        S_ISDIR(st.st_mode) || !c->into ? mem_strdup(c->to) : path_join(c->to, last);
    if (S_ISDIR(st.st_mode))
        building_know(building_stage(c->building), c->to);
    return layer_tree_without(c->layer, place + 1, path, name, c->from.ignore, e);
}

static void escape(buf *out, const char *text)
{
    for (; *text; text++)
        buf_fmt(out, "%s%c", strchr("*?[\\", *text) ? "\\" : "", *text);
}

// The files that a name or a pattern means below the source's root.
static int copy_each(struct copying *c, const char *pattern, err *e)
{
    glob_t found = {0};
    AUTO_BUF text = {0};
    pattern += strspn(pattern, "/");
    while (str_starts(pattern, "./"))
        pattern += 2;
    if (strstr(pattern, "../") || str_eq(pattern, ".."))
        return err_set(e, ERR_INVALID, "“%s” leads out of the folder by “..”", pattern);
    escape(&text, c->from.root);
    buf_fmt(&text, "/%s", str_eq(pattern, ".") ? "" : pattern);
    size_t before = c->found;
    int status = 0;
    if (glob(buf_cstr(&text), 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && status == 0; i++)
            status = copy_one(c, found.gl_pathv[i], e);
    globfree(&found);
    if (status == 0 && c->found == before)
        status = err_set(e, ERR_NOT_FOUND, "there is no %s in %s", pattern,
            building_flag(c->building->step, "--from") ? building_flag(c->building->step, "--from")
                                                       : c->from.root);
    return status;
}

static int set_looks(struct building *b, layer *l, err *e)
{
    const char *owner = building_flag(b->step, "--chown"),
               *mode = building_flag(b->step, "--chmod");
    unsigned uid = 0, gid = 0, bits = 0;
    int end = 0;
    if (owner && sscanf(owner, "%u%n", &uid, &end) == 1 && !owner[end])
        gid = uid;
    else if (owner && (sscanf(owner, "%u:%u%n", &uid, &gid, &end) != 2 || owner[end]))
        return err_set(
            e, ERR_INVALID, "--chown=%s: names are not looked up here: use numbers", owner);
    if (mode && (sscanf(mode, "%o%n", &bits, &end) != 1 || mode[end] || bits > 07777))
        return err_set(e, ERR_INVALID, "--chmod=%s: it takes octal digits", mode);
    layer_looks(l, uid, gid, bits);
    return 0;
}

static int check_flags(const struct dockerfile_step *s, err *e)
{
    for (char **f = s->flags; *f; f++)
        if (!str_starts(*f, "--from=") && !str_starts(*f, "--chown=") &&
            !str_starts(*f, "--chmod=") && !str_starts(*f, "--link"))
            return err_set(e, ERR_INVALID, "the option %s is not known here", *f);
    return 0;
}

static int fill(struct copying *c, char *const *words, size_t n, err *e)
{
    if (set_looks(c->building, c->layer, e))
        return -1;
    for (size_t i = 0; i + 1 < n; i++) {
        if (c->unpack && (strstr(words[i], "://") || str_starts(words[i], "git@")))
            return err_set(e, ERR_INVALID,
                "%s is not fetched here: fetch it in a cell, and COPY it", words[i]);
        if (copy_each(c, words[i], e))
            return -1;
    }
    return 0;
}

int building_copy(struct building *b, char *const *words, err *e)
{
    size_t n = strv_len(words);
    AUTO_FREE char *owned = NULL;
    struct copying c = {.building = b, .unpack = str_eq(b->step->name, "ADD")};
    if (n < 2)
        return err_set(e, ERR_INVALID, "it takes a SOURCE and a place");
    const char *to = words[n - 1];
    AUTO_FREE char *place = c.to = building_place(building_stage(b), to);
    if (!place)
        return err_set(e, ERR_INVALID, "“%s” leads out by “..”", to);
    if (check_flags(b->step, e) || find_source(b, &c.from, &owned, e))
        return -1;
    c.into = n > 2 || str_ends(to, "/") || str_eq(to, ".") || str_ends(to, "/.");
    if (!c.into && is_folder(b, place, &c.into, e))
        return -1;
    c.layer = layer_new();
    layer_bare(c.layer);
    layer_tells(c.layer, c.from.told);
    AUTO_FREE char *by = str_fmt("%s %s", b->step->name, b->step->rest);
    int status = fill(&c, words, n, e) || draft_add(&building_stage(b)->draft, b->store, c.layer,
                                              b->options->created, by, e)
                     ? -1
                     : 0;
    layer_free(c.layer);
    if (c.into)
        building_know(building_stage(b), place);
    return status;
}
