// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/volumes.h"

#include "base/mem.h"
#include "base/os/inside.h"
#include "base/os/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct maker {
    const cJSON *pod;
    const char *folder; // of the volume
    podenv_lookup lookup;
    void *arg;
};

static int write_file(
    const struct maker *m, const char *path, const void *bytes, size_t n, mode_t mode, err *e)
{
    if (!path_is_below(path))
        return err_set(e, ERR_INVALID, "invalid path %s", path);
    AUTO_FREE char *full = path_join(m->folder, path), *folder = path_dirname(full);
    if (path_make_dirs(folder, 0755, e))
        return -1;
    return path_write(full, bytes, n, mode, e);
}

static int write_key(const struct maker *m, const char *kind, const cJSON *object, const char *key,
    const char *path, mode_t mode, err *e)
{
    const char *text = json_str(json_get(object, "data"), key);
    const char *binary = json_str(json_get(object, "binaryData"), key);
    bool encoded = str_eq(kind, "Secret") || !text;
    if (!text && !binary)
        return err_set(e, ERR_INVALID, "references non-existent %s key: %s",
            str_eq(kind, "Secret") ? "secret" : "config", key);
    text = text ? text : binary;
    AUTO_BUF raw = {0};
    if (encoded ? base64_decode(&raw, text, strlen(text), e) : (buf_str(&raw, text), 0))
        return -1;
    return write_file(m, path, buf_cstr(&raw), raw.len, mode, e);
}

// Writes a ConfigMap or Secret: all keys, or those in `items`.
static int make_keys(const struct maker *m, const char *kind, const cJSON *source, err *e)
{
    const char *name = json_str_or(source, "name", json_str_or(source, "secretName", ""));
    bool secret = str_eq(kind, "Secret"), optional = json_bool_or(source, "optional", false);
    mode_t mode = (mode_t)json_int_or(source, "defaultMode", 0644);
    const cJSON *object = m->lookup(m->arg, kind, name), *item;
    if (!object)
        return optional ? 0
                        : err_set(e, ERR_INVALID, "%s \"%s\" not found",
                              secret ? "secret" : "configmap", name);
    const cJSON *items = json_get(source, "items");
    cJSON_ArrayForEach(item, items)
    {
        if (write_key(m, kind, object, json_str_or(item, "key", ""), json_str_or(item, "path", ""),
                (mode_t)json_int_or(item, "mode", mode), e) &&
            !optional)
            return -1;
    }
    if (items)
        return 0;
    static const char *const maps[] = {"data", "binaryData"};
    for (size_t i = 0; i < 2; i++) {
        cJSON_ArrayForEach(item, json_get(object, maps[i]))
        {
            if (write_key(m, kind, object, item->string, item->string, mode, e))
                return -1;
        }
    }
    return 0;
}

static int make_downward(const struct maker *m, const cJSON *source, err *e)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(source, "items"))
    {
        const char *field = json_path_str(item, "fieldRef.fieldPath");
        AUTO_FREE char *value = field ? podenv_field(m->pod, field, e) : mem_strdup("");
        if (!value || write_file(m, json_str_or(item, "path", ""), value, strlen(value), 0644, e))
            return -1;
    }
    return 0;
}

static int make_source(const struct maker *m, const cJSON *volume, err *e)
{
    const cJSON *source;
    if ((source = json_get(volume, "configMap")))
        return make_keys(m, "ConfigMap", source, e);
    if ((source = json_get(volume, "secret")))
        return make_keys(m, "Secret", source, e);
    if ((source = json_get(volume, "downwardAPI")))
        return make_downward(m, source, e);
    if ((source = json_get(volume, "serviceAccountToken"))) // there are no tokens for pods here
        return write_file(m, json_str_or(source, "path", "token"), "", 0, 0600, e);
    cJSON_ArrayForEach(source, json_path(volume, "projected.sources"))
    {
        if (make_source(m, source, e))
            return -1;
    }
    return 0;
}

// Volumes of these sources can be made, bound, or left empty here.
static bool is_known(const cJSON *volume)
{
    static const char *const known[] = {
        "emptyDir", "configMap", "secret", "downwardAPI", "projected", "hostPath"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (json_get(volume, known[i]))
            return true;
    return false;
}

int volumes_make(const cJSON *pod, const char *dir, podenv_lookup lookup, void *arg, err *e)
{
    const cJSON *volume;
    cJSON_ArrayForEach(volume, json_path(pod, "spec.volumes"))
    {
        const char *name = json_str_or(volume, "name", "");
        AUTO_FREE char *folder = path_join(dir, name);
        struct maker m = {pod, folder, lookup, arg};
        if (!path_is_below(name) || strchr(name, '/'))
            return err_set(e, ERR_INVALID, "“%s” is not the name of a volume", name);
        if (json_get(volume, "hostPath"))
            continue;
        if (!is_known(volume))
            return err_set(e, ERR_INVALID,
                "MountVolume.SetUp failed for volume \"%s\" : the sandbox has emptyDir, configMap, "
                "secret, downwardAPI, projected and hostPath volumes only",
                name);
        if (path_make_dirs(folder, 0777, e) || make_source(&m, volume, e))
            return err_wrap(e, "MountVolume.SetUp failed for volume \"%s\" ", name);
    }
    return 0;
}

static void add_mount(struct volume_mounts *m, char *source, const char *target, bool read_only)
{
    m->items = mem_resize(m->items, m->n + 1, sizeof *m->items);
    m->items[m->n++] = (struct runtime_mount){
        .source = source, .target = mem_strdup(target), .read_only = read_only};
}

static const cJSON *find_volume(const cJSON *pod, const char *name)
{
    const cJSON *volume;
    cJSON_ArrayForEach(volume, json_path(pod, "spec.volumes"))
    {
        if (str_eq(json_str(volume, "name"), name))
            return volume;
    }
    return NULL;
}

// A container before this one may have put links into the volume: none leads out of it.
static char *sub_path(const char *volume, const char *sub, err *e)
{
    AUTO_FD root = open(volume, O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO_FREE char *name = root >= 0 ? inside_name(root, sub, INSIDE_BENEATH) : NULL;
    if (root >= 0 && !name && errno == ENOENT) {
        AUTO_FD made = inside_make_dirs(root, sub, 0777, INSIDE_BENEATH);
        name = made >= 0 ? inside_name(root, sub, INSIDE_BENEATH) : NULL;
    }
    if (name && path_is_below(sub))
        return path_join(volume, name);
    if (name || errno == EXDEV)
        err_set(e, ERR_INVALID, "subPath %s must not leave its volume", sub);
    else
        err_errno(e, errno, "subPath %s", sub);
    return NULL;
}

// The source of a mount: the volume's folder or hostPath, with subPath below it.
static char *mount_source(const cJSON *volume, const char *dir, const char *sub, err *e)
{
    const char *host = json_path_str(volume, "hostPath.path");
    const char *type = json_path_str(volume, "hostPath.type");
    AUTO_FREE char *base =
        host ? mem_strdup(host) : path_join(dir, json_str_or(volume, "name", ""));
    if (host && str_eq(type, "DirectoryOrCreate") && path_make_dirs(host, 0755, e))
        return NULL;
    if (!sub || !*sub)
        return STEAL(base);
    return sub_path(base, sub, e);
}

int volumes_mounts(const cJSON *pod, const cJSON *container, const char *dir, const char *hosts,
    struct volume_mounts *out, err *e)
{
    *out = (struct volume_mounts){0};
    if (hosts)
        add_mount(out, mem_strdup(hosts), "/etc/hosts", false);
    const cJSON *mount;
    cJSON_ArrayForEach(mount, json_get(container, "volumeMounts"))
    {
        const char *name = json_str_or(mount, "name", "");
        const cJSON *volume = find_volume(pod, name);
        if (!volume)
            return err_set(e, ERR_INVALID, "volume \"%s\" is not one of the pod's", name);
        char *source = mount_source(volume, dir, json_str(mount, "subPath"), e);
        if (!source)
            return -1;
        bool read_only = json_bool_or(mount, "readOnly", false) || json_get(volume, "configMap") ||
                         json_get(volume, "secret");
        add_mount(out, source, json_str_or(mount, "mountPath", "/mnt"), read_only);
        if (!path_exists(source))
            return err_set(e, ERR_INVALID, "hostPath type check failed: %s does not exist", source);
    }
    return 0;
}

void volume_mounts_done(struct volume_mounts *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->items[i].source);
        free(m->items[i].target);
    }
    free(m->items);
}
