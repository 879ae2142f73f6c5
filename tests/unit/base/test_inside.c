// SPDX-License-Identifier: MIT
// Run twice: as the system is, and without openat2.
#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *at(const char *name)
{
    return path_join(tap_dir(), name);
}

static void put(const char *name)
{
    err e = {0};
    AUTO_FREE char *path = at(name), *folder = path_dirname(path);
    CHECK_OK(path_make_dirs(folder, 0755, &e) == 0 &&
                 path_write(path, name, strlen(name), 0644, &e) == 0,
        e);
}

static void link_to(const char *name, const char *to)
{
    AUTO_FREE char *path = at(name);
    CHECK_INT(symlink(to, path), 0);
}

// root/ has files and links, some of which lead to secret, beside it.
static int tree(void)
{
    AUTO_FREE char *root = at("root"), *absolute = at("secret"), *own = at("root/a/f");
    put("secret");
    put("root/a/f");
    put("root/a/b/g");
    put("root/secret");
    link_to("root/file", "a/f");
    link_to("root/folder", "a/b");
    link_to("root/a/b/up", "../../a/./b/../f");
    link_to("root/out", "../secret");
    link_to("root/a/out", "b/../../../secret");
    link_to("root/absolute", absolute);
    link_to("root/own", own);
    link_to("root/inroot", "/a/f");
    link_to("root/dots", "../../../..");
    link_to("root/dot", ".");
    link_to("root/sly", "dot/dot/dot/../secret");
    link_to("root/loop", "loop");
    link_to("root/one", "two");
    link_to("root/two", "one");
    link_to("root/nothing", "a/nothing");
    link_to("root/slashed", "a/b//");
    return open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// The text of the file that the name leads to; a folder: its name in the test's folder. Else the
// error.
static char *read_as(int root, const char *name, int flags, enum inside how)
{
    AUTO_FD fd = inside_open(root, name, flags, how);
    if (fd < 0)
        return mem_strdup(strerrorname_np(errno));
    AUTO_BUF text = {0};
    struct stat st;
    CHECK_INT(fstat(fd, &st), 0);
    if (S_ISREG(st.st_mode) && fd_read_all(fd, &text, 0, NULL) == 0)
        return buf_take(&text);
    return mem_strdup(S_ISDIR(st.st_mode) ? "folder" : S_ISLNK(st.st_mode) ? "link" : "other");
}

struct want {
    const char *name, *root, *beneath, *no_links;
};

static const struct want wants[] = {
    {"a/f", "root/a/f", "root/a/f", "root/a/f"},
    {"./a//b/./g", "root/a/b/g", "root/a/b/g", "root/a/b/g"},
    {"", "folder", "folder", "folder"},
    {".", "folder", "folder", "folder"},
    {"a/b/", "folder", "folder", "folder"},
    {"a/f/", "ENOTDIR", "ENOTDIR", "ENOTDIR"},
    {"a/f/x", "ENOTDIR", "ENOTDIR", "ENOTDIR"},
    {"a/x", "ENOENT", "ENOENT", "ENOENT"},
    {"x/a", "ENOENT", "ENOENT", "ENOENT"},
    {"a/../a/f", "root/a/f", "root/a/f", "root/a/f"},
    {"a/b/../../secret", "root/secret", "root/secret", "root/secret"},
    {"../secret", "root/secret", "EXDEV", "EXDEV"},
    {"a/../../secret", "root/secret", "EXDEV", "EXDEV"},
    {"/a/f", "root/a/f", "EXDEV", "EXDEV"},
    {"file", "root/a/f", "root/a/f", "ELOOP"},
    {"folder/g", "root/a/b/g", "root/a/b/g", "ELOOP"},
    {"folder/up", "root/a/f", "root/a/f", "ELOOP"},
    {"folder/../f", "root/a/f", "root/a/f", "ELOOP"}, // the folder above a/b
    {"slashed", "folder", "folder", "ELOOP"},
    {"out", "root/secret", "EXDEV", "ELOOP"},
    {"a/out", "root/secret", "EXDEV", "ELOOP"},
    {"absolute", "ENOENT", "EXDEV", "ELOOP"},
    {"own", "ENOENT", "EXDEV", "ELOOP"},
    {"inroot", "root/a/f", "EXDEV", "ELOOP"},
    {"dots", "folder", "EXDEV", "ELOOP"},
    {"dots/a/f", "root/a/f", "EXDEV", "ELOOP"},
    {"dot/dot/a/f", "root/a/f", "root/a/f", "ELOOP"},
    {"sly", "root/secret", "EXDEV", "ELOOP"},
    {"loop", "ELOOP", "ELOOP", "ELOOP"},
    {"one/x", "ELOOP", "ELOOP", "ELOOP"},
    {"nothing", "ENOENT", "ENOENT", "ELOOP"},
};

TEST(names_are_opened_inside)
{
    AUTO_FD root = tree();
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        const struct want *w = &wants[i];
        const char *want[] = {w->root, w->beneath, w->no_links};
        for (int how = INSIDE_ROOT; how <= INSIDE_NO_LINKS; how++) {
            AUTO_FREE char *got = read_as(root, w->name, O_RDONLY, (enum inside)how);
            if (!str_eq(got, want[how]))
                tap_fail(__FILE__, __LINE__, "“%s”, rule %d: got %s, want %s", w->name, how, got,
                    want[how]);
        }
    }
}

TEST(a_last_link_may_be_meant_itself)
{
    AUTO_FD root = tree();
    for (int how = INSIDE_ROOT; how <= INSIDE_NO_LINKS; how++) {
        AUTO_FREE char *itself = read_as(root, "out", O_PATH | O_NOFOLLOW, (enum inside)how),
                       *content = read_as(root, "file", O_RDONLY | O_NOFOLLOW, (enum inside)how),
                       *file = read_as(root, "a/f", O_RDONLY | O_NOFOLLOW, (enum inside)how),
                       *folder = read_as(root, "a/f", O_PATH | O_DIRECTORY, (enum inside)how);
        CHECK_STR(itself, "link");
        CHECK_STR(content, "ELOOP");
        CHECK_STR(file, "root/a/f");
        CHECK_STR(folder, "ENOTDIR");
    }
    AUTO_FREE char *through = read_as(root, "folder/", O_PATH | O_NOFOLLOW, INSIDE_ROOT);
    CHECK_STR(through, "folder");
}

TEST(a_name_has_a_greatest_length)
{
    AUTO_FD root = tree();
    AUTO_BUF name = {0};
    for (int i = 0; i < 100000; i++)
        buf_str(&name, "a/../");
    CHECK(inside_open(root, buf_cstr(&name), O_PATH, INSIDE_ROOT) < 0 && errno == ENAMETOOLONG);
    CHECK(inside_make_dirs(root, buf_cstr(&name), 0755, INSIDE_ROOT) < 0 && errno == ENAMETOOLONG);
    CHECK(!inside_name(root, buf_cstr(&name), INSIDE_ROOT) && !inside_stays(root, buf_cstr(&name)));
}

static void check_name(int root, const char *name, const char *want)
{
    AUTO_FREE char *got = inside_name(root, name, INSIDE_ROOT);
    CHECK_STR(got, want);
}

TEST(names_without_links)
{
    AUTO_FD root = tree();
    check_name(root, "", "");
    check_name(root, "./a//b/", "a/b");
    check_name(root, "folder/up", "a/f");
    check_name(root, "folder/../b/g", "a/b/g");
    check_name(root, "out", "secret");
    check_name(root, "inroot", "a/f");
    check_name(root, "dots", "");
    check_name(root, "absolute", NULL);
    check_name(root, "loop", NULL);
    CHECK(!inside_name(root, "out", INSIDE_BENEATH) && errno == EXDEV);
}

TEST(what_is_missing_may_stay)
{
    AUTO_FD root = tree();
    static const char *const stay[] = {
        "a/f", "new", "new/file", "a/../new", "folder/../new", "dot/x", "nothing", "nothing/more"};
    static const char *const leave[] = {"../new", "a/../../new", "new/../new", "out", "sly",
        "absolute", "dots", "folder/../../../x", "nothing/../x", "/a"};
    for (size_t i = 0; i < ARRAY_LEN(stay); i++)
        if (!inside_stays(root, stay[i]))
            tap_fail(__FILE__, __LINE__, "%s should stay", stay[i]);
    for (size_t i = 0; i < ARRAY_LEN(leave); i++)
        if (inside_stays(root, leave[i]))
            tap_fail(__FILE__, __LINE__, "%s should not", leave[i]);
}

static bool is_folder(const char *name)
{
    AUTO_FREE char *path = at(name);
    return path_is_dir(path);
}

TEST(folders_are_made_inside)
{
    AUTO_FD root = tree();
    AUTO_FD plain = inside_make_dirs(root, "n/e/w", 0700, INSIDE_NO_LINKS),
            linked = inside_make_dirs(root, "folder/n/w", 0755, INSIDE_ROOT),
            clamped = inside_make_dirs(root, "dots/n2", 0755, INSIDE_ROOT);
    CHECK(plain >= 0 && linked >= 0 && clamped >= 0);
    CHECK(is_folder("root/n/e/w") && is_folder("root/a/b/n/w") && is_folder("root/n2"));
    CHECK(!is_folder("n2"));
    CHECK(inside_make_dirs(root, "dots/n3", 0755, INSIDE_BENEATH) < 0 && errno == EXDEV);
    CHECK(inside_make_dirs(root, "folder/n3", 0755, INSIDE_NO_LINKS) < 0 && errno == ELOOP);
    CHECK(inside_make_dirs(root, "a/f/n3", 0755, INSIDE_ROOT) < 0 && errno == ENOTDIR);
    CHECK(inside_make_dirs(root, "nothing", 0755, INSIDE_ROOT) < 0); // a link that leads nowhere
    CHECK(!is_folder("root/a/b/n3") && !is_folder("root/a/nothing"));
}

// A child swaps this for a link that leads out, and back, as fast as it can.
static pid_t swapper(const char *name, const char *to)
{
    AUTO_FREE char *real = at(name), *aside = at("root/a/real"), *bad = at("root/a/bad");
    CHECK_INT(symlink(to, bad), 0);
    pid_t child = fork();
    while (child == 0) {
        rename(real, aside);
        rename(bad, real);
        rename(real, bad);
        rename(aside, real);
    }
    return child;
}

static void check_swapped(const char *name, const char *to, const char *const *names)
{
    enum { TRIES = 20000 };
    AUTO_FD root = tree();
    put("outside/g");
    AUTO_FREE char *other = NULL;
    pid_t child = swapper(name, to);
    size_t seen = 0;
    for (int i = 0; i < TRIES && !other; i++) {
        AUTO_FREE char *got = read_as(root, names[1 + i % 2], O_RDONLY, INSIDE_ROOT);
        seen += str_eq(got, names[0]);
        if (str_eq(got, "outside/g"))
            other = STEAL(got);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_STR(other, NULL);
    CHECK(seen > 0);
}

TEST(a_swapped_folder_leads_nowhere)
{
    check_swapped(
        "root/a/b", "../../outside", (const char *const[]){"root/a/b/g", "a/b/g", "a/b/../b/g"});
}

TEST(a_swapped_file_leads_nowhere)
{
    check_swapped(
        "root/a/f", "../../outside/g", (const char *const[]){"root/a/f", "a/f", "a/../a/f"});
}

static size_t open_files(void)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

TEST(nothing_stays_open)
{
    AUTO_FD root = tree();
    size_t before = open_files();
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        free(read_as(root, wants[i].name, O_RDONLY, INSIDE_ROOT));
        free(read_as(root, wants[i].name, O_PATH, INSIDE_BENEATH));
        free(inside_name(root, wants[i].name, INSIDE_ROOT));
        inside_stays(root, wants[i].name);
    }
    CHECK_INT(open_files(), before);
}

int main(void)
{
    return tap_run();
}
