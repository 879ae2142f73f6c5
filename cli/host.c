// SPDX-License-Identifier: MIT
#include "cli/host.h"

#include "base/mem.h"
#include "base/os/spawn.h"
#include "base/str.h"
#include "cli/places.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN "C.UTF-8"

const char *host_locale_named(const struct cli *cli)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *named = NULL;
    for (size_t i = 0; i < ARRAY_LEN(names) && !named; i++)
        named = cli_getenv(cli, names[i]);
    return named;
}

// The C library looks for locales where a variable says; it is set for this moment alone, so that
// no child inherits it.
static bool take_ours(void)
{
    AUTO_FREE char *ours = place_beside_loader("locale"), *before = NULL;
    if (!ours)
        return false;
    if (getenv("LOCPATH"))
        before = mem_strdup(getenv("LOCPATH"));
    setenv("LOCPATH", ours, 1);
    bool taken = setlocale(LC_CTYPE, PLAIN);
    if (before)
        setenv("LOCPATH", before, 1);
    else
        unsetenv("LOCPATH");
    return taken;
}

const char *host_locale(const struct cli *cli)
{
    const char *named = host_locale_named(cli);
    if (setlocale(LC_CTYPE, "") || !named ||
        (!strcasestr(named, "utf-8") && !strcasestr(named, "utf8")))
        return NULL;
    return setlocale(LC_CTYPE, PLAIN) || take_ours() ? PLAIN : NULL;
}

char **host_try_namespaces(const struct cli *cli, const char *program)
{
    static const char *const options[] = {
        "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--dev", "/dev", NULL};
    char **words = place_bwrap(cli_getenv(cli, "PATH"));
    if (!words)
        words = strv_add(NULL, "bwrap");
    for (size_t i = 0; options[i]; i++)
        words = strv_add(words, options[i]);
    return strv_add(strv_add(words, program), "--version");
}

int host_takes_images(struct cli *cli, err *e)
{
    AUTO_FREE char *program = cli_program(cli, "firesteel-sandbox", e);
    if (!program)
        return -1;
    char **words = host_try_namespaces(cli, program);
    struct spawn_spec spec = {
        .argv = (const char *const *)words, .place = SPAWN_GROUP, .death_signal = SIGKILL};
    pid_t child;
    int status = 0;
    bool started = spawn(&spec, &child, NULL) == 0;
    while (started && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    strv_free(words);
    if (!started)
        return err_set(e, ERR_FAILED,
            "bubblewrap is not installed, so pods of images do not run here: apt install "
            "bubblewrap "
            "(dnf, apk: the same name)");
    if (status == 0)
        return 0;
    bool older = syscall(SYS_openat2, -1, NULL, NULL, (size_t)0) < 0 && errno == ENOSYS;
    return err_set(e, ERR_FAILED, "pods of images do not run here: %s",
        older ? "this Linux is older than 5.6, which bubblewrap needs since its version 0.11; an "
                "older bubblewrap in PATH is taken first"
              : "this machine lets users make no namespaces: sysctl "
                "user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1, as root");
}
