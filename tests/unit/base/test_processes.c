// SPDX-License-Identifier: MIT
// How children are started, and who owns run-time files.
#include "base/buf.h"
#include "base/mem.h"
#include "base/os/follow.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/os/spawn.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SH(script) ((const char *const[]){"/bin/sh", "-c", script, NULL})

static int code_of(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int open_file(const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(tap_dir(), name);
    CHECK(path_write(path, text, strlen(text), 0600, NULL) == 0);
    return open(path, O_RDONLY);
}

// a and b change places, and neither is close-on-exec there.
TEST(descriptors_may_change_places)
{
    int a = open_file("a", "a\n"), b = open_file("b", "b\n");
    struct spawn_fd fds[] = {{a, b}, {b, a}};
    AUTO_FREE char *script = str_fmt("read x <&%d; read y <&%d; [ $x$y = ba ]", a, b);
    struct spawn_spec spec = {.argv = SH(script), .fds = fds, .fd_n = 2};
    err e = {0};
    pid_t pid;
    CHECK_OK(spawn(&spec, &pid, &e) == 0, e);
    CHECK_INT(code_of(pid), 0);
    close(a);
    close(b);
}

TEST(what_is_not_named_is_closed)
{
    int a = open_file("a", "a\n");
    CHECK(dup2(a, 57) == 57);
    struct spawn_fd fds[] = {{a, 20}};
    struct spawn_spec spec = {.argv = SH("cd /proc/self/fd && [ -e 0 -a -e 1 -a -e 2 -a -e 20 ] && "
                                         "! [ -e 3 -o -e 4 -o -e 5 -o -e 19 -o -e 21 -o -e 57 ]"),
        .fds = fds,
        .fd_n = 1};
    err e = {0};
    pid_t pid;
    CHECK_OK(spawn(&spec, &pid, &e) == 0, e);
    CHECK_INT(code_of(pid), 0);
    close(a);
    close(57);
}

TEST(a_program_is_found_in_the_childs_path)
{
    AUTO_FREE char *tool = path_join(tap_dir(), "only-here"), *path = str_fmt("PATH=%s", tap_dir());
    CHECK(path_write(tool, "#!/bin/sh\nexit $CODE\n", 21, 0755, NULL) == 0);
    const char *argv[] = {"only-here", NULL}, *env[] = {path, "CODE=7", NULL};
    struct spawn_spec spec = {.argv = argv, .env = env};
    err e = {0};
    pid_t pid;
    CHECK_OK(spawn(&spec, &pid, &e) == 0, e);
    CHECK_INT(code_of(pid), 7);
    spec.env = NULL;
    CHECK_INT(spawn(&spec, &pid, &e), -1);
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1); // nothing is left of it
}

// The child can be waited for afterwards, and its end is seen by others, too.
TEST(the_end_of_a_child_is_seen)
{
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    struct spawn_fd fds[] = {{ends[0], 0}};
    struct spawn_spec spec = {.argv = SH("read x; exit 7"), .fds = fds, .fd_n = 1};
    err e = {0};
    pid_t pid;
    CHECK_OK(spawn(&spec, &pid, &e) == 0, e);
    close(ends[0]);
    int fd = follow(pid);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    CHECK(fd >= 0);
    CHECK_INT(poll(&end, 1, 50), 0);
    CHECK(!process_has_ended(pid));
    close(ends[1]);
    CHECK_INT(poll(&end, 1, -1), 1);
    CHECK(process_has_ended(pid));
    CHECK_INT(code_of(pid), 7);
    CHECK(process_has_ended(pid));
    CHECK(!process_has_ended(getpid()));
    CHECK(!process_has_ended(0));
    close(fd);
}

TEST(what_is_no_child_is_not_followed_for_long)
{
    struct spawn_spec spec = {.argv = SH("exit 0")};
    err e = {0};
    pid_t pid;
    CHECK_OK(spawn(&spec, &pid, &e) == 0, e);
    CHECK_INT(code_of(pid), 0);
    int fd = follow(pid);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    CHECK(fd < 0 || poll(&end, 1, 10000) == 1);
    if (fd >= 0)
        close(fd);
}

TEST(signals_are_as_at_login)
{
    struct spawn_spec spec = {.argv = SH("kill -INT $$; exit 1")};
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, &before);
    signal(SIGINT, SIG_IGN);
    err e = {0};
    pid_t pid;
    CHECK_OK(spawn(&spec, &pid, &e) == 0, e);
    CHECK_INT(code_of(pid), 1000 + SIGINT);
    sigset_t after;
    sigprocmask(SIG_SETMASK, &before, &after);
    CHECK(sigismember(&after, SIGINT) == 1); // ours is as it was
    signal(SIGINT, SIG_DFL);
}

static bool is_there(const char *name)
{
    AUTO_FREE char *path = path_join(tap_dir(), name);
    struct stat st;
    return lstat(path, &st) == 0;
}

TEST(what_has_an_owner_stays_and_the_rest_is_swept)
{
    err e = {0};
    int mine = -1;
    AUTO_FREE char *folder = owner_make_folder(tap_dir(), "mine-", &mine, &e);
    CHECK_OK(folder, e);
    AUTO_FREE char *socket = path_join(tap_dir(), "socket");
    pid_t pid = fork();
    if (pid == 0) { // takes one, makes it, and dies
        bool taken = owner_take(socket, NULL) >= 0;
        _exit(!taken || path_write(socket, "", 0, 0600, NULL) < 0);
    }
    CHECK_INT(code_of(pid), 0);
    CHECK(path_write(folder, "", 0, 0600, NULL) < 0); // it is a folder
    CHECK(is_there("socket") && is_there("socket.owner"));
    owner_sweep(tap_dir());
    CHECK(!is_there("socket") && !is_there("socket.owner"));
    CHECK(path_is_dir(folder));
    owner_remove(folder, &mine);
    CHECK(!path_exists(folder) && mine == -1);
    AUTO_FREE char *owner = owner_file(folder);
    CHECK(!path_exists(owner));
}

// The process is killed; a folder elsewhere tells of what it has made.
TEST(a_temporary_folder_goes_with_its_process)
{
    err e = {0};
    AUTO_FREE char *runtime = path_join(tap_dir(), "run"), *tmp = path_join(tap_dir(), "tmp"),
                   *told = path_join(tap_dir(), "tmp/path"),
                   *other = path_join(tap_dir(), "tmp/other");
    CHECK(path_make_dirs(runtime, 0700, &e) == 0 && path_make_dirs(other, 0700, &e) == 0);
    struct owner_temp mine;
    CHECK_OK(owner_temp_make(&mine, runtime, tmp, "mine-", &e) == 0, e);
    pid_t pid = fork();
    if (pid == 0) {
        struct owner_temp t;
        if (owner_temp_make(&t, runtime, tmp, "theirs-", NULL) == 0) {
            AUTO_FREE char *file = path_join(t.path, "file");
            path_write(file, "x", 1, 0600, NULL);
            path_write(told, t.path, strlen(t.path), 0600, NULL);
        }
        kill(getpid(), SIGKILL);
    }
    CHECK_INT(code_of(pid), 1000 + SIGKILL);
    AUTO_BUF theirs = {0};
    CHECK_OK(path_read(told, &theirs, 0, &e) == 0, e);
    CHECK(path_is_dir(buf_cstr(&theirs)));
    owner_sweep(runtime);
    CHECK(!path_exists(buf_cstr(&theirs)) && path_is_dir(mine.path) && path_is_dir(other));
    AUTO_FREE char *path = mem_strdup(mine.path);
    owner_temp_remove(&mine);
    owner_temp_remove(&mine);
    CHECK(!path_exists(path) && rmdir(runtime) == 0);
    CHECK_INT(owner_temp_make(&mine, runtime, tmp, "mine-", &e), -1); // nobody could tell of it
    CHECK(!mine.path && rmdir(other) == 0 && unlink(told) == 0 && rmdir(tmp) == 0);
    CHECK_OK(path_make_dirs(tmp, 0700, &e) == 0, e);
    CHECK_OK(owner_temp_make(&mine, NULL, tmp, "mine-", &e) == 0, e);
    owner_temp_remove(&mine);
    CHECK(rmdir(tmp) == 0);
}

TEST(a_living_owner_is_not_replaced)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "x");
    int fd = owner_take(path, &e);
    CHECK_OK(fd >= 0, e);
    CHECK_INT(owner_take(path, &e), -1);
    CHECK_INT(e.code, ERR_EXISTS);
    CHECK_HAS(e.text, "belongs to another process that is alive");
    owner_remove(path, &fd);
    CHECK_OK((fd = owner_take(path, &e)) >= 0, e);
    owner_remove(path, &fd);
}

TEST(a_claim_waits_for_who_takes_it)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), "claimed"), *file = owner_file(path);
    CHECK(owner_claim(path));
    CHECK(!owner_claim(path) && !owner_alive(path));
    owner_sweep(tap_dir());
    CHECK(!owner_claim(path));
    int fd = owner_take(path, &e);
    CHECK_OK(fd >= 0, e);
    owner_remove(path, &fd);
    CHECK(owner_claim(path)); // nobody takes it
    struct timespec then[2] = {{.tv_sec = time(NULL) - 20}, {.tv_sec = time(NULL) - 20}};
    CHECK(utimensat(AT_FDCWD, file, then, 0) == 0);
    owner_sweep(tap_dir());
    CHECK(!path_exists(file));
}

int main(void)
{
    return tap_run();
}
