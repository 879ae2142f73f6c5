// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/index.h"
#include "k8s/image/programs/build.h"
#include "k8s/image/unpack.h"
#include "tests/support/tap.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// A tar entry: type 'f'ile, 'd'irectory, sym'l'ink, 'h'ard link, 'c'haracter device.
struct item {
    char type;
    const char *path, *text; // content or target
    int mode;
};

static char *file_at(const char *name)
{
    return path_join(tap_dir(), name);
}

static void write_item(struct archive *a, const struct item *i)
{
    struct archive_entry *x = archive_entry_new();
    size_t n = i->type == 'f' && i->text ? strlen(i->text) : 0;
    archive_entry_set_pathname(x, i->path);
    archive_entry_set_perm(x, i->mode ? (mode_t)i->mode : i->type == 'd' ? 0755 : 0644);
    archive_entry_set_filetype(x, i->type == 'd'   ? AE_IFDIR
                                  : i->type == 'l' ? AE_IFLNK
                                  : i->type == 'c' ? AE_IFCHR
                                                   : AE_IFREG);
    archive_entry_set_size(x, (la_int64_t)n);
    if (i->type == 'l')
        archive_entry_set_symlink(x, i->text);
    if (i->type == 'h')
        archive_entry_set_hardlink(x, i->text);
    CHECK_INT(archive_write_header(a, x), ARCHIVE_OK);
    if (n)
        CHECK_INT(archive_write_data(a, i->text, n), n);
    archive_entry_free(x);
}

// Writes the items as a tar, opens it.
static int tar_of(const struct item *items)
{
    AUTO_FREE char *path = file_at("layer.tar");
    struct archive *a = archive_write_new();
    archive_write_set_format_ustar(a);
    archive_write_add_filter_gzip(a);
    CHECK_INT(archive_write_open_filename(a, path), ARCHIVE_OK);
    for (; items->path; items++)
        write_item(a, items);
    archive_write_close(a);
    archive_write_free(a);
    return open(path, O_RDONLY);
}

static struct image_limits plenty(void)
{
    return (struct image_limits){1 << 20, 1000};
}

static int unpack(const struct item *items, err *e)
{
    AUTO_FREE char *root = file_at("root");
    CHECK_OK(path_make_dirs(root, 0755, e) == 0, *e);
    struct image_limits left = plenty();
    int fd = tar_of(items), status = image_unpack_layer(fd, root, &left, e);
    close(fd);
    return status;
}

static void check_unpacks(const struct item *items)
{
    err e = {0};
    CHECK_OK(unpack(items, &e) == 0, e);
}

static bool is_there(const char *name)
{
    struct stat st;
    AUTO_FREE char *path = file_at(name);
    return lstat(path, &st) == 0;
}

static void check_text(const char *name, const char *want)
{
    err e = {0};
    AUTO_BUF text = {0};
    AUTO_FREE char *path = file_at(name);
    CHECK_OK(path_read(path, &text, 0, &e) == 0, e);
    CHECK_STR(buf_cstr(&text), want);
}

TEST(files_folders_and_links)
{
    check_unpacks((struct item[]){{'d', "./", NULL}, {'f', "./etc/hosts", "h"}, // no entry for etc
        {'d', "bin", NULL, 0555}, {'f', "bin/sh", "sh", 04755}, {'h', "bin/dash", "bin/sh"},
        {'l', "lib", "usr/lib"}, {'c', "dev/null", NULL}, {0}});
    check_text("root/etc/hosts", "h");
    check_text("root/bin/dash", "sh");
    struct stat a, b;
    AUTO_FREE char *sh = file_at("root/bin/sh"), *dash = file_at("root/bin/dash");
    stat(sh, &a);
    stat(dash, &b);
    CHECK_INT(a.st_ino, b.st_ino);
    CHECK_INT(a.st_mode & 07777, 0755); // not set-uid
    CHECK(is_there("root/lib"));
    CHECK(!is_there("root/dev/null"));
}

TEST(later_layers_replace)
{
    check_unpacks((struct item[]){{'f', "a", "1"}, {'d', "d", NULL}, {'f', "d/x", "1"},
        {'l', "l", "a"}, {'f', "f", "1"}, {0}});
    check_unpacks((struct item[]){{'f', "a", "2"}, {'f', "d", "a file now"}, {'f', "l", "2"},
        {'d', "f", NULL}, {'f', "f/x", "2"}, {0}});
    check_text("root/a", "2");
    check_text("root/d", "a file now");
    check_text("root/l", "2"); // the link was replaced, not written through
    check_text("root/f/x", "2");
}

TEST(folders_keep_what_is_in_them)
{
    check_unpacks((struct item[]){{'d', "d", NULL, 0755}, {'f', "d/x", "1"}, {0}});
    check_unpacks((struct item[]){{'d', "d", NULL, 0700}, {'f', "d/y", "2"}, {0}});
    check_text("root/d/x", "1");
    check_text("root/d/y", "2");
}

TEST(whiteouts)
{
    check_unpacks((struct item[]){{'f', "a", "1"}, {'f', "b", "1"}, {'f', "d/x", "1"},
        {'f', "d/sub/y", "1"}, {'f', "e/x", "1"}, {0}});
    // In the worst order: the new content stands before the whiteouts.
    check_unpacks((struct item[]){{'f', "d/new", "2"}, {'f', "b", "2"}, {'f', ".wh.a", ""},
        {'f', ".wh.b", ""}, {'f', "d/.wh..wh..opq", ""}, {'f', ".wh.e", ""},
        {'f', "nowhere/.wh.x", ""}, {0}});
    CHECK(!is_there("root/a"));
    check_text("root/b", "2");
    CHECK(!is_there("root/d/x") && !is_there("root/d/sub"));
    check_text("root/d/new", "2");
    CHECK(!is_there("root/e") && !is_there("root/.wh.a"));
}

TEST(nothing_gets_out)
{
    err e = {0};
    AUTO_FREE char *outside = file_at("outside"), *target = str_fmt("%s/outside", tap_dir());
    CHECK_OK(path_make_dirs(outside, 0755, &e) == 0, e);
    // Through a link prepared by the same layer: the file lands below the root, at the link's name
    // there.
    unpack((struct item[]){{'l', "out", target}, {'f', "out/x", "1"}, {0}}, &e);
    CHECK(!is_there("outside/x"));
    unpack((struct item[]){{'l', "up", "../outside"}, {'f', "up/y", "1"}, {0}}, &e);
    CHECK(!is_there("outside/y"));
    unpack((struct item[]){{'l', "loop", "loop"}, {'f', "loop/x", "1"}, {0}}, &e);
    // An absolute name is one below the root.
    check_unpacks((struct item[]){{'f', "/abs", "1"}, {0}});
    check_text("root/abs", "1");
    // Whiteouts do not lead out either.
    AUTO_FREE char *kept = file_at("outside/kept");
    CHECK_OK(path_write(kept, "k", 1, 0644, &e) == 0, e);
    unpack((struct item[]){{'f', "up/.wh.kept", ""}, {'f', "up/.wh..wh..opq", ""}, {0}}, &e);
    unpack((struct item[]){{'f', "out/.wh.kept", ""}, {0}}, &e);
    check_text("outside/kept", "k");
    // Nor hard links.
    CHECK_INT(unpack((struct item[]){{'h', "stolen", "../outside/kept"}, {0}}, &e), -1);
    unpack((struct item[]){{'h', "stolen", "up/kept"}, {0}}, &e);
    CHECK(!is_there("root/stolen"));
}

TEST(dots_are_refused)
{
    const char *const bad[] = {"../x", "a/../../x", "..", "a/.."};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err e = {0};
        CHECK_INT(unpack((struct item[]){{'f', bad[i], "1"}, {0}}, &e), -1);
        CHECK_INT(e.code, ERR_CORRUPT);
    }
    err e = {0};
    CHECK_INT(unpack((struct item[]){{'f', ".wh...", ""}, {0}}, &e), -1);
    CHECK_INT(unpack((struct item[]){{'f', ".wh.", ""}, {0}}, &e), -1);
    CHECK(is_there("root"));
}

TEST(limits)
{
    err e = {0};
    AUTO_FREE char *root = file_at("root");
    CHECK_OK(path_make_dirs(root, 0755, &e) == 0, e);
    int fd = tar_of((struct item[]){{'f', "a", "12345"}, {'f', "b", "12345"}, {0}});
    struct image_limits bytes = {9, 10}, files = {100, 1}, enough = {10, 2};
    CHECK_INT(image_unpack_layer(fd, root, &bytes, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(image_unpack_layer(fd, root, &files, &e), -1);
    CHECK_HAS(e.text, "more files than are allowed");
    CHECK_OK(image_unpack_layer(fd, root, &enough, &e) == 0, e);
    close(fd);
}

// What is skipped has to be decompressed, too: so the heads are added up in the first pass.
TEST(what_the_heads_say_is_bounded_before_anything_is_written)
{
    err e = {0};
    AUTO_FREE char *root = file_at("root");
    CHECK_OK(path_make_dirs(root, 0755, &e) == 0, e);
    int fd = tar_of((struct item[]){{'f', "a", "1"}, {'f', "b", "12345"}, {'f', ".wh.a", ""}, {0}});
    struct image_limits bytes = {5, 10}, files = {100, 2};
    CHECK_INT(image_unpack_layer(fd, root, &bytes, &e), -1);
    CHECK_HAS(e.text, "more bytes than are allowed");
    CHECK_INT(image_unpack_layer(fd, root, &files, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(!is_there("root/a"));
    close(fd);
}

TEST(damaged_streams)
{
    err e = {0};
    AUTO_FREE char *path = file_at("layer.tar"), *root = file_at("root");
    CHECK_OK(path_make_dirs(root, 0755, &e) == 0, e);
    close(tar_of((struct item[]){{'f', "a", "12345"}, {0}}));
    AUTO_BUF whole = {0};
    CHECK_OK(path_read(path, &whole, 0, &e) == 0, e);
    for (size_t n = 1; n < whole.len; n += 5) {
        struct image_limits left = plenty();
        CHECK_OK(path_write(path, whole.data, n, 0644, &e) == 0, e);
        int fd = open(path, O_RDONLY);
        if (n + 40 < whole.len) // the rest is padding
            CHECK_INT(image_unpack_layer(fd, root, &left, &e), -1);
        close(fd);
    }
    struct image_limits left = plenty();
    CHECK_OK(path_write(path, "not a tar at all", 16, 0644, &e) == 0, e);
    int fd = open(path, O_RDONLY);
    CHECK_INT(image_unpack_layer(fd, root, &left, &e), -1);
    CHECK_INT(e.code, ERR_CORRUPT);
    close(fd);
}

static image_store *store_with_image(struct image_built *built)
{
    err e = {0};
    AUTO_FREE char *dir = file_at("images"), *cwd = file_at("cwd"), *file = file_at("cwd/t.lua");
    image_store *s = image_store_open(dir, &e);
    CHECK_OK(s && path_make_dirs(cwd, 0755, &e) == 0, e);
    CHECK_OK(path_write(file, "print 1", 7, 0644, &e) == 0, e);
    const char *const dirs[] = {cwd, NULL};
    const struct image_copy add[] = {{"t.lua", NULL}, {0}};
    CHECK_OK(image_build(s,
                 &(struct image_build){
                     .tag = "t", .dirs = dirs, .add = add, .worker.program = "/proc/self/exe"},
                 built, &e) == 0,
        e);
    return s;
}

// A root from before the machine's last start may have been damaged by a power cut.
static void check_older(
    const image_store *s, const oci_digest *image, const char *cache, const char *root)
{
    err e = {0};
    struct stat st;
    AUTO_FREE char *trainer = path_join(root, "work/t.lua"), *place = path_dirname(root),
                   *boot = path_join(place, "boot");
    CHECK_INT(truncate(trainer, 0), 0);
    AUTO_FREE char *same = image_unpack(s, image, cache, NULL, &e);
    CHECK(same && stat(trainer, &st) == 0 && st.st_size == 0);
    CHECK_OK(path_write(boot, "another life\n", 13, 0600, &e) == 0, e);
    AUTO_FREE char *again = image_unpack(s, image, cache, NULL, &e);
    CHECK_OK(again, e);
    CHECK(stat(trainer, &st) == 0 && st.st_size == 7);
}

TEST(several_processes_unpack_once)
{
    err e = {0};
    struct image_built built;
    image_store *s = store_with_image(&built);
    AUTO_FREE char *cache = file_at("cache");
    pid_t pids[4];
    for (int i = 0; i < 4; i++)
        if ((pids[i] = fork()) == 0)
            _exit(image_unpack(s, &built.manifest.digest, cache, NULL, NULL) ? 0 : 1);
    for (int i = 0; i < 4; i++) {
        int status;
        waitpid(pids[i], &status, 0);
        CHECK_INT(status, 0);
    }
    AUTO_FREE char *root = image_unpack(s, &built.manifest.digest, cache, NULL, &e);
    CHECK_OK(root, e);
    AUTO_FREE char *trainer = path_join(root, "work/t.lua"),
                   *worker = path_join(root, "opt/firesteel/firesteel-worker"),
                   *libc = path_join(root, "opt/firesteel/lib/libc.so.6"),
                   *partial = path_join(cache, ".partial");
    CHECK(path_exists(trainer) && access(worker, X_OK) == 0 && path_exists(libc));
    CHECK(!path_exists(partial));

    struct image_config c;
    CHECK_OK(image_config_read(s, &built.manifest.digest, &c, &e) == 0, e);
    CHECK_STR(c.working_dir, "/work");
    CHECK_STR(c.entrypoint[0], "/opt/firesteel/firesteel-worker");
    CHECK(!c.cmd && !c.user);
    CHECK_HAS(c.env[0], "PATH=/opt/firesteel:");
    image_config_done(&c);
    check_older(s, &built.manifest.digest, cache, root);
    image_built_done(&built);
    image_store_free(s);
}

TEST(a_damaged_layer_leaves_nothing)
{
    err e = {0};
    struct image_built built;
    image_store *s = store_with_image(&built);
    AUTO_FREE char *cache = file_at("cache"), *partial = path_join(cache, ".partial"),
                   *blob = image_store_blob_path(s, &built.content.layers[1].digest);
    CHECK_OK(path_write(blob, "x", 1, 0644, &e) == 0, e);
    CHECK(!image_unpack(s, &built.manifest.digest, cache, NULL, &e));
    CHECK_INT(e.code, ERR_CORRUPT);
    CHECK_HAS(e.text, "layer 2: the manifest says ");
    AUTO_FREE char *place = path_join(cache, oci_digest_hex(&built.manifest.digest));
    CHECK(!path_exists(place) && !path_exists(partial));
    AUTO_FREE char *other = file_at("layer.tar"); // somebody else's, and whole
    close(tar_of((struct item[]){{'f', "planted", "1"}, {0}}));
    AUTO_BUF bytes = {0};
    CHECK_OK(path_read(other, &bytes, 0, &e) == 0, e);
    while ((int64_t)bytes.len < built.content.layers[1].size)
        buf_char(&bytes, '\0');
    CHECK_OK(path_write(blob, bytes.data, bytes.len, 0644, &e) == 0, e);
    CHECK(!image_unpack(s, &built.manifest.digest, cache, NULL, &e));
    CHECK_HAS(e.text, "layer 2 (sha256:");
    CHECK_HAS(e.text, "the blob is damaged");
    CHECK(!path_exists(place) && !path_exists(partial));
    image_built_done(&built);
    image_store_free(s);
}

// The image's manifest in the store, with another size for its first layer; new.
static oci_digest with_size(const image_store *s, const struct image_built *b, const char *size)
{
    err e = {0};
    AUTO_BUF text = {0}, changed = {0};
    oci_digest d;
    CHECK_OK(image_store_read(s, &b->manifest.digest, &text, 0, &e) == 0, e);
    const char *key = strstr(buf_cstr(&text), "\"layers\"");
    const char *at = strstr(strstr(key, "\"size\":"), ":") + 1;
    buf_add(&changed, text.data, (size_t)(at - text.data));
    buf_fmt(&changed, "%s%s", size, at + strspn(at, "0123456789"));
    CHECK_OK(image_store_add(s, changed.data, changed.len, &d, &e) == 0, e);
    return d;
}

TEST(a_manifest_that_says_another_size_is_refused)
{
    struct image_built built;
    image_store *s = store_with_image(&built);
    AUTO_FREE char *cache = file_at("cache");
    static const char *const sizes[] = {"1", "4611686018427387904"};
    static const char *const why[] = {
        "the manifest says 1 bytes for sha256:", "no blob has that many"};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        err e = {0};
        oci_digest d = with_size(s, &built, sizes[i]);
        oci_descriptor image = {built.manifest.type, d, 1};
        CHECK(!image_unpack(s, &d, cache, NULL, &e));
        CHECK_HAS(e.text, why[i]);
        CHECK_INT(image_store_tag(s, "bad:1", &image, &e), -1);
        CHECK_HAS(e.text, why[i]);
        CHECK_INT(
            image_build(s, &(struct image_build){.from = d.text, .tag = "on:1", .no_worker = true},
                &(struct image_built){0}, &e),
            -1);
        CHECK_HAS(e.text, why[i]);
    }
    image_built_done(&built);
    image_store_free(s);
}

TEST(copies_are_private)
{
    err e = {0};
    check_unpacks((struct item[]){{'f', "w/sub/a", "1", 0755}, {'l', "w/link", "sub/a"}, {0}});
    AUTO_FREE char *from = file_at("root/w"), *to = file_at("copy"), *a = file_at("copy/sub/a");
    CHECK_OK(image_copy_tree(from, to, &e) == 0, e);
    check_text("copy/link", "1");
    CHECK(access(a, X_OK) == 0);
    CHECK_OK(path_write(a, "2", 1, 0644, &e) == 0, e);
    check_text("root/w/sub/a", "1");
}

int main(void)
{
    return tap_run();
}
