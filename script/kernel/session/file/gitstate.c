// SPDX-License-Identifier: MIT
#include "script/kernel/session/file/gitstate.h"

#include "base/data/digest.h"
#include "base/loop/child.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/kernel/process/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER_MS = 2000 };
#define FILE_LINE "diff --git "

struct gitstate {
    child *child;
    loop_timer *patience;
    char *dir; // our git folder
    int owner; // its owner
    sha256 digest;
    size_t matched; // matched bytes of FILE_LINE; SIZE_MAX: it is another line
    int64_t files;
    buf said; // on standard error
    bool late;
    gitstate_fn *fn;
    void *arg;
};

static cJSON *unknown(const char *why)
{
    cJSON *state = cJSON_CreateObject();
    json_set_str(state, "unknown", why);
    return state;
}

static void count_files(struct gitstate *g, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            g->matched = 0;
        } else if (g->matched < strlen(FILE_LINE)) {
            g->matched = bytes[i] == FILE_LINE[g->matched] ? g->matched + 1 : SIZE_MAX;
            g->files += g->matched == strlen(FILE_LINE);
        }
    }
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct gitstate *g = arg;
    if (fd == STDOUT_FILENO) {
        sha256_update(&g->digest, bytes, n);
        count_files(g, bytes, n);
    } else if (g->said.len < 1024)
        buf_add(&g->said, bytes, n);
}

static cJSON *state_of(struct gitstate *g, int code)
{
    if (g->late)
        return unknown("git took longer than 2 seconds");
    if (code != 0 && code != 1) {
        const char *said = buf_cstr(&g->said);
        AUTO_FREE char *line = mem_strndup(said, strcspn(said, "\n"));
        AUTO_FREE char *why = str_fmt("git: %s", *line ? line : "it failed");
        return unknown(why);
    }
    cJSON *state = cJSON_CreateObject();
    json_set_bool(state, "dirty", code == 1);
    if (code == 0)
        return state;
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX];
    sha256_final(&g->digest, digest);
    digest_hex(digest, hex);
    json_set_int(state, "files", g->files);
    json_set_str(state, "diff", hex);
    return state;
}

static void on_exited(void *arg, int code, int signum)
{
    struct gitstate *g = arg;
    loop_timer_stop(g->patience);
    owner_remove(g->dir, &g->owner);
    g->fn(g->arg, state_of(g, code));
}

static const struct child_ops callbacks = {.output = on_output, .exited = on_exited};

static void on_late(void *arg)
{
    struct gitstate *g = arg;
    g->late = true;
    child_kill(g->child, SIGKILL);
}

static int write_file(const char *folder, const char *name, const char *text, err *e)
{
    AUTO_FREE char *path = path_join(folder, name);
    AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(e, errno, "cannot make %s", path);
    return fd_write_all(fd, text, strlen(text), e);
}

static int make_folder(struct gitstate *g, const struct gitstate_spec *spec, err *e)
{
    bool is_long = strlen(spec->head->commit) == 64;
    const char *config =
        is_long ? "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n"
                : "[core]\nrepositoryformatversion = 0\n";
    g->dir = owner_make_folder(spec->runtime, "git-", &g->owner, e);
    AUTO_FREE char *owner = g->dir ? owner_file(g->dir) : NULL;
    AUTO_FREE char *refs = g->dir ? path_join(g->dir, "refs") : NULL;
    AUTO_FREE char *head = str_fmt("%s\n", spec->head->commit);
    if (!g->dir)
        return -1;
    guard_remove_at_end(owner);
    guard_remove_at_end(g->dir);
    if (mkdir(refs, 0700) < 0)
        return err_errno(e, errno, "cannot make %s", refs);
    return write_file(g->dir, "HEAD", head, e) < 0 ? -1 : write_file(g->dir, "config", config, e);
}

static char **environment(const struct gitstate *g, const struct gitstate_spec *spec)
{
    AUTO_FREE char *objects = path_join(spec->head->common, "objects");
    AUTO_FREE char *index = path_join(spec->head->dir, "index");
    const char *path = env_get(spec->env, "PATH");
    const char *const set[][2] = {{"PATH", path ? path : "/usr/local/bin:/usr/bin:/bin"},
        {"LC_ALL", "C"}, {"HOME", g->dir}, {"GIT_DIR", g->dir}, {"GIT_OBJECT_DIRECTORY", objects},
        {"GIT_INDEX_FILE", index}, {"GIT_WORK_TREE", spec->head->tree},
        {"GIT_CONFIG_NOSYSTEM", "1"}, {"GIT_CONFIG_GLOBAL", "/dev/null"},
        {"GIT_ATTR_NOSYSTEM", "1"}, {"GIT_OPTIONAL_LOCKS", "0"}, {"GIT_TERMINAL_PROMPT", "0"},
        {"GIT_NO_LAZY_FETCH", "1"}, {"GIT_ALLOW_PROTOCOL", "none"}};
    char **env = NULL;
    for (size_t i = 0; i < ARRAY_LEN(set); i++)
        env = env_set(env, set[i][0], set[i][1]);
    return env;
}

// git starts in another folder than the repository's: PATH may have relative parts.
static int start(struct gitstate *g, const struct gitstate_spec *spec, err *e)
{
    if (make_folder(g, spec, e) < 0)
        return -1;
    const char *const argv[] = {"git", "--no-pager", "--no-replace-objects", "diff", "--exit-code",
        "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
        "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/", spec->head->commit, "--",
        NULL};
    char **env = environment(g, spec);
    struct child_spec of_git = {.argv = argv, .env = (const char *const *)env, .cwd = "/"};
    g->child = child_spawn(spec->loop, &of_git, &callbacks, g, e);
    strv_free(env);
    return g->child ? 0 : -1;
}

gitstate *gitstate_ask(const struct gitstate_spec *spec, gitstate_fn *fn, void *arg)
{
    err e = {0};
    struct gitstate *g = mem_alloc(sizeof *g);
    *g = (struct gitstate){.owner = -1, .fn = fn, .arg = arg};
    sha256_init(&g->digest);
    if (start(g, spec, &e) < 0) {
        gitstate_free(g);
        fn(arg, unknown(e.code == ERR_NOT_FOUND ? "git is not installed" : e.text));
        return NULL;
    }
    g->patience = loop_timer_new(spec->loop, on_late, g);
    loop_timer_start(g->patience, ANSWER_MS, 0);
    return g;
}

void gitstate_free(gitstate *g)
{
    if (!g)
        return;
    child_free(g->child);
    loop_timer_free(g->patience);
    if (g->dir) {
        owner_remove(g->dir, &g->owner);
        guard_removed(g->dir);
    }
    free(g->dir);
    buf_done(&g->said);
    free(g);
}
