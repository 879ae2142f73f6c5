// SPDX-License-Identifier: MIT
// The index of an image store, as another tool may have written it: each image in it is found or
// reported as missing, a new tag is found, and the collector keeps everything that a tag leads to.
#include "k8s/image/index.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static image_store *open_store(const void *index, size_t n, err *e)
{
    AUTO_FREE char *dir = path_join(fuzz_folder(), "images");
    image_store *s = image_store_open(dir, e);
    if (!s)
        return NULL;
    free(fuzz_file("images/index.json", index, n));
    return s;
}

static void check_tags(const image_store *s)
{
    struct image_tag *tags;
    size_t n;
    err e;
    oci_descriptor d;
    if (image_store_tags(s, &tags, &n, &e) != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        if (image_store_resolve(s, tags[i].ref, &d, &e) == 0 && !*d.digest.text)
            abort();
        image_store_find(s, tags[i].ref, &d, &e);
    }
    image_tags_free(tags, n);
}

// Checks a manifest of ours under a tag of ours.
static void check_own(const image_store *s)
{
    static const char manifest[] =
        "{\"schemaVersion\": 2, \"mediaType\": \"application/vnd.oci.image.manifest.v1+json\"}";
    oci_descriptor d = {.type = OCI_TYPE_OCI_MANIFEST, .size = sizeof manifest - 1}, found;
    struct image_gc removed;
    err e;
    if (image_store_add(s, manifest, sizeof manifest - 1, &d.digest, &e) != 0)
        abort();
    if (image_store_tag(s, "fuzz:own", &d, &e) != 0)
        return; // the index is no index
    if (image_store_resolve(s, "fuzz:own", &found, &e) != 0 ||
        !oci_digest_equal(&d.digest, &found.digest))
        abort();
    if (image_store_gc(s, INT64_MAX, &removed, &e) == 0 && !image_store_has(s, &d.digest, NULL))
        abort();
    if (image_store_untag(s, "fuzz:own", &d.digest, &e) != 0)
        abort();
    if (image_store_resolve(s, "fuzz:own", &found, &e) == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e;
    image_store *s = open_store(data, n, &e);
    if (!s)
        abort();
    check_tags(s);
    check_own(s);
    image_store_free(s);
    return 0;
}
