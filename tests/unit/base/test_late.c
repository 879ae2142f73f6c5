// SPDX-License-Identifier: MIT
#include "base/os/late.h"

#include "base/os/path.h"
#include "tests/support/tap.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void *functions[1];
static struct late library(const char *soname, const char *const *names)
{
    functions[0] = NULL;
    return (struct late){
        .soname = soname, .package = "libm1", .names = names, .functions = functions, .n = 1};
}

TEST(a_missing_library_names_its_package)
{
    err e = {0};
    const char *const names[] = {"cos"};
    struct late l = library("libabsent.so.9", names);
    CHECK_INT(late_load(&l, &e), -1);
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_HAS(e.text, "libabsent.so.9 (Debian: apt install libm1) cannot be loaded: ");
    CHECK(!functions[0]);
    CHECK_INT(late_load(&l, NULL), -1);
}

TEST(a_library_without_a_function_is_too_old)
{
    err e = {0};
    const char *const names[] = {"cosine_of_all"};
    struct late l = library("libm.so.6", names);
    CHECK_INT(late_load(&l, &e), -1);
    CHECK_STR(e.text, "libm.so.6 has no cosine_of_all: it is too old");
    CHECK(!functions[0]);
}

static void *load(void *l)
{
    late_must(l);
    return functions[0];
}

TEST(threads_load_it_once)
{
    const char *const names[] = {"cos"};
    struct late l = library("libm.so.6", names);
    pthread_t all[8];
    void *found[8];
    for (int i = 0; i < 8; i++)
        CHECK_INT(pthread_create(&all[i], NULL, load, &l), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(all[i], &found[i]);
    for (int i = 0; i < 8; i++)
        CHECK(found[i] && found[i] == found[0]);
    double (*cosine)(double);
    memcpy(&cosine, &found[0], sizeof cosine);
    CHECK(cosine(0) == 1);
}

// A function that is called before its library was looked for: no call of NULL.
TEST(what_must_be_there_and_is_not_ends_the_program)
{
    const char *const names[] = {"cos"};
    struct late l = library("libabsent.so.9", names);
    int said[2], status;
    CHECK_INT(pipe(said), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(said[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        late_must(&l);
        _exit(0);
    }
    close(said[1]);
    AUTO_BUF text = {0};
    err e = {0};
    CHECK_OK(fd_read_all(said[0], &text, 1 << 16, &e) == 0, e);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_HAS(buf_cstr(&text), "libabsent.so.9 (Debian: apt install libm1)");
    close(said[0]);
}

int main(void)
{
    return tap_run();
}
