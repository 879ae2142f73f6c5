// SPDX-License-Identifier: MIT
#include "k8s/image/places.h"

#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/archive_late.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 128 << 10, KEPT_MOST = 256 << 20, LINKS_MOST = 40 };

// What a layer has at a name. Stored as bytes: the kind, the name, NUL, and for a link its target,
// NUL. Other kinds are not stored, only the folders above them.
enum kind {
    FOLDER = 'd',
    ABOVE = 'a', // a folder above an entry, which the layer itself does not list
    LINK = 'l',
    GONE = 'w',   // a whiteout
    HIDDEN = 'o', // hides what layers below have in this folder
};

struct names {
    buf bytes;
    hashmap *at; // kind (ABOVE counts as FOLDER, LINK too) and name -> offset of the record
};

static void names_done(struct names *n)
{
    buf_done(&n->bytes);
    hashmap_free(n->at);
}

// The key of a record: links and folders of one name exclude each other.
static char *key_of(enum kind kind, const char *name)
{
    return str_fmt("%c%s", kind == ABOVE || kind == LINK ? FOLDER : kind, name);
}

static void add(struct names *n, enum kind kind, const char *name, const char *to)
{
    AUTO_FREE char *key = key_of(kind, name);
    size_t old;
    if (kind == ABOVE && hashmap_get(n->at, key, strlen(key), &old))
        return;
    hashmap_set(n->at, key, strlen(key), n->bytes.len);
    buf_char(&n->bytes, (char)kind);
    buf_add(&n->bytes, name, strlen(name) + 1);
    if (kind == LINK)
        buf_add(&n->bytes, to, strlen(to) + 1);
}

static const char *find(const struct names *n, enum kind kind, const char *name)
{
    size_t at;
    AUTO_FREE char *key = key_of(kind, name);
    return hashmap_get(n->at, key, strlen(key), &at) ? n->bytes.data + at : NULL;
}

// Reading a layer

static void add_entry(struct names *n, struct archive_entry *x)
{
    const char *given = archive_entry_pathname(x), *to = archive_entry_symlink(x);
    AUTO_FREE char *rooted = given && strlen(given) < PATH_MAX ? path_join("/", given) : NULL;
    AUTO_FREE char *plain = rooted ? path_plain(rooted) : NULL;
    if (!plain || !plain[1])
        return;
    const char *name = plain + 1;
    AUTO_FREE char *above = path_dirname(name), *last = path_basename(name);
    bool top = str_eq(above, ".");
    if (str_eq(last, ".wh..wh..opq"))
        add(n, HIDDEN, top ? "" : above, NULL);
    else if (str_starts(last, ".wh.")) {
        AUTO_FREE char *gone = top ? mem_strdup(last + 4) : path_join(above, last + 4);
        add(n, GONE, gone, NULL);
    } else if (archive_entry_filetype(x) == AE_IFLNK && to)
        add(n, LINK, name, to);
    else if (archive_entry_filetype(x) == AE_IFDIR && !archive_entry_hardlink(x))
        add(n, FOLDER, name, NULL);
    for (char *slash = strrchr(above, '/'); !top; slash = strrchr(above, '/')) {
        add(n, ABOVE, above, NULL);
        if (!slash)
            break;
        *slash = '\0';
    }
}

static int scan(int fd, struct names *n, err *e)
{
    struct archive_entry *x;
    int got = ARCHIVE_FATAL;
    if (archive_late(e) != 0)
        return -1;
    struct archive *a = archive_read_new();
    archive_read_support_filter_gzip(a);
    archive_read_support_filter_zstd(a);
    archive_read_support_format_tar(a);
    archive_read_support_format_empty(a);
    if (archive_read_open_fd(a, fd, BLOCK) == ARCHIVE_OK)
        while (n->bytes.len < KEPT_MOST &&
               ((got = archive_read_next_header(a, &x)) == ARCHIVE_OK || got == ARCHIVE_WARN))
            add_entry(n, x);
    int status = got == ARCHIVE_EOF ? 0
                 : n->bytes.len >= KEPT_MOST
                     ? err_set(e, ERR_LIMIT, "the layer has more names than are allowed")
                     : err_set(e, ERR_CORRUPT, "%s", archive_error_string(a));
    archive_read_free(a);
    return status;
}

// Reads the stored result of an earlier scan. false: there is no usable one.
static bool read_kept(const char *path, struct names *n)
{
    AUTO_BUF kept = {0};
    if (path_read(path, &kept, KEPT_MOST, NULL) < 0)
        return false;
    const char *at = buf_cstr(&kept), *end = at + kept.len;
    while (at < end) {
        enum kind kind = (unsigned char)*at++;
        const char *name = at, *to = memchr(name, '\0', (size_t)(end - name));
        at = to ? to + 1 : end;
        if (kind == LINK && at < end) {
            to = at;
            const char *stop = memchr(at, '\0', (size_t)(end - at));
            at = stop ? stop + 1 : end;
        }
        add(n, kind, name, kind == LINK ? to : NULL);
    }
    return true;
}

static int read_layer(const image_store *s, const oci_descriptor *layer, struct names *n, err *e)
{
    AUTO_FREE char *path =
        str_fmt("%s/.firesteel/names/%s", image_store_dir(s), oci_digest_hex(&layer->digest));
    n->at = hashmap_new();
    if (read_kept(path, n))
        return 0;
    AUTO_FD fd = image_store_blob(s, &layer->digest, NULL, e);
    if (fd < 0 || scan(fd, n, e))
        return -1;
    return path_write(path, buf_cstr(&n->bytes), n->bytes.len, 0644, e);
}

// Looking up

struct image {
    struct names *layers;
    size_t n;
};

// Does the layer hide what those below have at this name?
static bool hides(const struct names *n, const char *name)
{
    AUTO_FREE char *part = mem_strdup(name);
    for (;;) {
        if (find(n, GONE, part) || (find(n, HIDDEN, part) && !str_eq(part, name)))
            return true;
        char *slash = strrchr(part, '/');
        if (!*part)
            return false;
        *(slash ? slash : part) = '\0';
    }
}

// The target of a link, borrowed; NULL: not a link. *folder: it is a folder.
static const char *look(const struct image *all, const char *name, bool *folder)
{
    *folder = !*name;
    for (size_t i = all->n; i > 0; i--) {
        const struct names *n = &all->layers[i - 1];
        const char *found = find(n, FOLDER, name);
        if (found && *found == LINK)
            return *folder ? NULL : found + 1 + strlen(name) + 1;
        *folder = *folder || found;
        if ((found && *found == FOLDER) || hides(n, name))
            break;
    }
    return NULL;
}

static void cut_last(buf *name)
{
    const char *slash = strrchr(buf_cstr(name), '/');
    name->len = slash ? (size_t)(slash - name->data) : 0;
    if (name->data)
        name->data[name->len] = '\0';
}

// Follows all links. *name: below the root.
static int resolve(const struct image *all, const char *place, buf *name, bool *folder, err *e)
{
    AUTO_FREE char *rest = mem_strdup(place);
    int links = 0;
    *folder = true;
    while (*rest) {
        size_t skip = strspn(rest, "/"), n = strcspn(rest + skip, "/");
        AUTO_FREE char *part = mem_strndup(rest + skip, n), *behind = mem_strdup(rest + skip + n);
        size_t before = name->len;
        const char *to = NULL;
        if (str_eq(part, ".."))
            cut_last(name);
        else if (*part && !str_eq(part, ".")) {
            buf_fmt(name, "%s%s", before ? "/" : "", part);
            to = look(all, buf_cstr(name), folder);
        }
        if (to && ++links > LINKS_MOST)
            return err_set(
                e, ERR_INVALID, "%s leads through more than %d links", place, LINKS_MOST);
        if (to) {
            name->len = *to == '/' ? 0 : before;
            name->data[name->len] = '\0';
        }
        char *next = to ? str_fmt("%s%s", to, behind) : STEAL(behind);
        free(rest);
        rest = next;
    }
    return 0;
}

char *image_place(const image_store *s, const oci_descriptor *layers, size_t n, const char *place,
    bool *folder, err *e)
{
    struct image all = {mem_array(n + 1, sizeof *all.layers), n};
    AUTO_BUF whole = {0}, above = {0};
    AUTO_FREE char *parent = path_dirname(place), *last = path_basename(place);
    bool in = false, there = false;
    int status = 0;
    for (size_t i = 0; i < n && status == 0; i++)
        status = read_layer(s, &layers[i], &all.layers[i], e);
    if (status == 0)
        status = resolve(&all, place, &whole, &there, e) || resolve(&all, parent, &above, &in, e);
    for (size_t i = 0; i < n; i++)
        names_done(&all.layers[i]);
    free(all.layers);
    if (status)
        return NULL;
    *folder = *folder || there;
    return *folder ? str_fmt("/%s", buf_cstr(&whole))
                   : str_fmt("/%s%s%s", buf_cstr(&above), above.len ? "/" : "", last);
}
