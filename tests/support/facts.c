// SPDX-License-Identifier: MIT
// Prints what a process has inherited from its starter, as JSON; or, the opposite, is a starter
// that leaves a mess.
//
//   facts [--of PID] [--to FILE]    {"pid", "fds": {"0": LINK…}, "umask", "ignored", "blocked",
//                                    "env": […], "group", "session", "terminal", "dumpable"}
//   facts --mess LOCK UMASK -- COMMAND…    becomes COMMAND with descriptors 3 to 12 open (9 holds a
//                                    lock on the file LOCK) where the caller has none, signals
//                                    ignored and others blocked
//   facts --stay SECONDS             set-user-ID of root: stays, as root, in spite of any signal
#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int mess(char **argv)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGPIPE, SIGCHLD, SIGUSR1, SIGHUP, SIGTSTP};
    static const int blocked[] = {SIGTERM, SIGUSR2, SIGALRM, SIGWINCH};
    sigset_t set;
    int lock = open(argv[0], O_RDWR | O_CREAT, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0)
        return perror(argv[0]), 1;
    for (int fd = 3; fd <= 12; fd++)
        if (fcntl(fd, F_GETFD) < 0 || fd == lock)
            dup2(lock, fd);
    if (lock > 12)
        close(lock);
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(blocked); i++)
        sigaddset(&set, blocked[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    umask((mode_t)strtol(argv[1], NULL, 8));
    execvp(argv[3], argv + 3);
    return perror(argv[3]), 127;
}

static void add_fds(cJSON *facts, const char *proc)
{
    cJSON *fds = json_object_at(facts, "fds");
    AUTO_FREE char *folder = path_join(proc, "fd");
    DIR *d = opendir(folder);
    bool own = str_eq(proc, "/proc/self");
    for (struct dirent *entry; d && (entry = readdir(d));) {
        char link[4096];
        if (entry->d_name[0] == '.' || (own && atoi(entry->d_name) == dirfd(d)))
            continue;
        ssize_t n = readlinkat(dirfd(d), entry->d_name, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        json_set_str(fds, entry->d_name, link);
    }
    if (d)
        closedir(d);
}

static void add_status(cJSON *facts, const char *proc)
{
    static const struct {
        const char *line, *name;
    } wanted[] = {{"\nUmask:", "umask"}, {"\nSigIgn:", "ignored"}, {"\nSigBlk:", "blocked"}};
    AUTO_FREE char *path = path_join(proc, "status");
    AUTO_BUF text = {0};
    path_read(path, &text, 0, NULL);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        const char *at = strstr(buf_cstr(&text), wanted[i].line);
        at = at ? at + strlen(wanted[i].line) : "";
        AUTO_FREE char *value = str_trim(at, strcspn(at, "\n"));
        json_set_str(facts, wanted[i].name, value);
    }
}

static void add_place(cJSON *facts, const char *proc)
{
    AUTO_FREE char *path = path_join(proc, "stat");
    AUTO_BUF text = {0};
    int group = 0, session = 0, terminal = 0;
    path_read(path, &text, 0, NULL);
    const char *after = strrchr(buf_cstr(&text), ')');
    if (after)
        sscanf(after, ") %*c %*d %d %d %d", &group, &session, &terminal);
    json_set_int(facts, "pid", atoi(buf_cstr(&text)));
    json_set_int(facts, "group", group);
    json_set_int(facts, "session", session);
    json_set_int(facts, "terminal", terminal);
}

static void add_env(cJSON *facts, const char *proc)
{
    cJSON *env = json_array_at(facts, "env");
    AUTO_FREE char *path = path_join(proc, "environ");
    AUTO_BUF text = {0};
    path_read(path, &text, 0, NULL);
    for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1)
        cJSON_AddItemToArray(env, cJSON_CreateString(text.data + at));
}

// Installed set-user-ID, this is a process that its starter cannot kill.
static int stay(const char *seconds)
{
    if (setuid(0) < 0 || getuid() != 0)
        return 1;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_IGN);
    sleep((unsigned)atoi(seconds));
    return 0;
}

int main(int argc, char **argv)
{
    const char *of = "self", *to = NULL;
    if (argc > 5 && str_eq(argv[1], "--mess"))
        return mess(argv + 2);
    if (argc == 3 && str_eq(argv[1], "--stay"))
        return stay(argv[2]);
    for (int i = 1; i + 1 < argc; i += 2)
        *(str_eq(argv[i], "--of") ? &of : &to) = argv[i + 1];
    AUTO_JSON *facts = cJSON_CreateObject();
    AUTO_FREE char *proc = path_join("/proc", of);
    AUTO_BUF text = {0};
    add_fds(facts, proc);
    add_status(facts, proc);
    add_place(facts, proc);
    add_env(facts, proc);
    json_set_bool(facts, "dumpable", prctl(PR_GET_DUMPABLE) == 1);
    json_print(&text, facts);
    buf_char(&text, '\n');
    if (to)
        return path_write(to, text.data, text.len, 0644, NULL) < 0;
    return fwrite(text.data, 1, text.len, stdout) != text.len;
}
