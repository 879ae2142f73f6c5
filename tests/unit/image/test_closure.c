// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "k8s/image/closure.h"
#include "tests/support/tap.h"

static const struct closure_library *find(const struct closure *c, const char *soname)
{
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->libraries[i].soname, soname))
            return &c->libraries[i];
    return NULL;
}

TEST(needs_of_a_program)
{
    err e = {0};
    struct closure c = {0};
    CHECK_OK(closure_add(&c, "/proc/self/exe", &e) == 0, e);
    CHECK(c.interpreter && path_exists(c.interpreter));
    CHECK(find(&c, "libc.so.6"));
    AUTO_FREE char *interpreter = path_basename(c.interpreter);
    CHECK(find(&c, interpreter)); // it is a file of the image like any other
    for (size_t i = 1; i < c.n; i++)
        CHECK(strcmp(c.libraries[i - 1].soname, c.libraries[i].soname) < 0);
    size_t n = c.n;
    CHECK_OK(closure_add(&c, "/proc/self/exe", &e) == 0, e);
    CHECK_INT(c.n, n);
    closure_done(&c);
}

// The same set that the dynamic linker itself loaded into this process.
TEST(agrees_with_the_linker)
{
    err e = {0};
    struct closure c = {0};
    CHECK_OK(closure_add(&c, "/proc/self/exe", &e) == 0, e);
    AUTO_BUF maps = {0};
    CHECK_OK(path_read("/proc/self/maps", &maps, 0, &e) == 0, e);
    for (size_t i = 0; i < c.n; i++) {
        AUTO_FREE char *real = path_absolute(c.libraries[i].path, &e);
        CHECK_HAS(buf_cstr(&maps), real);
    }
    closure_done(&c);
}

TEST(files_that_are_none)
{
    err e = {0};
    struct closure c = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "file");
    CHECK_INT(closure_add(&c, path, &e), -1);
    CHECK_INT(e.code, ERR_NOT_FOUND);
    const char *const bad[] = {"", "#!/bin/sh\n", "\177ELF"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_OK(path_write(path, bad[i], strlen(bad[i]), 0755, &e) == 0, e);
        CHECK_INT(closure_add(&c, path, &e), -1);
        CHECK_HAS(e.text, "is not an ELF file of this machine");
    }
    closure_done(&c);
}

// Files that are cut anywhere, or have a changed byte anywhere in their tables, give an answer,
// never a crash.
TEST(damaged_files)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "file");
    AUTO_BUF whole = {0};
    CHECK_OK(path_read("/proc/self/exe", &whole, 0, &e) == 0, e);
    size_t head = whole.len < 2048 ? whole.len : 2048;
    for (size_t i = 0; i < head; i += 7) {
        struct closure c = {0};
        whole.data[i] = (char)~whole.data[i];
        CHECK_OK(path_write(path, whole.data, whole.len / 2 + i, 0755, &e) == 0, e);
        closure_add(&c, path, NULL);
        closure_done(&c);
        whole.data[i] = (char)~whole.data[i];
    }
}

// A needed library that does not exist.
TEST(a_missing_library_is_named)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "file");
    AUTO_BUF whole = {0};
    CHECK_OK(path_read("/proc/self/exe", &whole, 0, &e) == 0, e);
    for (char *p = whole.data;
         (p = memmem(p, (size_t)(whole.data + whole.len - p), "libc.so.6", 9)); p++)
        memcpy(p, "libx.so.9", 9);
    CHECK_OK(path_write(path, whole.data, whole.len, 0755, &e) == 0, e);
    struct closure c = {0};
    CHECK_INT(closure_add(&c, path, &e), -1);
    CHECK_HAS(e.text, "needs libx.so.9");
    closure_done(&c);
}

int main(void)
{
    return tap_run();
}
