// SPDX-License-Identifier: MIT
// COPY and ADD of a Dockerfile: the files that they read, and the layer that they make.
#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/archive_late.h"
#include "k8s/image/dockerfile/building.h"
#include "k8s/image/ignore.h"
#include "k8s/image/index.h"
#include "k8s/image/places.h"
#include "k8s/image/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
    const struct context *in;
    const char *const *ignore;
    const struct layer_told *told; // called for each file that is read; NULL: nothing
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

static int unpack_stage(
    struct building *b, const oci_descriptor *manifest, struct context *c, err *e)
{
    if (c->folder >= 0)
        return 0;
    AUTO_FREE char *root = image_unpack(b->store, &manifest->digest, b->options->temp,
        &(struct image_limits){.watch = b->options->watch}, e);
    return root ? context_open(c, root, e) : -1;
}

// *owned: opened for this step alone.
static int find_source(struct building *b, struct source *from, struct context *owned, err *e)
{
    const char *name = building_flag(b->step, "--from");
    *from = (struct source){&b->context, (const char *const *)b->ignore, b->options->added};
    if (!name)
        return 0;
    struct stage *s = building_find(b, name, b->n - 1);
    if (s) {
        *from = (struct source){&s->root};
        return unpack_stage(b, &s->manifest, &s->root, e);
    }
    oci_descriptor image;
    *from = (struct source){owned};
    return (b->options->need && b->options->need(b->options->arg, name, e)) ||
                   image_store_find(b->store, name, &image, e) || unpack_stage(b, &image, owned, e)
               ? -1
               : 0;
}

// The layers that the stage has so far; new.
static oci_descriptor *layers_of(const struct stage *s, size_t *n, err *e)
{
    const cJSON *list = json_get(s->draft.manifest, "layers"), *one;
    oci_descriptor *layers = mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof *layers);
    *n = 0;
    cJSON_ArrayForEach(one, list)
    {
        if (oci_descriptor_parse(one, &layers[(*n)++], e)) {
            free(layers);
            return NULL;
        }
    }
    return layers;
}

// The destination in the image, new; *folder: it must be a folder, or is one already.
static char *find_place(struct building *b, const char *to, bool *folder, err *e)
{
    struct stage *s = building_stage(b);
    AUTO_FREE char *place = building_place(s, to);
    for (char **k = s->known; *k && !*folder; k++)
        *folder = str_eq(*k, place);
    if (!s->has_base)
        return STEAL(place);
    size_t n;
    AUTO_FREE oci_descriptor *layers = layers_of(s, &n, e);
    return layers ? image_place(b->store, layers, n, place, folder, e) : NULL;
}

// The kinds of archives that cannot be unpacked here. *what: a name for the error.
static bool is_archive(int fd, const char **what)
{
    struct archive *a = archive_read_new();
    struct archive_entry *head;
    archive_read_support_format_tar(a);
    archive_read_support_filter_all(a);
    bool tar = archive_read_open_fd(a, fd, 64 << 10) == ARCHIVE_OK &&
               archive_read_next_header(a, &head) == ARCHIVE_OK;
    int filter = archive_filter_code(a, 0);
    if (tar && filter != ARCHIVE_FILTER_NONE && filter != ARCHIVE_FILTER_GZIP &&
        filter != ARCHIVE_FILTER_ZSTD)
        *what = archive_filter_name(a, 0);
    archive_read_free(a);
    return tar;
}

// Reports the archive as read, not the files in it.
static int tell_archive(struct copying *c, int fd, const char *path, err *e)
{
    const struct layer_told *t = c->from.told;
    char hex[SHA256_HEX];
    int64_t size;
    if (!t)
        return 0;
    if (lseek(fd, 0, SEEK_SET) < 0 ||
        sha256_fd(fd, path, c->building->options->watch, &size, hex, e))
        return -1;
    t->fn(t->arg, path, size, hex);
    return 0;
}

// From now on the layer reads in that folder.
static int read_in(struct copying *c, const struct context *from, err *e)
{
    return layer_reads(c->layer, from->folder, from->path, e);
}

static int unpack_archive(struct copying *c, int fd, const char *path, const char *what, err *e)
{
    struct image_limits limits = {
        .bytes = (int64_t)32 << 30, .files = 1000000, .watch = c->building->options->watch};
    CLEANUP(context_done) struct context unpacked = {.folder = -1};
    if (what)
        return err_set(e, ERR_INVALID, "%s: archives of %s are not unpacked here", path, what);
    AUTO_FREE char *root = path_make_temp(c->building->options->temp, "add-", e);
    if (!root || tell_archive(c, fd, path, e) || image_unpack_layer(fd, root, &limits, e) ||
        context_open(&unpacked, root, e) || read_in(c, &unpacked, e))
        return err_wrap(e, "%s", path);
    layer_tells(c->layer, NULL);
    int status = layer_tree(c->layer, c->to + 1, "", "", NULL, e);
    layer_tells(c->layer, c->from.told);
    return status || read_in(c, c->from.in, e) ? -1 : 0;
}

// Is it ignored, under the name that is copied or the one without links?
static bool is_ignored(const struct source *from, const char *name, const char *real, bool folder)
{
    bool link = !str_eq(name, real);
    return ((link || !folder) && ignore_matches(from->ignore, name)) ||
           (!folder && ignore_matches(from->ignore, real));
}

// Follows a link that is named itself; links inside a folder stay links. real: the name without
// links.
static int copy_real(struct copying *c, const char *name, const char *real, err *e)
{
    enum { READ = O_RDONLY | O_NONBLOCK | O_NOFOLLOW };
    const struct context *in = c->from.in;
    const char *what = NULL;
    struct stat st;
    AUTO_FD at = inside_open(in->folder, real, O_PATH | O_NOFOLLOW, INSIDE_ROOT);
    if (at < 0 || fstat(at, &st))
        return err_errno(e, errno, "cannot read %s in %s", name, in->path);
    if (is_ignored(&c->from, name, real, S_ISDIR(st.st_mode)))
        return 0;
    c->found++;
    AUTO_FREE char *path = path_join(in->path, real), *last = path_basename(name);
    AUTO_FD fd =
        c->unpack && S_ISREG(st.st_mode) ? inside_open(in->folder, real, READ, INSIDE_ROOT) : -1;
    if (fd >= 0 && is_archive(fd, &what))
        return unpack_archive(c, fd, path, what, e);
    AUTO_FREE char *place =
        S_ISDIR(st.st_mode) || !c->into ? mem_strdup(c->to) : path_join(c->to, last);
    if (S_ISDIR(st.st_mode))
        building_know(building_stage(c->building), c->to);
    return layer_tree(c->layer, place + 1, real, real, c->from.ignore, e);
}

static bool leads_out(const char *pattern)
{
    char **parts = strv_split(pattern, '/');
    int depth = 0;
    for (char **p = parts; *p && depth >= 0; p++)
        depth += str_eq(*p, "..") ? -1 : **p && !str_eq(*p, ".");
    strv_free(parts);
    return depth < 0;
}

static int copy_pattern(struct copying *c, const char *pattern, err *e)
{
    bool several = strpbrk(pattern, "*?[");
    size_t before = c->found;
    int status = 0;
    char **names = context_names(c->from.in, pattern);
    for (char **n = names; *n && status == 0; n++) {
        AUTO_FREE char *real = inside_name(c->from.in->folder, *n, INSIDE_ROOT);
        status = real ? copy_real(c, *n, real, e) : context_misses(c->from.in, *n, e);
    }
    strv_free(names);
    // A pattern may match nothing, as long as something is copied.
    return status || several || c->found > before
               ? status
               : err_set(e, ERR_NOT_FOUND, "%s in %s is ignored", pattern, c->from.in->path);
}

static int copy_each(struct copying *c, const char *pattern, err *e)
{
    if (leads_out(pattern))
        return err_set(
            e, ERR_INVALID, "“%s” leads out of the folder by “..”", str_short(pattern, 200).text);
    if (strlen(pattern) >= PATH_MAX)
        return err_set(e, ERR_INVALID, "“%s” is too long for a name", str_short(pattern, 60).text);
    if (!strstr(pattern, ".."))
        return copy_pattern(c, pattern, e);
    AUTO_FREE char *clean = building_clean(pattern);
    return copy_pattern(c, clean[1] ? clean + 1 : ".", e);
}

// A user or group: a number, or root, whom every image has.
static bool read_id(const char *text, unsigned *id)
{
    int64_t number;
    if (str_eq(text, "root"))
        number = 0;
    else if (!str_to_int(text, &number) || number < 0 || number > INT32_MAX)
        return false;
    *id = (unsigned)number;
    return true;
}

static int read_owner(const char *owner, unsigned *uid, unsigned *gid, err *e)
{
    const char *colon = strchr(owner, ':');
    AUTO_FREE char *user = mem_strndup(owner, strcspn(owner, ":"));
    if (read_id(user, uid) && read_id(colon ? colon + 1 : user, gid))
        return 0;
    return err_set(e, ERR_INVALID,
        "--chown=%s: names other than root are not looked up here: use numbers", owner);
}

// The value of the option, with variables replaced, new; NULL: it is not given, or there is an
// error.
static char *flag_text(struct building *b, const char *name, err *e)
{
    const char *given = building_flag(b->step, name);
    return given ? dockerfile_text(given, &b->values, e) : NULL;
}

static int set_looks(struct building *b, layer *l, err *e)
{
    AUTO_FREE char *owner = flag_text(b, "--chown", e), *mode = flag_text(b, "--chmod", e);
    unsigned uid = 0, gid = 0, bits = 0;
    int end = 0;
    if ((!owner && building_flag(b->step, "--chown")) ||
        (!mode && building_flag(b->step, "--chmod")))
        return -1;
    if (owner && read_owner(owner, &uid, &gid, e))
        return -1;
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
    return c->found ? 0 : err_set(e, ERR_NOT_FOUND, "nothing in %s matches", c->from.in->path);
}

int building_copy(struct building *b, char *const *words, err *e)
{
    size_t n = strv_len(words);
    CLEANUP(context_done) struct context owned = {.folder = -1};
    struct copying c = {.building = b, .unpack = str_eq(b->step->name, "ADD")};
    if (n < 2)
        return err_set(e, ERR_INVALID, "it takes a SOURCE and a place");
    const char *to = words[n - 1];
    c.into = n > 2 || str_ends(to, "/") || str_eq(to, ".") || str_ends(to, "/.");
    if (check_flags(b->step, e))
        return -1;
    AUTO_FREE char *place = c.to = find_place(b, to, &c.into, e);
    if (!place || find_source(b, &c.from, &owned, e))
        return -1;
    if (c.unpack && archive_late(e) != 0)
        return -1;
    c.layer = layer_new();
    layer_bare(c.layer);
    layer_tells(c.layer, c.from.told);
    AUTO_FREE char *by = str_fmt("%s %s", b->step->name, b->step->rest);
    struct draft *d = &building_stage(b)->draft;
    size_t before = d->new_layers;
    int status = read_in(&c, c.from.in, e) || fill(&c, words, n, e) ||
                         draft_add(d, b->store, c.layer, b->options->created, by, e)
                     ? -1
                     : 0;
    b->cached = d->new_layers == before;
    layer_free(c.layer);
    if (c.into)
        building_know(building_stage(b), place);
    return status;
}
