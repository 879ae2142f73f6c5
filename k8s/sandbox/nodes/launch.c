// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/launch.h"

#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/sandbox/nodes/volumes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *launch_reason(enum launch_result r)
{
    static const char *const reasons[] = {
#define X(name, reason) reason,
        LAUNCH_RESULTS(X)
#undef X
    };
    return reasons[r];
}

void launch_done(struct launch *l)
{
    strv_free(l->command);
    strv_free(l->env);
    free(l->cwd);
}

static int64_t quantity_of(const cJSON *container, const char *path, int64_t unit)
{
    const cJSON *value = json_path(container, path);
    AUTO_FREE char *text = value ? json_to_str(value) : NULL;
    int64_t milli = 0;
    if (!value || quantity_parse(value->valuestring ? value->valuestring : text, &milli, NULL))
        return 0;
    return (milli + unit - 1) / unit;
}

// "2,3": as many CPUs as the limit allows; each container begins where the one before ended. NULL
// when there is no limit, or the limit covers all CPUs.
static char *pick_cpus(const struct launch_input *in)
{
    int64_t wanted = quantity_of(in->container, "resources.limits.cpu", 1000);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (wanted <= 0 || wanted >= online)
        return NULL;
    AUTO_BUF list = {0};
    for (int64_t i = 0; i < wanted; i++)
        buf_fmt(&list, "%s%ld", i ? "," : "", (*in->next_cpu)++ % online);
    return buf_take(&list);
}

char *launch_message_path(const char *run_dir)
{
    return path_join(run_dir, "termination-log");
}

// Lists all that the container sees besides its root: volumes, /etc/hosts, the file for the
// termination message.
static int make_mounts(const struct launch_input *in, struct volume_mounts *mounts, err *e)
{
    AUTO_FREE char *hosts = path_join(in->pod_dir, "hosts");
    AUTO_FREE char *volumes = path_join(in->pod_dir, "volumes");
    if (path_make_dirs(in->run_dir, 0700, e) ||
        volumes_mounts(in->pod, in->container, volumes, hosts, mounts, e))
        return -1;
    char *message = launch_message_path(in->run_dir);
    mounts->items = mem_resize(mounts->items, mounts->n + 1, sizeof *mounts->items);
    mounts->items[mounts->n++] = (struct runtime_mount){.source = message,
        .target = mem_strdup(
            json_str_or(in->container, "terminationMessagePath", "/dev/termination-log"))};
    return path_write(message, "", 0, 0666, e);
}

static const char *working_dir(const struct launch_input *in)
{
    const char *own = json_str(in->container, "workingDir"), *image = in->image->config.working_dir;
    if (own && *own)
        return own;
    if (image && *image)
        return image;
    return in->image->is_host ? "/tmp" : "/";
}

static bool is_mounted(const struct volume_mounts *m, const char *path)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_starts(path, m->items[i].target))
            return true;
    return false;
}

// The error in runc's words.
static enum launch_result no_program(const char *name, err *e)
{
    err_set(e, ERR_NOT_FOUND,
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
        "runc create failed: unable to start container process: error during container init: "
        "exec: \"%s\": %s: unknown",
        name,
        strchr(name, '/') ? "stat: no such file or directory"
                          : "executable file not found in $PATH");
    return LAUNCH_START;
}

static enum launch_result prepare(const struct launch_input *in, char **argv,
    const struct volume_mounts *mounts, struct launch *out, err *e)
{
    const char *cwd = working_dir(in);
    if (!is_mounted(mounts, *argv) &&
        !runtime_has_program(in->image->root, *argv, podenv_get(out->env, "PATH"), cwd))
        return no_program(*argv, e);
    AUTO_FREE char *cpus = pick_cpus(in);
    AUTO_FREE char *hostname =
        // the kernel's limit; kubelets cut it, too
        mem_strndup(podenv_get(out->env, "HOSTNAME"), 63);
    struct runtime_spec spec = {.root = in->image->root,
        .dir = in->run_dir,
        .hostname = hostname,
        .cwd = cwd,
        .memory = quantity_of(in->container, "resources.limits.memory", 1000),
        .cpus = cpus,
        .mounts = mounts->items,
        .mount_n = mounts->n,
        .argv = argv};
    if (!in->runtime->bwrap && json_get(in->container, "volumeMounts")) {
        err_set(e, ERR_FAILED, "no volumes here: %s", in->runtime->why);
        return LAUNCH_CREATE;
    }
    if (!in->runtime->bwrap)
        out->cwd = in->image->root ? str_fmt("%s/root%s", in->run_dir, cwd) : mem_strdup(cwd);
    out->command = runtime_command(in->runtime, &spec, e);
    return out->command ? LAUNCH_OK : LAUNCH_CREATE;
}

enum launch_result launch_prepare(const struct launch_input *in, struct launch *out, err *e)
{
    const struct image_config *image = &in->image->config;
    *out = (struct launch){.env = podenv_build(in->pod, in->container,
                               (const char *const *)image->env, in->lookup, in->arg, e)};
    if (!out->env)
        return LAUNCH_CONFIG;
    if (!podenv_get(out->env, "HOME"))
        out->env = strv_add(
            out->env, in->image->is_host || in->runtime->worker ? "HOME=/tmp" : "HOME=/root");
    char **argv = podenv_argv(in->container, (const char *const *)image->entrypoint,
        (const char *const *)image->cmd, out->env);
    CLEANUP(volume_mounts_done) struct volume_mounts mounts = {0};
    enum launch_result result = LAUNCH_CONFIG;
    if (!*argv) {
        err_set(e, ERR_INVALID, "failed to generate spec: no command specified");
        result = LAUNCH_CREATE;
    } else if (make_mounts(in, &mounts, e) == 0) {
        result = prepare(in, argv, &mounts, out, e);
    }
    strv_free(argv);
    return result;
}
