// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/hidden.h"
#include "script/journal/file/lock.h"
#include "script/journal/file/writer.h"
#include "tests/support/tap.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct lock_holder me = {
    .run = (char *)"nb-1", .cwd = (char *)"/here", .socket = (char *)"/run/nb.sock"};

static char *document(void)
{
    err e = {0};
    char *path = path_join(tap_dir(), "nb.lua");
    CHECK_OK(path_write(path, "", 0, 0644, &e) == 0, e);
    return path;
}

static char *lock_file(void)
{
    return path_join(tap_dir(), ".firesteel/nb.lua.lock");
}

static void write_lock(const char *text)
{
    err e = {0};
    AUTO_FREE char *path = lock_file();
    AUTO_FD dir = hidden_make(tap_dir(), &e);
    CHECK_OK(dir >= 0, e);
    CHECK_OK(path_write(path, text, strlen(text), 0600, &e) == 0, e);
}

TEST(one_has_it_until_it_is_released)
{
    err e = {0};
    struct lock_holder who;
    AUTO_FREE char *path = document(), *link = path_join(tap_dir(), "other.lua"),
                   *file = lock_file();
    CHECK(symlink(path, link) == 0);
    CHECK(!document_lock_holder(path, "/", &who));
    document_lock *l = document_lock_take(path, &me, &e);
    CHECK_OK(l, e);
    CHECK(document_lock_is_of(l, path) && document_lock_is_of(l, link));
    CHECK(!document_lock_is_of(l, "/etc/passwd"));
    CHECK(document_lock_holder(link, "/", &who));
    CHECK_INT(who.pid, getpid());
    CHECK_STR(who.run, "nb-1");
    CHECK_STR(who.cwd, "/here");
    CHECK_STR(who.socket, "/run/nb.sock");
    lock_holder_done(&who);
    CHECK(!document_lock_take(link, &me, &e));
    CHECK_INT(e.code, ERR_CONFLICT);
    AUTO_FREE char *process = str_fmt("process %ld on ", (long)getpid());
    CHECK_HAS(e.text, process);
    CHECK_HAS(e.text, "run nb-1: `firesteel attach nb-1` joins it");
    document_lock_release(l);
    CHECK(!path_exists(file));
    CHECK(!document_lock_holder(path, "/", &who));
}

// A killed kernel that its guard has not waited for yet has its number still.
TEST(what_a_zombie_left_is_taken_over)
{
    err e = {0};
    AUTO_FREE char *path = document();
    siginfo_t ended = {0};
    pid_t child = fork();
    if (child == 0)
        _exit(document_lock_take(path, &me, NULL) ? 0 : 1);
    CHECK(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) == 0 && ended.si_status == 0);
    CHECK(kill(child, 0) == 0);
    document_lock *l = document_lock_take(path, &me, &e);
    CHECK_OK(l, e);
    document_lock_release(l);
    CHECK(waitpid(child, NULL, 0) == child);
}

TEST(what_a_dead_process_left_is_taken_over)
{
    err e = {0};
    AUTO_FREE char *path = document(), *file = lock_file();
    pid_t child = fork();
    if (child == 0)
        _exit(document_lock_take(path, &me, NULL) ? 0 : 1); // and not released
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(path_exists(file));
    document_lock *l = document_lock_take(path, &me, &e);
    CHECK_OK(l, e);
    document_lock_release(l);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    // The process number now belongs to another process.
    AUTO_FREE char *reused =
        str_fmt("{\"host\":\"%s\",\"pid\":%ld,\"start\":1}", host, (long)getpid());
    static const char *const stale[] = {"", "{\"host\":", "{}"};
    write_lock(reused);
    l = document_lock_take(path, &me, &e);
    CHECK_OK(l, e);
    document_lock_release(l);
    for (size_t i = 0; i < ARRAY_LEN(stale); i++) {
        write_lock(stale[i]);
        l = document_lock_take(path, &me, &e);
        CHECK_OK(l, e);
        document_lock_release(l);
    }
}

TEST(another_machine_is_not_judged)
{
    err e = {0};
    AUTO_FREE char *path = document(), *file = lock_file();
    write_lock("{\"host\":\"elsewhere\",\"pid\":1,\"start\":1,\"run\":\"nb-2\"}");
    CHECK(!document_lock_take(path, &me, &e));
    CHECK_INT(e.code, ERR_CONFLICT);
    CHECK_HAS(e.text, "process 1 on elsewhere, run nb-2");
    CHECK_HAS(e.text, "if that machine is gone, remove ");
    CHECK_HAS(e.text, file);
    CHECK(unlink(file) == 0);
}

TEST(many_at_once_are_one_after_another)
{
    AUTO_FREE char *path = document();
    write_lock("{}"); // stale, so that all of them try to take it over
    pid_t children[8];
    int ready[2];
    char byte;
    CHECK(pipe(ready) == 0);
    for (size_t i = 0; i < ARRAY_LEN(children); i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        close(ready[1]);
        (void)!read(ready[0], &byte, 1); // until the parent closes it
        document_lock *l = document_lock_take(path, &me, NULL);
        usleep(300 * 1000); // they all try while the first one has it
        _exit(l ? 0 : 1);
    }
    close(ready[0]);
    close(ready[1]);
    int got = 0;
    for (size_t i = 0; i < ARRAY_LEN(children); i++) {
        int status;
        waitpid(children[i], &status, 0);
        got += status == 0;
    }
    CHECK_INT(got, 1);
}

int main(void)
{
    return tap_run();
}
