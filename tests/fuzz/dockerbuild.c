// SPDX-License-Identifier: MIT
// Dockerfiles that are built: FROM scratch, stages, ARG and ENV with their expansions, COPY of a
// context with links that lead out of it. Nothing from outside of the context gets into an image;
// what can be built is the same when it is built again; an error says what is wrong.
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/image/dockerfile/dockerfile.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char secret[SHA256_HEX]; // of what lies beside the context

static void make_link(const char *to, const char *name)
{
    AUTO_FREE char *path = path_join(fuzz_folder(), name);
    if (symlink(to, path) < 0)
        abort();
}

static void make_context(void)
{
    err e = {0};
    AUTO_FREE char *dir = path_join(fuzz_folder(), "context/dir/sub");
    if (path_make_dirs(dir, 0755, &e) < 0)
        abort();
    free(fuzz_file("secret", "a secret", 8));
    free(fuzz_file("context/a.txt", "a", 1));
    free(fuzz_file("context/dir/b.txt", "bb", 2));
    free(fuzz_file("context/dir/sub/c d.txt", "c", 1));
    free(fuzz_file("context/.dockerignore", "*.log\n!keep.log\n", 16));
    make_link("../secret", "context/out");
    make_link("..", "context/dir/up");
    make_link("../..", "context/dir/above");
    make_link("dir", "context/in");
    make_link("/etc/passwd", "context/absolute");
    sha256_hex("a secret", 8, secret);
}

// Hears of each file of the context that is in a layer.
static void check_file(void *arg, const char *source, int64_t size, const char hex[SHA256_HEX])
{
    (void)arg;
    AUTO_FREE char *context = path_join(fuzz_folder(), "context/");
    if (!str_starts(source, context) || str_eq(hex, secret) || size < 0 || size > 2)
        abort();
}

static int need(void *arg, const char *ref, err *e)
{
    (void)arg;
    return err_set(e, ERR_NOT_FOUND, "there is no image %s", ref);
}

static void list_images(const struct dockerfile *d, const struct dockerfile_build *b)
{
    err e = {0};
    struct dockerfile_image *images = NULL;
    size_t n = 0;
    int status = dockerfile_images(d, b, &images, &n, &e);
    if (status < 0 && !*e.text)
        abort();
    for (size_t i = 0; status == 0 && i < n; i++)
        if (!images[i].said || !images[i].name)
            abort();
    if (status == 0)
        dockerfile_images_free(images, n);
}

static int build(const struct dockerfile *d, struct dockerfile_build *b, oci_descriptor *out)
{
    err e = {0};
    struct image_built built;
    AUTO_FREE char *dir = path_join(fuzz_folder(), "store");
    AUTO_FREE char *temp = path_join(fuzz_folder(), "temp");
    if (path_make_dirs(temp, 0700, &e) < 0)
        abort();
    b->temp = temp;
    image_store *s = image_store_open(dir, &e);
    if (!s)
        abort();
    int status = dockerfile_run(s, d, b, &built, &e);
    if (status < 0 && !*e.text)
        abort();
    if (status == 0) {
        *out = built.manifest;
        image_built_done(&built);
    }
    image_store_free(s);
    if (path_remove(dir, &e) < 0 || path_remove(temp, &e) < 0)
        abort();
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const args[] = {"V=given", "EMPTY=", NULL};
    static bool ready;
    err e = {0};
    if (!ready)
        make_context();
    ready = true;
    AUTO_FREE char *text = mem_strndup((const char *)data, n);
    AUTO_FREE char *context = path_join(fuzz_folder(), "context");
    struct dockerfile d = {0};
    if (dockerfile_parse(text, &d, &e) != 0) {
        if (!*e.text)
            abort();
        return 0;
    }
    const struct layer_told told = {.fn = check_file};
    struct dockerfile_build b = {.name = "Dockerfile",
        .context = context,
        .args = args,
        .tag = "fuzz/built",
        .added = &told,
        .need = need};
    oci_descriptor first, again;
    list_images(&d, &b);
    if (build(&d, &b, &first) == 0 &&
        (build(&d, &b, &again) != 0 || !str_eq(first.digest.text, again.digest.text)))
        abort();
    dockerfile_done(&d);
    return 0;
}
