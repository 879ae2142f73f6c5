// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/index.h"
#include "tests/support/tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static image_store *open_store(void)
{
    err e = {0};
    AUTO_FREE char *dir = path_join(tap_dir(), "images");
    image_store *s = image_store_open(dir, &e);
    CHECK_OK(s, e);
    return s;
}

static oci_digest add(image_store *s, const char *text)
{
    oci_digest d;
    err e = {0};
    CHECK_OK(image_store_add(s, text, strlen(text), &d, &e) == 0, e);
    return d;
}

// A whole little image whose one layer is `text`.
static oci_descriptor add_image(image_store *s, const char *text)
{
    oci_digest layer = add(s, text), config = add(s, "{}");
    AUTO_FREE char *manifest = str_fmt(
        "{\"schemaVersion\":2,\"config\":{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":2},"
        "\"layers\":[{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%zu}]}",
        oci_type_text(OCI_TYPE_OCI_CONFIG), config.text, oci_type_text(OCI_TYPE_OCI_LAYER),
        layer.text, strlen(text));
    return (oci_descriptor){OCI_TYPE_OCI_MANIFEST, add(s, manifest), (int64_t)strlen(manifest)};
}

TEST(blobs)
{
    err e = {0};
    image_store *s = open_store();
    oci_digest d = add(s, "hello");
    int64_t size;
    CHECK(image_store_has(s, &d, &size));
    CHECK_INT(size, 5);
    AUTO_BUF text = {0};
    CHECK_OK(image_store_read(s, &d, &text, 0, &e) == 0, e);
    CHECK_STR(buf_cstr(&text), "hello");
    oci_digest other = oci_digest_of("x", 1);
    CHECK(!image_store_has(s, &other, NULL));
    CHECK_INT(image_store_blob(s, &other, NULL, &e), -1);
    CHECK_INT(e.code, ERR_NOT_FOUND);
    image_store_free(s);
}

TEST(a_blob_with_another_digest_is_refused_and_leaves_nothing)
{
    err e = {0};
    image_store *s = open_store();
    oci_digest wanted = oci_digest_of("x", 1), got = oci_digest_of("y", 1);
    image_blob *b = image_blob_new(s, &e);
    CHECK_OK(image_blob_write(b, "y", 1, &e) == 0, e);
    CHECK_INT(image_blob_commit(b, &wanted, NULL, &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK(!image_store_has(s, &wanted, NULL) && !image_store_has(s, &got, NULL));
    struct image_gc removed;
    CHECK_OK(image_store_gc(s, time(NULL) + 10, &removed, &e) == 0, e);
    CHECK_INT(removed.blobs, 0);
    image_store_free(s);
}

TEST(a_damaged_blob_is_noticed)
{
    err e = {0};
    image_store *s = open_store();
    oci_digest d = add(s, "hello");
    AUTO_FREE char *path = image_store_blob_path(s, &d);
    CHECK_OK(path_write(path, "jello", 5, 0644, &e) == 0, e);
    AUTO_BUF text = {0};
    CHECK_INT(image_store_read(s, &d, &text, 0, &e), -1);
    CHECK_INT(e.code, ERR_CORRUPT);
    image_store_free(s);
}

TEST(tags)
{
    err e = {0};
    image_store *s = open_store();
    oci_descriptor a = add_image(s, "a"), b = add_image(s, "b"), got;
    CHECK_OK(image_store_tag(s, "x/a", &a, &e) == 0, e);
    CHECK_OK(image_store_tag(s, "x/a:2", &b, &e) == 0, e);
    CHECK_OK(image_store_resolve(s, "x/a:latest", &got, &e) == 0, e);
    CHECK(oci_digest_equal(&got.digest, &a.digest));
    CHECK_INT(got.size, a.size);
    CHECK_OK(image_store_tag(s, "x/a", &b, &e) == 0, e); // moves
    CHECK_OK(image_store_resolve(s, "x/a", &got, &e) == 0, e);
    CHECK(oci_digest_equal(&got.digest, &b.digest));
    CHECK_OK(image_store_resolve(s, a.digest.text, &got, &e) == 0, e);
    CHECK_INT(got.type, OCI_TYPE_OCI_MANIFEST);

    struct image_tag *tags;
    size_t n;
    CHECK_OK(image_store_tags(s, &tags, &n, &e) == 0, e);
    CHECK_INT(n, 2);
    CHECK_STR(tags[0].ref, "x/a:2");
    CHECK_STR(tags[1].ref, "x/a:latest");
    image_tags_free(tags, n);

    CHECK_INT(image_store_untag(s, "x/a:2", &a.digest, &e), -1);
    CHECK_OK(image_store_untag(s, "x/a:2", &b.digest, &e) == 0, e);
    CHECK_INT(image_store_resolve(s, "x/a:2", &got, &e), -1);
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_HAS(e.text, "it has x/a:latest");
    image_store_free(s);
}

TEST(a_tag_needs_its_blobs)
{
    err e = {0};
    image_store *s = open_store();
    oci_descriptor a = add_image(s, "layer");
    oci_digest layer = oci_digest_of("layer", 5);
    AUTO_FREE char *path = image_store_blob_path(s, &layer);
    unlink(path);
    CHECK_INT(image_store_tag(s, "a", &a, &e), -1);
    CHECK_HAS(e.text, layer.text);
    image_store_free(s);
}

TEST(garbage_goes_and_the_rest_stays)
{
    err e = {0};
    image_store *s = open_store();
    oci_descriptor a = add_image(s, "kept"), b = add_image(s, "dropped"), got;
    CHECK_OK(image_store_tag(s, "a", &a, &e) == 0, e);
    CHECK_OK(image_store_tag(s, "b", &b, &e) == 0, e);
    CHECK_OK(image_store_untag(s, "b", NULL, &e) == 0, e);
    struct image_gc removed;
    CHECK_OK(image_store_gc(s, time(NULL) - 3600, &removed, &e) == 0, e);
    CHECK_INT(removed.blobs, 0); // all are fresh
    CHECK_OK(image_store_gc(s, time(NULL) + 10, &removed, &e) == 0, e);
    CHECK_INT(removed.blobs, 2); // b's manifest and layer; the config is shared
    CHECK_OK(image_store_resolve(s, "a", &got, &e) == 0, e);
    oci_digest kept = oci_digest_of("kept", 4), dropped = oci_digest_of("dropped", 7);
    CHECK(image_store_has(s, &kept, NULL) && !image_store_has(s, &dropped, NULL));
    image_store_free(s);
}

TEST(what_other_tools_wrote_stays)
{
    err e = {0};
    image_store *s = open_store();
    AUTO_FREE char *index = path_join(image_store_dir(s), "index.json");
    const char theirs[] = "{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":\"application/x\","
                          "\"digest\":\"sha256:1\",\"size\":1,\"platform\":{\"os\":\"plan9\"}}]}";
    CHECK_OK(path_write(index, theirs, sizeof theirs - 1, 0644, &e) == 0, e);
    oci_descriptor a = add_image(s, "a");
    CHECK_OK(image_store_tag(s, "a", &a, &e) == 0, e);
    AUTO_BUF text = {0};
    CHECK_OK(path_read(index, &text, 0, &e) == 0, e);
    CHECK_HAS(buf_cstr(&text), "plan9");
    image_store_free(s);
}

TEST(a_folder_that_is_no_layout)
{
    err e = {0};
    AUTO_FREE char *dir = path_join(tap_dir(), "images");
    AUTO_FREE char *file = path_join(dir, "oci-layout");
    CHECK_OK(path_make_dirs(dir, 0755, &e) == 0, e);
    CHECK_OK(path_write(file, "[]", 2, 0644, &e) == 0, e);
    CHECK(!image_store_open(dir, &e));
    CHECK_INT(e.code, ERR_CORRUPT);

    const char *const bad[] = {"", "{", "[]", "{\"manifests\":3}"};
    AUTO_FREE char *index = path_join(dir, "index.json");
    CHECK_OK(path_write(file, "{\"imageLayoutVersion\":\"1.0.0\"}", 30, 0644, &e) == 0, e);
    image_store *s = image_store_open(dir, &e);
    CHECK_OK(s, e);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        oci_descriptor d;
        CHECK_OK(path_write(index, bad[i], strlen(bad[i]), 0644, &e) == 0, e);
        CHECK_INT(image_store_resolve(s, "a", &d, &e), -1);
        CHECK_HAS(e.text, "");
    }
    image_store_free(s);
}

// Several processes tag at once while another collects: no tag is lost, no image is broken.
TEST(several_processes)
{
    enum { PROCESSES = 4, ROUNDS = 10 };
    err e = {0};
    image_store *s = open_store();
    pid_t pids[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        pids[p] = fork();
        if (pids[p])
            continue;
        for (int i = 0; i < ROUNDS; i++) {
            AUTO_FREE char *name = str_fmt("p%d:%d", p, i);
            oci_descriptor d = add_image(s, name);
            struct image_gc removed;
            if (image_store_tag(s, name, &d, &e) ||
                image_store_gc(s, time(NULL) - 60, &removed, &e))
                _exit(1);
        }
        _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        waitpid(pids[p], &status, 0);
        CHECK_INT(status, 0);
    }
    struct image_tag *tags;
    size_t n;
    CHECK_OK(image_store_tags(s, &tags, &n, &e) == 0, e);
    CHECK_INT(n, PROCESSES * ROUNDS);
    for (size_t i = 0; i < n; i++)
        CHECK(image_store_has(s, &tags[i].manifest.digest, NULL));
    image_tags_free(tags, n);
    image_store_free(s);
}

int main(void)
{
    return tap_run();
}
