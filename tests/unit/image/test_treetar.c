// SPDX-License-Identifier: MIT
// What a stranger's container may send. Run twice: as the system is, and without openat2.
#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/treetar.h"
#include "tests/support/tap.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// An entry: 'f'ile, 'd'irectory, sym'l'ink, 'h'ard link, 'p'ipe.
struct item {
    char type;
    const char *path, *text; // content or target
    int mode;
};

static char *at(const char *name)
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
                                  : i->type == 'p' ? AE_IFIFO
                                                   : AE_IFREG);
    archive_entry_set_size(x, (la_int64_t)n);
    archive_entry_set_mtime(x, 1000000000, 0);
    if (i->type == 'l')
        archive_entry_set_symlink(x, i->text);
    if (i->type == 'h')
        archive_entry_set_hardlink(x, i->text);
    CHECK_INT(archive_write_header(a, x), ARCHIVE_OK);
    if (n)
        CHECK_INT(archive_write_data(a, i->text, n), n);
    archive_entry_free(x);
}

// Takes the items, of which "out" is wanted, as `target`.
static int take_as(const char *target, const struct item *items, struct treetar_told *told, err *e)
{
    AUTO_FREE char *path = at("stream.tar"), *to = at(target);
    struct archive *a = archive_write_new();
    archive_write_set_format_gnutar(a);
    CHECK_INT(archive_write_open_filename(a, path), ARCHIVE_OK);
    for (; items->path; items++)
        write_item(a, items);
    archive_write_close(a);
    archive_write_free(a);
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    *e = (err){0};
    return treetar_read(fd, "./out", to, told, e);
}

#define ITEMS(...) ((const struct item[]){__VA_ARGS__, {0}})

static void check_taken(const struct item *items, int left_out)
{
    err e;
    struct treetar_told told;
    CHECK_OK(take_as("here", items, &told, &e) == 0, e);
    CHECK_INT(told.left_out, left_out);
}

static void check_refused(const struct item *items, const char *why)
{
    err e;
    struct treetar_told told;
    CHECK_INT(take_as("here", items, &told, &e), -1);
    CHECK_HAS(e.text, why);
}

// "file", "folder", "-> TARGET", or "" for nothing; new.
static char *kind_of(const char *name)
{
    AUTO_FREE char *path = at(name);
    struct stat st;
    char to[500];
    if (lstat(path, &st))
        return mem_strdup("");
    ssize_t n = S_ISLNK(st.st_mode) ? readlink(path, to, sizeof to) : -1;
    return n >= 0                ? str_fmt("-> %.*s", (int)n, to)
           : S_ISDIR(st.st_mode) ? mem_strdup("folder")
                                 : mem_strdup("file");
}

static void check_kind(const char *name, const char *want)
{
    AUTO_FREE char *got = kind_of(name);
    if (!str_eq(got, want))
        tap_fail(__FILE__, __LINE__, "%s: got “%s”, want “%s”", name, got, want);
}

static void check_text(const char *name, const char *want)
{
    err e = {0};
    AUTO_BUF text = {0};
    AUTO_FREE char *path = at(name);
    CHECK_OK(path_read(path, &text, 0, &e) == 0, e);
    CHECK_STR(buf_cstr(&text), want);
}

static void put(const char *name, const char *text)
{
    err e = {0};
    AUTO_FREE char *path = at(name), *folder = path_dirname(path);
    CHECK_OK(path_make_dirs(folder, 0755, &e) == 0 &&
                 path_write(path, text, strlen(text), 0644, &e) == 0,
        e);
}

static void link_to(const char *name, const char *to)
{
    AUTO_FREE char *path = at(name);
    CHECK_INT(symlink(to, path), 0);
}

TEST(a_tree_comes_as_it_is)
{
    struct stat st;
    check_taken(ITEMS({'d', "./out", NULL, 0750}, {'d', "./out/closed", NULL, 0500},
                    {'f', "./out/closed/f", "1", 06755}, {'h', "./out/same", "./out/closed/f"},
                    {'l', "./out/link", "closed/f"}, {'f', "./out/deep/er/g", "22"}),
        0);
    check_text("here/closed/f", "1");
    check_text("here/same", "1");
    check_text("here/link", "1");
    check_text("here/deep/er/g", "22");
    check_kind("here/link", "-> closed/f");
    AUTO_FREE char *top = at("here"), *closed = at("here/closed"), *file = at("here/closed/f");
    CHECK(stat(top, &st) == 0 && (st.st_mode & 07777) == 0750 && st.st_mtime == 1000000000);
    CHECK(stat(closed, &st) == 0 && (st.st_mode & 07777) == 0500 && st.st_mtime == 1000000000);
    CHECK(stat(file, &st) == 0 && (st.st_mode & 07777) == 0755 && st.st_nlink == 2);
    CHECK_INT(st.st_mtime, 1000000000);
    // Once more it is the same.
    check_taken(ITEMS({'d', "./out", NULL, 0750}, {'f', "./out/same", "3"},
                    {'l', "./out/link", "closed/f"}),
        0);
    check_text("here/same", "3");
    check_text("here/closed/f", "1");
}

TEST(a_file_alone)
{
    err e;
    struct treetar_told told;
    AUTO_FREE char *folder = at("folder");
    CHECK_OK(path_make_dirs(folder, 0700, &e) == 0, e);
    CHECK_OK(take_as("new/name", ITEMS({'f', "./out", "1"}), &told, &e) == 0, e);
    CHECK_INT(told.files, 1);
    CHECK_INT(told.bytes, 1);
    check_text("new/name", "1");
    CHECK_OK(take_as("folder", ITEMS({'f', "./out", "2"}), &told, &e) == 0, e);
    check_text("folder/out", "2");
    CHECK_OK(take_as("new/name", ITEMS({'f', "./out", "3"}), &told, &e) == 0, e);
    check_text("new/name", "3");
    struct stat st;
    CHECK(stat(folder, &st) == 0 && (st.st_mode & 0777) == 0700);
}

TEST(links_that_lead_out_are_left_out)
{
    put("victim/file", "ours");
    put("here/own", "x");
    AUTO_FREE char *own = at("here/own");
    check_taken(ITEMS({'d', "./out"}, {'l', "./out/abs", "/etc/passwd"}, {'l', "./out/own2", own},
                    {'l', "./out/up", ".."}, {'l', "./out/deep", "."},
                    {'l', "./out/esc", "deep/deep/deep/../victim/file"},
                    {'l', "./out/escdir", "deep/deep/../victim"}, {'d', "./out/d"},
                    {'l', "./out/d/two", "../../victim"}, {'l', "./out/gap", "none/../../victim"},
                    {'l', "./out/slow", "gap2/../own"}, {'l', "./out/self", "self/../../victim"}),
        9);
    static const char *const out[] = {
        "abs", "own2", "up", "esc", "escdir", "d/two", "gap", "slow", "self"};
    for (size_t i = 0; i < ARRAY_LEN(out); i++) {
        AUTO_FREE char *name = str_fmt("here/%s", out[i]);
        check_kind(name, "");
    }
    check_kind("here/deep", "-> .");
}

// Whatever order the stream has them in.
TEST(links_through_links_are_decided_at_the_end)
{
    check_taken(
        ITEMS({'l', "./out/c", "b/../a/f"}, {'l', "./out/b", "x/y"}, {'l', "./out/x", "real"},
            {'l', "./out/evil", "x/y/../../../victim"}, {'l', "./out/later", "not/yet"},
            {'f', "./out/real/y/g", "g"}, {'f', "./out/real/a/f", "f"}),
        1);
    check_kind("here/c", "-> b/../a/f");
    check_text("here/c", "f");
    check_text("here/b/g", "g");
    check_kind("here/later", "-> not/yet");
    check_kind("here/evil", "");
}

// A link of an earlier copy is not completed by a later one.
TEST(a_second_stream_makes_no_link_lead_out)
{
    put("victim/file", "ours");
    check_taken(ITEMS({'d', "./out"}, {'l', "./out/l", "a/b/../../x"}, {'l', "./out/m", "q/y"}), 1);
    check_kind("here/l", "");
    check_taken(
        ITEMS({'d', "./out"}, {'l', "./out/q", ".."}, {'d', "./out/a"}, {'l', "./out/a/b", "."}),
        1);
    check_kind("here/q", "");
    check_taken(ITEMS({'d', "./out"}, {'l', "./out/q", "a"}), 0);
    check_taken(ITEMS({'d', "./out"}, {'l', "./out/l", "a/b/../../../x"}), 1);
}

TEST(nothing_is_written_through_a_link_of_the_stream)
{
    put("victim/file", "ours");
    check_refused(
        ITEMS({'d', "./out"}, {'d', "./out/a"}, {'l', "./out/l", "a"}, {'f', "./out/l/f", "1"}),
        "below a link of its own");
    check_kind("here/a/f", "");
    check_refused(ITEMS({'d', "./out"}, {'l', "./out/l", "../victim"}, {'d', "./out/l/sub"}),
        "below a link of its own");
    check_taken(
        ITEMS({'d', "./out"}, {'l', "./out/k", "a"}, {'f', "./out/k", "1"}), 0); // the later counts
    check_text("here/k", "1");
    check_taken(
        ITEMS({'d', "./out"}, {'l', "./out/n", "a"}, {'d', "./out/n"}, {'f', "./out/n/f", "1"}), 0);
    check_text("here/n/f", "1");
    check_refused(ITEMS({'d', "./out"}, {'f', "./out/o/f", "1"}, {'l', "./out/o", "a"}),
        "here/o is a folder here, and a link in the stream");
    check_text("victim/file", "ours");
}

TEST(hard_links_stay)
{
    put("victim/file", "ours");
    check_refused(
        ITEMS({'d', "./out"}, {'h', "./out/h", "/etc/passwd"}), "not below what was asked for");
    check_refused(ITEMS({'d', "./out"}, {'h', "./out/h", "./out/../victim/file"}), "not below");
    check_refused(ITEMS({'d', "./out"}, {'h', "./out/h", "./out"}), "not below");
    check_taken(
        ITEMS({'d', "./out"}, {'l', "./out/e", "../victim/file"}, {'h', "./out/h", "./out/e"}), 2);
    check_kind("here/h", "");
    check_taken(ITEMS({'d', "./out"}, {'f', "./out/f", "1"}, {'l', "./out/e", "f"},
                    {'h', "./out/h", "./out/e"}, {'h', "./out/f", "./out/f"}),
        0);
    check_kind("here/h", "-> f");
    link_to("here/mine", "../victim");
    check_refused(ITEMS({'d', "./out"}, {'h', "./out/x", "./out/mine/file"}), "cannot link");
    check_refused(ITEMS({'d', "./out"}, {'h', "./out/x", "./out/mine"}), "which is none");
    check_text("victim/file", "ours");
}

TEST(a_link_of_ours_is_neither_replaced_nor_written_through)
{
    put("disk/file", "ours");
    put("here/conf", "c");
    AUTO_FREE char *disk = at("disk");
    link_to("here/sub", disk);
    link_to("here/inner", "real");
    link_to("here/file", "conf");
    link_to("here/latest", "run1");
    put("here/real/x", "x");
    check_refused(ITEMS({'d', "./out"}, {'d', "./out/sub"}, {'f', "./out/sub/f", "1"}),
        "here/sub is a link to ");
    check_refused(ITEMS({'f', "./out/sub/deep/f", "1"}), "here/sub is a link to ");
    check_refused(ITEMS({'f', "./out/inner/f", "1"}),
        "here/inner is a link to real here: it is neither "
        "replaced nor written through");
    check_refused(ITEMS({'f', "./out/file", "1"}), "here/file is a link to conf");
    check_refused(ITEMS({'f', "./out/a", "1"}, {'h', "./out/file", "./out/a"}),
        "here/file is a link to conf");
    check_refused(ITEMS({'l', "./out/latest", "run2"}, {'f', "./out/b", "1"}),
        "here/latest is a link to run1");
    check_text("here/b", "1"); // all else is there
    check_taken(ITEMS({'d', "./out"}, {'l', "./out/latest", "run1"}), 0);
    AUTO_FREE char *want = str_fmt("-> %s", disk);
    check_kind("here/sub", want);
    check_kind("here/inner", "-> real");
    check_kind("here/file", "-> conf");
    check_kind("here/latest", "-> run1");
    check_text("here/conf", "c");
    check_kind("disk/f", "");
    check_kind("disk/deep", "");
}

TEST(the_target_may_be_a_link_to_a_folder)
{
    err e;
    struct treetar_told told;
    put("disk/file", "ours");
    link_to("link", "disk");
    link_to("dangling", "nowhere");
    CHECK_OK(take_as("link", ITEMS({'d', "./out"}, {'f', "./out/f", "1"}, {'l', "./out/l", "f"}),
                 &told, &e) == 0,
        e);
    check_text("disk/f", "1");
    check_kind("disk/l", "-> f");
    check_kind("link", "-> disk");
    CHECK_INT(take_as("dangling", ITEMS({'d', "./out"}, {'f', "./out/f", "1"}), &told, &e), -1);
    CHECK_HAS(e.text, "dangling is a link to nowhere");
    CHECK_INT(take_as("dangling", ITEMS({'f', "./out", "1"}), &told, &e), -1);
    CHECK_HAS(e.text, "dangling is a link to nowhere");
    check_kind("nowhere", "");
}

TEST(that_nothing_was_copied_is_said)
{
    check_refused(ITEMS({'l', "./out", "/etc"}),
        "nothing was copied: ./out is no file, folder or link inside");
    check_refused(ITEMS({'l', "./out", "x"}), "nothing was copied");
    check_refused(ITEMS({'p', "./out", NULL}), "nothing was copied");
    check_kind("here", "");
    check_taken(ITEMS({'d', "./out"}), 0); // an empty folder is something
    check_kind("here", "folder");
    check_refused(ITEMS({'l', "./out", "../x"}), "nothing was copied");
    check_taken(ITEMS({'l', "./out", "x"}), 0); // into the folder
    check_kind("here/out", "-> x");
}

TEST(an_empty_folder_is_written_and_a_pipe_is_not)
{
    err e = {0};
    struct treetar_told told = {0};
    AUTO_FREE char *folder = at("empty"), *pipe = at("pipe"), *path = at("written.tar");
    AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK_INT(mkdir(folder, 0755), 0);
    CHECK_INT(mkfifo(pipe, 0600), 0);
    CHECK_OK(treetar_write(fd, folder, "empty", &told, &e) == 0, e);
    CHECK_INT(treetar_write(fd, pipe, "pipe", &(struct treetar_told){0}, &e), -1);
    CHECK_HAS(e.text, "nothing was copied: ");
}

TEST(names_stay)
{
    put("victim/file", "ours");
    static const char *const bad[] = {
        "/etc/x", "./out/../../victim/x", "./outx", "../out", "./out/a/../../b"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check_refused(ITEMS({'f', bad[i], "1"}), "not below what was asked for");
    AUTO_BUF deep = {0};
    buf_str(&deep, "./out");
    for (int i = 0; i < 20000; i++)
        buf_str(&deep, "/d");
    check_refused(ITEMS({'d', buf_cstr(&deep)}), "not below what was asked for");
    buf_str(&deep, "/../x");
    check_taken(ITEMS({'d', "./out"}, {'l', "./out/long", buf_cstr(&deep)}), 1);
}

int main(void)
{
    return tap_run();
}
