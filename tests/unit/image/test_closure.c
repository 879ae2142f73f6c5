// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/archive_late.h"
#include "k8s/image/programs/closure.h"
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

// The same set that the dynamic linker itself loaded into this process, now and when asked to.
TEST(agrees_with_the_linker)
{
    err e = {0};
    struct closure c = {0};
    CHECK_OK(archive_late(&e) == 0, e);
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

// The needs of this program with one text put for another.
static int changed_needs(const char *from, const char *to, struct closure *c, err *e)
{
    AUTO_FREE char *path = path_join(tap_dir(), "file");
    AUTO_BUF whole = {0};
    CHECK_OK(path_read("/proc/self/exe", &whole, 0, e) == 0, *e);
    size_t n = strlen(from);
    for (char *p = whole.data; (p = memmem(p, (size_t)(whole.data + whole.len - p), from, n)); p++)
        memcpy(p, to, n);
    CHECK_OK(path_write(path, whole.data, whole.len, 0755, e) == 0, *e);
    return closure_add(c, path, e);
}

// A needed library that does not exist, whether it is linked or loaded later.
TEST(a_missing_library_is_named)
{
    err e = {0};
    struct closure c = {0};
    CHECK_INT(changed_needs("libc.so.6", "libx.so.9", &c, &e), -1);
    CHECK_HAS(e.text, "needs libx.so.9");
    CHECK_INT(changed_needs("libarchive.so", "libarchivx.so", &c, &e), -1);
    CHECK_HAS(e.text, "needs libarchivx.so");
    closure_done(&c);
}

// A library that is needed by a path has no place in an image's folder of libraries.
TEST(a_library_that_is_needed_by_a_path_is_refused)
{
    static const char *const names[] = {
        "/ibc.so.6", "../c.so.6", "x/bc.so.6", "\0ibc.so.6", "..\0bc.so.6"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        err e = {0};
        struct closure c = {0};
        AUTO_FREE char *words = str_fmt("needs the library \"%s\"", names[i]);
        CHECK_INT(changed_needs("libc.so.6", names[i], &c, &e), -1);
        CHECK_INT(e.code, ERR_INVALID);
        CHECK_HAS(e.text, words);
        for (size_t k = 0; k < c.n; k++)
            CHECK(*c.libraries[k].soname && !strchr(c.libraries[k].soname, '/'));
        closure_done(&c);
    }
}

// What is loaded later is found by the note alone: that must be right, and says "required".
TEST(what_is_loaded_later_counts)
{
    err e = {0};
    struct closure c = {0};
    CHECK_OK(closure_add(&c, "/proc/self/exe", &e) == 0, e);
    size_t n = c.n;
    closure_done(&c);
    CHECK_OK(changed_needs("required", "reversed", &c, &e) == 0, e);
    CHECK(c.n < n);
    closure_done(&c);
    CHECK_INT(changed_needs("[{\"soname", "[[\"soname", &c, &e), -1);
    CHECK_HAS(e.text, "has a damaged .note.dlopen");
    closure_done(&c);
}

int main(void)
{
    return tap_run();
}
