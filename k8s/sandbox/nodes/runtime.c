// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/runtime.h"

#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"
#include "base/os/spawn.h"
#include "base/str.h"
#include "k8s/image/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Returns 0 when the command exits with 0; drops its output.
static int try_command(const char *const *argv)
{
    struct spawn_spec spec = {.argv = argv, .place = SPAWN_GROUP, .death_signal = SIGKILL};
    pid_t child;
    int status = -1;
    if (spawn(&spec, &child, NULL) < 0)
        return -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

static char **add(char **argv, const char *const *words)
{
    for (; *words; words++)
        argv = strv_add(argv, *words);
    return argv;
}
#define ADD(argv, ...) ((argv) = add((argv), (const char *const[]){__VA_ARGS__, NULL}))

static bool probe_overlay(const struct runtime *r, const char *dir)
{
    AUTO_FREE char *probe = path_make_temp(dir, "probe-", NULL);
    if (!probe)
        return false;
    static const char *const parts[] = {"lower", "upper", "work", "merged"};
    char *paths[4];
    for (size_t i = 0; i < 4; i++) {
        paths[i] = path_join(probe, parts[i]);
        path_make_dirs(paths[i], 0700, NULL);
    }
    char **argv = NULL;
    ADD(argv, r->program, "--pod", "--overlay", paths[0], paths[1], paths[2], paths[3], "--");
    argv = add(argv, r->bwrap);
    ADD(argv, "--ro-bind", "/", "/", "--unshare-pid", r->program, "--version");
    bool works = try_command((const char *const *)argv) == 0;
    strv_free(argv);
    for (size_t i = 0; i < 4; i++)
        free(paths[i]);
    path_remove(probe, NULL);
    return works;
}

static bool probe_namespaces(const struct runtime *r)
{
    char **argv = add(NULL, r->bwrap);
    ADD(argv, "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--dev", "/dev",
        r->program, "--version");
    bool works = try_command((const char *const *)argv) == 0;
    strv_free(argv);
    return works;
}

void runtime_probe(
    struct runtime *r, const char *program, const char *const *bwrap, const char *dir)
{
    *r = (struct runtime){.program = mem_strdup(program), .bwrap = bwrap};
    if (!r->bwrap) {
        r->why = mem_strdup("bubblewrap is not installed (Debian's package: bubblewrap)");
        return;
    }
    if (!probe_namespaces(r)) {
        r->bwrap = NULL;
        r->why = mem_strdup("this machine does not let users make namespaces "
                            "(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)");
        return;
    }
    r->overlay = probe_overlay(r, dir);
}

void runtime_plain(struct runtime *r, const char *program, const char *worker)
{
    *r = (struct runtime){.program = mem_strdup(program),
        .worker = worker ? mem_strdup(worker) : NULL,
        .why = mem_strdup("pods are plain processes here (--sandbox=processes)")};
}

void runtime_done(struct runtime *r)
{
    free(r->program);
    free(r->worker);
    free(r->why);
}

// Makes the writable root of an image: a layer where possible, else a copy. Returns the path to
// bind on /.
static char *make_root(const struct runtime *r, const struct runtime_spec *s, char ***argv, err *e)
{
    AUTO_FREE char *merged = path_join(s->dir, "root");
    if (!r->overlay) {
        if (!path_exists(merged) && image_copy_tree(s->root, merged, e))
            return NULL;
        return STEAL(merged);
    }
    AUTO_FREE char *upper = path_join(s->dir, "upper"), *work = path_join(s->dir, "work");
    if (path_make_dirs(merged, 0755, e) || path_make_dirs(upper, 0755, e) ||
        path_make_dirs(work, 0755, e))
        return NULL;
    ADD(*argv, "--overlay", s->root, upper, work, merged);
    return STEAL(merged);
}

static char **add_bwrap(
    char **argv, const struct runtime *r, const struct runtime_spec *s, const char *root)
{
    argv = add(argv, r->bwrap);
    ADD(argv, root ? "--bind" : "--ro-bind", root ? root : "/", "/");
    ADD(argv, "--proc", "/proc", "--dev", "/dev");
    if (root)
        ADD(argv, "--tmpfs", "/tmp", "--ro-bind-try", "/sys", "/sys", "--dir", s->cwd);
    else
        ADD(argv, "--bind", "/tmp", "/tmp");
    for (size_t i = 0; i < s->mount_n; i++)
        ADD(argv, s->mounts[i].read_only ? "--ro-bind" : "--bind", s->mounts[i].source,
            s->mounts[i].target);
    AUTO_FREE char *info = str_fmt("%d", RUNTIME_INFO_FD);
    ADD(argv, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", s->hostname);
    ADD(argv, "--die-with-parent", "--new-session", "--info-fd", info, "--chdir", s->cwd, "--");
    return argv;
}

// The program of an image that runs as a plain process: for the image's firesteel-worker our own,
// since the image's loader is not here; a program in the copy of the image's root by its path
// there; any other from this machine's PATH.
static char *plain_program(const struct runtime *r, const char *root, const char *name)
{
    AUTO_FREE char *base = path_basename(name), *inside = str_fmt("%s%s", root, name);
    if (str_eq(base, "firesteel-worker"))
        return mem_strdup(r->worker);
    return *name == '/' && path_exists(inside) ? STEAL(inside) : mem_strdup(name);
}

char **runtime_command(const struct runtime *r, const struct runtime_spec *s, err *e)
{
    if (s->root && !r->bwrap && !r->worker) {
        err_set(e, ERR_FAILED, "only pods of image \"host\" run here: %s", r->why);
        return NULL;
    }
    AUTO_FREE char *parent = str_fmt("%d", (int)getpid());
    AUTO_FREE char *memory = str_fmt("%lld", (long long)s->memory);
    char **argv = strv_dup((const char *const[]){r->program, "--pod", "--parent", parent, NULL});
    if (s->memory)
        ADD(argv, "--data", memory);
    if (s->cpus)
        ADD(argv, "--cpus", s->cpus);
    AUTO_FREE char *root = NULL;
    if (s->root && !(root = make_root(r, s, &argv, e))) {
        strv_free(argv);
        return NULL;
    }
    if (!r->bwrap)
        ADD(argv, "--guard");
    ADD(argv, "--");
    if (r->bwrap)
        argv = add_bwrap(argv, r, s, root);
    if (root && !r->bwrap) {
        AUTO_FREE char *program = plain_program(r, root, *s->argv);
        ADD(argv, program);
        return add(argv, (const char *const *)s->argv + 1);
    }
    return add(argv, (const char *const *)s->argv);
}

static bool is_program(int root, const char *path)
{
    struct stat st;
    AUTO_FD fd = inside_open(root, path, O_PATH, INSIDE_ROOT);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

bool runtime_has_program(const char *root, const char *name, const char *path, const char *cwd)
{
    int fd = open(root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool found = false;
    if (strchr(name, '/')) {
        AUTO_FREE char *full = path_join(cwd, name);
        found = is_program(fd, full);
    } else {
        char **folders = strv_split(path, ':');
        for (char **f = folders; *f && !found; f++) {
            AUTO_FREE char *full = path_join(*f, name);
            found = is_program(fd, full);
        }
        strv_free(folders);
    }
    close(fd);
    return found;
}
