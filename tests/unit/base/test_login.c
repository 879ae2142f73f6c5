// SPDX-License-Identifier: MIT
// What ends with a login, by files as systemd's logind has them; and what processes use.
#include "base/mem.h"
#include "base/os/login.h"
#include "base/os/path.h"
#include "base/os/proctree.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSION "0::/user.slice/user-1000.slice/session-3.scope\n"
#define MANAGER "0::/user.slice/user-1000.slice/user@1000.service/app.slice/tmux.scope\n"
#define SERVICE "0::/system.slice/ssh.service\n"

static char *root;

static void put(const char *name, const char *text)
{
    AUTO_FREE char *path = str_fmt("%s%s", root, name);
    AUTO_FREE char *folder = path_dirname(path);
    CHECK_INT(path_make_dirs(folder, 0755, NULL), 0);
    CHECK_INT(path_write(path, text, strlen(text), 0644, NULL), 0);
}

static enum login_end end_of(const char *cgroup, const char *user, const char *remedy)
{
    AUTO_BUF text = {0};
    enum login_end end = login_end_of(root, cgroup, user, &text);
    CHECK_STR(buf_cstr(&text), remedy);
    return end;
}

static void begin(void)
{
    root = path_make_temp("/tmp", "firesteel-test-", NULL);
    put("/run/systemd/system/x", "");
}

static void end(void)
{
    path_remove(root, NULL);
    free(STEAL(root));
}

TEST(a_session_is_killed_where_logind_says_so)
{
    begin();
    CHECK_INT(end_of(SESSION, "ann", ""), LOGIN_LEAVES);
    put("/etc/systemd/logind.conf", "[Login]\n#KillUserProcesses=yes\n");
    CHECK_INT(end_of(SESSION, "ann", ""), LOGIN_LEAVES);
    put("/etc/systemd/logind.conf.d/10-kill.conf", "[Login]\nKillUserProcesses=yes\n");
    CHECK_INT(end_of(SESSION, "ann",
                  "loginctl enable-linger ann; systemd-run --user --scope firesteel NOTEBOOK"),
        LOGIN_KILLS);
    CHECK_INT(end_of(SESSION, "root", ""), LOGIN_LEAVES); // spared, if nothing else is said
    CHECK_INT(end_of(SERVICE, "ann", ""), LOGIN_LEAVES);
    put("/var/lib/systemd/linger/ann", "");
    CHECK_INT(end_of(SESSION, "ann", "systemd-run --user --scope firesteel NOTEBOOK"), LOGIN_KILLS);
    put("/etc/systemd/logind.conf.d/20-only.conf", "[Login]\nKillOnlyUsers=bob eve\n");
    CHECK_INT(end_of(SESSION, "ann", ""), LOGIN_LEAVES);
    put("/etc/systemd/logind.conf.d/30-later.conf", "[Login]\nKillUserProcesses=no\n");
    CHECK_INT(end_of(SESSION, "eve", ""), LOGIN_LEAVES);
    end();
}

TEST(the_users_manager_ends_with_the_last_login_unless_it_lingers)
{
    begin();
    CHECK_INT(end_of(MANAGER, "ann", "loginctl enable-linger ann"), LOGIN_LAST);
    put("/var/lib/systemd/linger/ann", "");
    CHECK_INT(end_of(MANAGER, "ann", ""), LOGIN_LINGERS);
    end();
    begin();
    AUTO_FREE char *systemd = str_fmt("%s/run", root);
    path_remove(systemd, NULL);
    CHECK_INT(end_of(SESSION, "ann", ""), LOGIN_NO_SYSTEMD);
    end();
}

enum { BYTES = 24 << 20 };

// A child that holds memory, and tells when it does.
static pid_t hold(int *told)
{
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *bytes = malloc(BYTES);
        memset(bytes, 1, BYTES);
        if (write(ends[1], bytes, 1) == 1)
            pause();
        _exit(0);
    }
    close(ends[1]);
    *told = ends[0];
    return pid;
}

TEST(memory_is_that_of_a_process_and_all_below_it)
{
    char byte;
    int told;
    pid_t child = hold(&told);
    CHECK_INT(read(told, &byte, 1), 1);
    proctree *t = proctree_read();
    CHECK_INT(proctree_parent(t, child), getpid());
    int64_t of_child = proctree_memory(t, child), of_both = proctree_memory(t, getpid());
    CHECK(of_child >= BYTES && of_child < 4 * (int64_t)BYTES);
    CHECK(of_both >= of_child);
    CHECK_INT(proctree_memory(t, 0x3fffffff), 0);
    proctree_free(t);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(told);
}

int main(void)
{
    return tap_run();
}
