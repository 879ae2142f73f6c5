// SPDX-License-Identifier: MIT
// What the guard removes when its kernel was killed: everything that was named, however much, but
// nothing that the kernel has removed itself.
#include "base/mem.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/kernel/process/guard.h"
#include "tests/support/tap.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// A guard whose kernel does something and is killed then.
static void guarded_by(const struct guard_end *end, void (*kernel)(void))
{
    const char *note;
    int status;
    tap_dir(); // the same one in all three
    pid_t guard = fork();
    if (guard == 0) {
        if (guard_start(&note, end, NULL) < 0)
            _exit(1);
        kernel();
        kill(getpid(), SIGKILL);
    }
    CHECK(guard > 0 && waitpid(guard, &status, 0) == guard);
    CHECK_INT(WEXITSTATUS(status), 128 + SIGKILL);
}

static void guarded(void (*kernel)(void))
{
    guarded_by(NULL, kernel);
}

static char *named(int i)
{
    AUTO_FREE char *name = str_fmt("leaving-%d", i);
    return path_join(tap_dir(), name);
}

static void make(const char *path)
{
    if (path_make_dirs(path, 0700, NULL) < 0)
        _exit(2);
}

enum { MANY = 40 };

static void make_many(void)
{
    for (int i = 0; i < MANY; i++) {
        AUTO_FREE char *path = named(i);
        make(path);
        guard_remove_at_end(path);
    }
}

TEST(however_much_a_killed_kernel_leaves_is_removed)
{
    guarded(make_many);
    CHECK(path_is_dir(tap_dir()));
    for (int i = 0; i < MANY; i++) {
        AUTO_FREE char *path = named(i);
        CHECK(!path_exists(path));
    }
}

static void make_and_remove_many(void)
{
    for (int i = 0; i < 1000; i++) {
        AUTO_FREE char *path = named(0), *owner = owner_file(path);
        make(path);
        guard_remove_at_end(owner);
        guard_remove_at_end(path);
        path_remove(path, NULL);
        guard_removed(path);
    }
    AUTO_FREE char *path = named(0), *owner = owner_file(path), *last = named(1);
    make(path); // somebody else's now
    make(owner);
    make(last);
    guard_remove_at_end(last);
    guard_removed(last); // which is not so
}

TEST(what_the_kernel_has_removed_itself_is_left_alone)
{
    guarded(make_and_remove_many);
    AUTO_FREE char *path = named(0), *owner = owner_file(path), *last = named(1);
    CHECK(path_exists(path) && path_exists(owner) && !path_exists(last));
}

static void note_meanwhile(void *arg)
{
    AUTO_FREE char *path = named(7);
    path_write(path, "x", 1, 0600, NULL);
    sleep(600); // the end does not wait for it
}

static void go_on(void)
{
    AUTO_FREE char *path = named(7);
    guard_went_on();
    guard_went_on();
    for (int i = 0; i < 2000 && !path_exists(path); i++)
        usleep(10000);
}

TEST(what_is_done_meanwhile_does_not_keep_the_guard)
{
    AUTO_FREE char *path = named(7);
    guarded_by(&(struct guard_end){.meanwhile = note_meanwhile}, go_on);
    CHECK(path_exists(path));
    path_remove(path, NULL);
    guarded_by(&(struct guard_end){0}, guard_went_on); // nobody listens
    CHECK(!path_exists(path));
}

int main(void)
{
    return tap_run();
}
