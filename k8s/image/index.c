// SPDX-License-Identifier: MIT
#include "k8s/image/index.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REF_NAME "org.opencontainers.image.ref.name"

enum { INDEX_LIMIT = 16 << 20, MANIFEST_LIMIT = 4 << 20, INDEX_DEPTH = 4 };

static cJSON *read_index(const image_store *s, err *e)
{
    AUTO_FREE char *path = path_join(image_store_dir(s), "index.json");
    AUTO_BUF text = {0};
    if (path_read(path, &text, INDEX_LIMIT, e))
        return NULL;
    cJSON *index = json_parse(buf_cstr(&text), text.len, e);
    if (cJSON_IsArray(json_get(index, "manifests")))
        return index;
    cJSON_Delete(index);
    err_set(e, ERR_CORRUPT, "%s is not the index of an OCI image layout", path);
    return NULL;
}

static int write_index(const image_store *s, const cJSON *index, err *e)
{
    AUTO_FREE char *path = path_join(image_store_dir(s), "index.json");
    AUTO_BUF text = {0};
    json_print(&text, index);
    return path_write(path, text.data, text.len, 0644, e);
}

static const char *entry_name(const cJSON *entry)
{
    return json_str(json_get(entry, "annotations"), REF_NAME);
}

// "name" means "name:latest".
static bool same_tag(const char *name, const char *ref)
{
    if (!name)
        return false;
    size_t n = strlen(name);
    return str_eq(name, ref) || (strncmp(name, ref, n) == 0 && str_eq(ref + n, ":latest"));
}

static cJSON *find_tag(const cJSON *index, const char *ref)
{
    cJSON *entry;
    cJSON_ArrayForEach(
        entry, json_get(index, "manifests")) if (same_tag(entry_name(entry), ref)) return entry;
    return NULL;
}

// The tag as it is stored: with a host if one was given, and always with a tag. NULL on an error.
static char *tag_name(const char *text, err *e)
{
    oci_ref ref;
    if (oci_ref_parse(text, &ref, e))
        return NULL;
    char *name = str_fmt("%s%s%s:%s", ref.host ? ref.host : "", ref.host ? "/" : "", ref.name,
        ref.tag ? ref.tag : "latest");
    oci_ref_done(&ref);
    return name;
}

static int tag_missing(const cJSON *index, const char *ref, err *e)
{
    AUTO_BUF known = {0};
    const cJSON *entry;
    cJSON_ArrayForEach(
        entry, json_get(index, "manifests")) if (entry_name(entry) && known.len < 300)
        buf_fmt(&known, "%s%s", known.len ? ", " : "", entry_name(entry));
    return err_set(e, ERR_NOT_FOUND, "image %s is not in the local store (%s%s)", ref,
        known.len ? "it has " : "it is empty", buf_cstr(&known));
}

// Finds a manifest by its digest. Its type is in the manifest; one without is OCI's older form.
static int resolve_digest(const image_store *s, const oci_digest *digest, oci_descriptor *d, err *e)
{
    AUTO_JSON *json = image_store_read_json(s, digest, e);
    if (!json)
        return -1;
    const char *type = json_str(json, "mediaType");
    d->type = type ? oci_type_parse(type) : OCI_TYPE_OCI_MANIFEST;
    d->digest = *digest;
    if (json_int_or(json, "schemaVersion", 0) != 2 || d->type == OCI_TYPE_UNKNOWN)
        return err_set(e, ERR_INVALID, "blob %s is not the manifest of an image", digest->text);
    image_store_has(s, digest, &d->size);
    return 0;
}

int image_store_resolve(const image_store *s, const char *text, oci_descriptor *d, err *e)
{
    oci_digest digest;
    const char *at = strchr(text, '@');
    if (oci_digest_parse(at ? at + 1 : text, &digest, NULL) == 0)
        return resolve_digest(s, &digest, d, e);
    AUTO_FREE char *ref = tag_name(text, e);
    AUTO_JSON *index = ref ? read_index(s, e) : NULL;
    if (!index)
        return -1;
    const cJSON *entry = find_tag(index, ref);
    if (!entry)
        return tag_missing(index, ref, e);
    return oci_descriptor_parse(entry, d, e) ? err_wrap(e, "image %s", ref) : 0;
}

int image_store_find(const image_store *s, const char *ref, oci_descriptor *d, err *e)
{
    oci_descriptor found;
    if (image_store_resolve(s, ref, &found, e))
        return -1;
    *d = found;
    if (oci_type_kind(found.type) != OCI_KIND_INDEX)
        return 0;
    AUTO_JSON *index = image_store_read_json(s, &found.digest, e);
    if (!index)
        return -1;
    return oci_index_choose(index, d, e) ? err_wrap(e, "image %s", ref) : 0;
}

// Do the manifest's blobs have the sizes that it says? `all`: none may be missing.
static int look_at_blobs(const image_store *s, const oci_manifest *m, bool all, err *e)
{
    for (size_t i = 0; i <= m->layer_n; i++) {
        const oci_descriptor *blob = i < m->layer_n ? &m->layers[i] : &m->config;
        int there = image_store_look(s, blob, e);
        if (there < 0)
            return i < m->layer_n ? err_wrap(e, "layer %zu", i + 1) : err_wrap(e, "config");
        if (there == 0 && all)
            return err_set(
                e, ERR_NOT_FOUND, "blob %s is not in the image store", blob->digest.text);
    }
    return 0;
}

int image_store_manifest(const image_store *s, const oci_digest *d, oci_manifest *m, err *e)
{
    AUTO_BUF text = {0};
    *m = (oci_manifest){0};
    if (image_store_read(s, d, &text, MANIFEST_LIMIT, e) ||
        oci_manifest_parse(text.data, text.len, m, e))
        return -1;
    if (look_at_blobs(s, m, false, e) == 0)
        return 0;
    oci_manifest_done(m);
    return -1;
}

// Checks that the store has everything that the tag's manifest names.
static int check_whole(const image_store *s, const oci_descriptor *d, err *e)
{
    AUTO_BUF bytes = {0};
    CLEANUP(oci_manifest_done) oci_manifest m = {0};
    if (image_store_read(s, &d->digest, &bytes, INDEX_LIMIT, e))
        return -1;
    if (oci_type_kind(d->type) != OCI_KIND_MANIFEST)
        return 0;
    return oci_manifest_parse(bytes.data, bytes.len, &m, e) || look_at_blobs(s, &m, true, e) ? -1
                                                                                             : 0;
}

int image_store_tag(const image_store *s, const char *text, const oci_descriptor *d, err *e)
{
    AUTO_FREE char *ref = tag_name(text, e);
    if (!ref)
        return -1;
    AUTO_FD lock = image_store_lock(s, e);
    if (lock < 0 || check_whole(s, d, e))
        return err_wrap(e, "tag %s", ref);
    AUTO_JSON *index = read_index(s, e);
    if (!index)
        return -1;
    cJSON *entry = find_tag(index, ref), *fresh = oci_descriptor_json(d);
    json_set_str(json_object_at(fresh, "annotations"), REF_NAME, ref);
    if (entry && json_equal(entry, fresh)) {
        cJSON_Delete(fresh);
        return 0;
    }
    cJSON *list = json_array_at(index, "manifests");
    if (entry)
        cJSON_ReplaceItemViaPointer(list, entry, fresh);
    else
        cJSON_AddItemToArray(list, fresh);
    return write_index(s, index, e);
}

int image_store_untag(const image_store *s, const char *text, const oci_digest *only, err *e)
{
    AUTO_FREE char *ref = tag_name(text, e);
    if (!ref)
        return -1;
    AUTO_FD lock = image_store_lock(s, e);
    AUTO_JSON *index = lock < 0 ? NULL : read_index(s, e);
    if (!index)
        return -1;
    cJSON *entry = find_tag(index, ref);
    if (!entry || (only && !str_eq(json_str(entry, "digest"), only->text)))
        return tag_missing(index, ref, e);
    cJSON_Delete(cJSON_DetachItemViaPointer(json_array_at(index, "manifests"), entry));
    return write_index(s, index, e);
}

static int compare_tags(const void *a, const void *b)
{
    return strcmp(((const struct image_tag *)a)->ref, ((const struct image_tag *)b)->ref);
}

int image_store_tags(const image_store *s, struct image_tag **tags, size_t *n, err *e)
{
    AUTO_JSON *index = read_index(s, e);
    if (!index)
        return -1;
    const cJSON *list = json_get(index, "manifests"), *entry;
    *tags = mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof **tags);
    *n = 0;
    cJSON_ArrayForEach(entry, list)
    {
        struct image_tag *t = &(*tags)[*n];
        if (!entry_name(entry) || oci_descriptor_parse(entry, &t->manifest, NULL))
            continue; // made by another tool: not an image, or one without a name
        t->ref = tag_name(entry_name(entry), NULL);
        if (t->ref)
            ++*n;
    }
    qsort(*tags, *n, sizeof **tags, compare_tags);
    return 0;
}

void image_tags_free(struct image_tag *tags, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(tags[i].ref);
    free(tags);
}

// The collector: marks everything that descriptors reach, and sweeps the rest

struct marks {
    oci_digest *list;
    size_t n, cap;
};

static bool marked(const struct marks *m, const char *digest)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->list[i].text, digest))
            return true;
    return false;
}

static void mark(struct marks *m, const oci_digest *d)
{
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 64;
        m->list = mem_resize(m->list, m->cap, sizeof *m->list);
    }
    m->list[m->n++] = *d;
}

// Every object with a digest counts as a descriptor, whatever its media type, so nothing is lost
// that a newer kind of manifest refers to. A damaged manifest stops the collector.
static int mark_json(const image_store *s, struct marks *m, const cJSON *json, int depth, err *e)
{
    oci_digest d;
    if (cJSON_IsObject(json) && oci_digest_parse(json_str(json, "digest"), &d, NULL) == 0 &&
        !marked(m, d.text)) {
        mark(m, &d);
        const char *type = json_str_or(json, "mediaType", "");
        bool leads_on = strstr(type, "manifest") || strstr(type, "index");
        if (leads_on && depth < INDEX_DEPTH && image_store_has(s, &d, NULL)) {
            AUTO_JSON *target = image_store_read_json(s, &d, e);
            if (!target || mark_json(s, m, target, depth + 1, e))
                return -1;
        }
    }
    const cJSON *child;
    cJSON_ArrayForEach(child, json)
    {
        if ((cJSON_IsObject(child) || cJSON_IsArray(child)) && mark_json(s, m, child, depth, e))
            return -1;
    }
    return 0;
}

// Removes the old files of a folder that are not in `keep` (NULL: keeps none).
static int sweep(const char *dir, const char *prefix, const struct marks *keep, int64_t before,
    struct image_gc *removed, err *e)
{
    DIR *d = opendir(dir);
    if (!d)
        return err_errno(e, errno, "cannot read %s", dir);
    for (struct dirent *f; (f = readdir(d));) {
        AUTO_FREE char *digest = str_fmt("sha256:%s", f->d_name);
        struct stat st;
        if (!str_starts(f->d_name, prefix) || (keep && marked(keep, digest)) ||
            fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
            st.st_mtime > before || unlinkat(dirfd(d), f->d_name, 0))
            continue;
        removed->blobs++;
        removed->bytes += st.st_size;
    }
    closedir(d);
    return 0;
}

int image_store_gc(const image_store *s, int64_t before, struct image_gc *removed, err *e)
{
    *removed = (struct image_gc){0};
    AUTO_FREE char *blobs = path_join(image_store_dir(s), "blobs/sha256");
    AUTO_FREE char *own = path_join(image_store_dir(s), ".firesteel");
    AUTO_FD lock = image_store_lock(s, e);
    AUTO_JSON *index = lock < 0 ? NULL : read_index(s, e);
    if (!index)
        return -1;
    AUTO_FREE char *names = path_join(own, "names");
    struct image_gc others = {0}; // no blobs
    struct marks m = {0};
    int status = mark_json(s, &m, index, 0, e) || sweep(blobs, "", &m, before, removed, e) ||
                         sweep(names, "", &m, before, &others, e) ||
                         sweep(own, "upload-", NULL, before, removed, e) ||
                         sweep(own, "partial-", NULL, before, removed, e)
                     ? err_wrap(e, "collecting garbage in %s", image_store_dir(s))
                     : 0;
    free(m.list);
    return status;
}
