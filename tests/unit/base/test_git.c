// SPDX-License-Identifier: MIT
// The commit that is checked out, from the files of a repository of which nothing is trusted.
#include "base/mem.h"
#include "base/os/git.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ONE  "1111111111111111111111111111111111111111"
#define TWO  "2222222222222222222222222222222222222222"
#define LONG "3333333333333333333333333333333333333333333333333333333333333333"

static char *make(const char *name)
{
    return path_make_temp("/tmp", name, NULL);
}

static void put(const char *folder, const char *name, const char *text)
{
    err e = {0};
    AUTO_FREE char *path = path_join(folder, name);
    AUTO_FREE char *parent = path_dirname(path);
    CHECK_OK(path_make_dirs(parent, 0700, &e) == 0, e);
    CHECK_OK(path_write(path, text, strlen(text), 0600, &e) == 0, e);
}

static void check_head(const char *folder, const char *commit, const char *branch)
{
    err e = {0};
    struct git_head head;
    CHECK_OK(git_head_read(folder, &head, &e) == 0, e);
    CHECK_STR(head.commit, commit);
    CHECK(str_eq(head.branch, branch));
    git_head_done(&head);
}

static void check_fails(const char *folder, err_code code, const char *text)
{
    err e = {0};
    struct git_head head;
    CHECK_INT(git_head_read(folder, &head, &e), -1);
    CHECK_INT(e.code, code);
    CHECK(strstr(e.text, text));
    git_head_done(&head);
}

TEST(branches)
{
    AUTO_FREE char *at = make("git-");
    put(at, ".git/HEAD", "ref: refs/heads/main\n");
    check_head(at, "", "main"); // no commit yet
    put(at, ".git/packed-refs",
        "# pack-refs with: peeled fully-peeled sorted\n" TWO " refs/heads/main2\n" TWO
        " refs/heads/main\n^" ONE "\n");
    check_head(at, TWO, "main");
    put(at, ".git/refs/heads/main", ONE "\n"); // newer than the packed one
    check_head(at, ONE, "main");
    put(at, ".git/HEAD", LONG "\n");
    check_head(at, LONG, NULL); // detached
    put(at, "a/b/c.lua", "");
    AUTO_FREE char *below = path_join(at, "a/b");
    check_head(below, LONG, NULL);
    path_remove(at, NULL);
}

TEST(linked_working_tree)
{
    AUTO_FREE char *at = make("git-");
    AUTO_FREE char *linked = make("git-");
    AUTO_FREE char *dot = str_fmt("gitdir: %s/.git/worktrees/w\n", at);
    put(at, ".git/HEAD", "ref: refs/heads/main\n");
    put(at, ".git/refs/heads/main", ONE "\n");
    put(at, ".git/refs/heads/side", TWO "\n");
    put(at, ".git/worktrees/w/HEAD", "ref: refs/heads/side\n");
    put(at, ".git/worktrees/w/commondir", "../..\n");
    put(linked, ".git", dot);
    check_head(linked, TWO, "side");
    check_head(at, ONE, "main");
    path_remove(at, NULL);
    path_remove(linked, NULL);
}

// Git itself would take such a folder for a repository, with its settings.
TEST(bare_folder_is_none)
{
    AUTO_FREE char *at = make("git-");
    AUTO_FREE char *bare = path_join(at, "bare");
    put(at, ".git/HEAD", ONE "\n");
    put(at, "bare/HEAD", TWO "\n");
    put(at, "bare/config", "[core]\nfsmonitor = touch /tmp/never\n");
    put(at, "bare/objects/x", "");
    put(at, "bare/refs/x", "");
    check_head(bare, ONE, NULL);
    path_remove(at, NULL);
}

TEST(what_is_no_repository)
{
    AUTO_FREE char *at = make("git-");
    check_fails(at, ERR_NOT_FOUND, "no git repository");
    put(at, ".git/HEAD", "ref: refs/heads/../../../../etc/passwd\n");
    check_fails(at, ERR_INVALID, "leads to no branch");
    put(at, ".git/HEAD", "ref: /etc/passwd\n");
    check_fails(at, ERR_INVALID, "leads to no branch");
    put(at, ".git/HEAD", "ref: refs/heads/a\n");
    put(at, ".git/refs/heads/a", "ref: refs/heads/a\n"); // round and round
    check_fails(at, ERR_INVALID, "leads to no branch");
    put(at, ".git/refs/heads/a", "11111\n");
    check_fails(at, ERR_INVALID, "names no commit");
    put(at, ".git/HEAD", "ref: refs/heads/.invalid\n");
    check_fails(at, ERR_INVALID, "reftable");
    path_remove(at, NULL);
}

// Reading it would wait for ever for somebody who writes.
TEST(a_pipe_is_not_waited_for)
{
    AUTO_FREE char *at = make("git-");
    AUTO_FREE char *head = path_join(at, ".git/HEAD");
    put(at, ".git/x", "");
    CHECK_INT(mkfifo(head, 0600), 0);
    check_fails(at, ERR_INVALID, "names no commit");
    path_remove(at, NULL);
}

int main(void)
{
    return tap_run();
}
