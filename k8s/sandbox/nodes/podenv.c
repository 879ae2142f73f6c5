// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/podenv.h"

#include "base/data/quantity.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct source { // shared by the functions below while they build
    const cJSON *pod, *container;
    podenv_lookup lookup;
    void *arg;
};

static char **env_find(char **env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (!strncmp(*env, name, n) && (*env)[n] == '=')
            return env;
    return NULL;
}

const char *podenv_get(char *const *env, const char *name)
{
    char **at = env_find((char **)env, name);
    return at ? strchr(*at, '=') + 1 : NULL;
}

static char **env_set(char **env, const char *name, const char *value)
{
    AUTO_FREE char *entry = str_fmt("%s=%s", name, value);
    char **at = env_find(env, name);
    if (!at)
        return strv_add(env, entry);
    free(*at);
    *at = STEAL(entry);
    return env;
}

// $(NAME) → its value, $$ → $; references to names that do not exist stay as they are
// (k8s.io/kubernetes/third_party/forked/golang/expansion).
static char *podenv_expand(const char *text, char *const *env)
{
    AUTO_BUF out = {0};
    for (const char *at = text; *at; at++) {
        const char *close = at[0] == '$' && at[1] == '(' ? strchr(at, ')') : NULL;
        if (at[0] == '$' && at[1] == '$') {
            buf_char(&out, *at++);
        } else if (close) {
            AUTO_FREE char *name = mem_strndup(at + 2, (size_t)(close - at - 2));
            const char *value = podenv_get(env, name);
            if (value)
                buf_str(&out, value);
            else
                buf_add(&out, at, (size_t)(close - at + 1));
            at = close;
        } else {
            buf_char(&out, *at);
        }
    }
    return out.data ? buf_take(&out) : mem_strdup("");
}

// labels and annotations for a volume's file: key="value" lines, sorted by key.
static char *format_map(const cJSON *map)
{
    AUTO_BUF out = {0};
    AUTO_JSON *sorted = cJSON_Duplicate(map, true);
    const cJSON *entry;
    if (sorted) {
        AUTO_BUF canonical = {0};
        json_print_canonical(&canonical, sorted);
        AUTO_JSON *again = json_parse(buf_cstr(&canonical), canonical.len, NULL);
        cJSON_ArrayForEach(entry, again)
        {
            AUTO_FREE char *quoted = json_to_str(entry);
            buf_fmt(&out, "%s%s=%s", out.len ? "\n" : "", entry->string, quoted);
        }
    }
    return out.data ? buf_take(&out) : mem_strdup("");
}

char *podenv_field(const cJSON *pod, const char *path, err *e)
{
    const char *subscript = strchr(path, '[');
    if (subscript && subscript[1] == '\'' && str_ends(subscript, "']")) {
        AUTO_FREE char *map = mem_strndup(path, (size_t)(subscript - path));
        AUTO_FREE char *key = mem_strndup(subscript + 2, strlen(subscript) - 4);
        return mem_strdup(json_str_or(json_path(pod, map), key, ""));
    }
    if (str_eq(path, "metadata.labels") || str_eq(path, "metadata.annotations"))
        return format_map(json_path(pod, path));
    static const char *const known[] = {"metadata.name", "metadata.namespace", "metadata.uid",
        "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.podIP",
        "status.podIPs", "status.hostIPs"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (!str_eq(path, known[i]))
            continue;
        if (str_starts(path, "status.")) // every pod shares the machine's loopback
            return mem_strdup("127.0.0.1");
        const char *value = json_path_str(pod, path);
        return mem_strdup(value ? value : "");
    }
    err_set(e, ERR_INVALID, "unsupported fieldPath: %s", path);
    return NULL;
}

// limits.memory, requests.cpu… of a container in units of `divisor`, rounded up.
static char *podenv_resource(
    const cJSON *container, const char *resource, const char *divisor, err *e)
{
    const char *dot = strchr(resource, '.');
    if (!dot) {
        err_set(e, ERR_INVALID, "unsupported container resource: %s", resource);
        return NULL;
    }
    AUTO_FREE char *kind = mem_strndup(resource, (size_t)(dot - resource));
    const cJSON *value = json_get(json_get(json_get(container, "resources"), kind), dot + 1);
    AUTO_FREE char *text = value ? json_to_str(value) : NULL;
    int64_t amount = 0, unit = 1000;
    if (value && quantity_parse(value->valuestring ? value->valuestring : text, &amount, e))
        return NULL;
    if (divisor && !str_eq(divisor, "0") && quantity_parse(divisor, &unit, e))
        return NULL;
    return str_fmt("%lld", (long long)((amount + unit - 1) / (unit > 0 ? unit : 1)));
}

// The value at key of a ConfigMap or Secret, new; NULL without an error when it is optional.
static char *key_value(const struct source *s, const char *kind, const cJSON *ref, err *e)
{
    const char *name = json_str_or(ref, "name", ""), *key = json_str_or(ref, "key", "");
    bool optional = json_bool_or(ref, "optional", false);
    const cJSON *object = s->lookup(s->arg, kind, name);
    if (!object) {
        if (!optional)
            err_set(e, ERR_INVALID, "%s \"%s\" not found",
                str_eq(kind, "Secret") ? "secret" : "configmap", name);
        return NULL;
    }
    const char *text = json_str(json_get(object, "data"), key);
    if (!text) {
        if (!optional)
            err_set(e, ERR_INVALID, "couldn't find key %s in %s %s/%s", key, kind,
                json_str_or(json_get(s->pod, "metadata"), "namespace", "default"), name);
        return NULL;
    }
    if (!str_eq(kind, "Secret"))
        return mem_strdup(text);
    AUTO_BUF raw = {0};
    if (base64_decode(&raw, text, strlen(text), e))
        return NULL;
    return mem_strdup(buf_cstr(&raw));
}

// Adds all keys of an entry of envFrom.
static int add_from(const struct source *s, const char *kind, const cJSON *ref, const char *prefix,
    char ***env, err *e)
{
    const char *name = json_str_or(ref, "name", "");
    const cJSON *object = s->lookup(s->arg, kind, name);
    if (!object) {
        if (json_bool_or(ref, "optional", false))
            return 0;
        return err_set(e, ERR_INVALID, "%s \"%s\" not found",
            str_eq(kind, "Secret") ? "secret" : "configmap", name);
    }
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(object, "data"))
    {
        AUTO_JSON *key = cJSON_CreateObject();
        json_set_str(key, "name", name);
        json_set_str(key, "key", entry->string);
        AUTO_FREE char *value = key_value(s, kind, key, e);
        if (!value)
            return -1;
        AUTO_FREE char *full = str_fmt("%s%s", prefix, entry->string);
        *env = env_set(*env, full, value);
    }
    return 0;
}

// The value of an entry of env; NULL with e->code unset when the entry is left out.
static char *entry_value(const struct source *s, const cJSON *entry, char *const *env, err *e)
{
    const cJSON *from = json_get(entry, "valueFrom"), *ref;
    if (!from)
        return podenv_expand(json_str_or(entry, "value", ""), env);
    if ((ref = json_get(from, "fieldRef")))
        return podenv_field(s->pod, json_str_or(ref, "fieldPath", ""), e);
    if ((ref = json_get(from, "resourceFieldRef")))
        return podenv_resource(
            s->container, json_str_or(ref, "resource", ""), json_str(ref, "divisor"), e);
    if ((ref = json_get(from, "configMapKeyRef")))
        return key_value(s, "ConfigMap", ref, e);
    if ((ref = json_get(from, "secretKeyRef")))
        return key_value(s, "Secret", ref, e);
    err_set(e, ERR_INVALID, "env %s: unsupported valueFrom", json_str_or(entry, "name", ""));
    return NULL;
}

static int add_all(const struct source *s, char ***env, err *e)
{
    const cJSON *entry, *ref;
    cJSON_ArrayForEach(entry, json_get(s->container, "envFrom"))
    {
        const char *prefix = json_str_or(entry, "prefix", "");
        if ((ref = json_get(entry, "configMapRef")) &&
            add_from(s, "ConfigMap", ref, prefix, env, e))
            return -1;
        if ((ref = json_get(entry, "secretRef")) && add_from(s, "Secret", ref, prefix, env, e))
            return -1;
    }
    cJSON_ArrayForEach(entry, json_get(s->container, "env"))
    {
        err why = {0};
        AUTO_FREE char *value = entry_value(s, entry, *env, &why);
        if (why.code)
            return err_set(e, why.code, "%s", why.text);
        if (value)
            *env = env_set(*env, json_str_or(entry, "name", ""), value);
    }
    return 0;
}

char **podenv_build(const cJSON *pod, const cJSON *container, const char *const *image_env,
    podenv_lookup lookup, void *arg, err *e)
{
    struct source s = {pod, container, lookup, arg};
    char **env = strv_dup((const char *const[]){NULL});
    for (; image_env && *image_env; image_env++) {
        const char *eq = strchr(*image_env, '=');
        AUTO_FREE char *name = eq ? mem_strndup(*image_env, (size_t)(eq - *image_env)) : NULL;
        if (name)
            env = env_set(env, name, eq + 1);
    }
    // Kubelet and runtime set these, whatever the image says; a pod may override them.
    const char *hostname = json_path_str(pod, "spec.hostname");
    env = env_set(
        env, "HOSTNAME", hostname ? hostname : json_str_or(json_get(pod, "metadata"), "name", ""));
    if (!env_find(env, "PATH"))
        env = env_set(env, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    if (!add_all(&s, &env, e))
        return env;
    strv_free(env);
    return NULL;
}

static char **add_words(char **argv, const cJSON *words, char *const *env)
{
    const cJSON *word;
    cJSON_ArrayForEach(word, words)
    {
        AUTO_FREE char *text = podenv_expand(word->valuestring ? word->valuestring : "", env);
        argv = strv_add(argv, text);
    }
    return argv;
}

static char **add_plain(char **argv, const char *const *words)
{
    for (; words && *words; words++)
        argv = strv_add(argv, *words);
    return argv;
}

char **podenv_argv(
    const cJSON *container, const char *const *entrypoint, const char *const *cmd, char *const *env)
{
    const cJSON *command = json_get(container, "command"), *args = json_get(container, "args");
    bool has_command = cJSON_GetArraySize(command) > 0, has_args = cJSON_GetArraySize(args) > 0;
    char **argv = strv_dup((const char *const[]){NULL});
    argv = has_command ? add_words(argv, command, env) : add_plain(argv, entrypoint);
    if (has_args)
        return add_words(argv, args, env);
    return has_command ? argv : add_plain(argv, cmd);
}
