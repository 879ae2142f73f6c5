// SPDX-License-Identifier: MIT
#include "k8s/client/connect/kubeconfig.h"

#include "base/clock.h"
#include "base/json/shape.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/auth/oidc.h"
#include "k8s/client/connect/proxy.h"
#include "k8s/net/http.h"

#include <string.h>
#include <strings.h>

enum { FILE_LIMIT = 8 << 20 };

static const char *const lists[] = {"clusters", "users", "contexts"};

// The fields that client-go knows, and those of our own extension. Source: client-go,
// tools/clientcmd/api/v1/types.go.

static const struct shape_field registry_fields[] = {
    {"host", &shape_string},
    {"ca", &shape_string},
    {"ca-data", &shape_base64},
    {"insecure", &shape_bool},
    {0},
};
static const struct shape registry_shape = {SHAPE_OBJECT, .fields = registry_fields};

static const struct shape_field extension_fields[] = {
    {"name", &shape_string}, {"extension", &shape_any}, {0}};
static const struct shape extensions = {SHAPE_LIST, .of = SHAPE_OBJECT_OF(extension_fields)};

static const struct shape_field cluster_fields[] = {
    {"server", &shape_string},
    {"tls-server-name", &shape_string},
    {"insecure-skip-tls-verify", &shape_bool},
    {"certificate-authority", &shape_string},
    {"certificate-authority-data", &shape_base64},
    {"proxy-url", &shape_string},
    {"disable-compression", &shape_bool},
    {"extensions", &extensions},
    {0},
};

static const struct shape_field provider_fields[] = {
    {"name", &shape_string}, {"config", SHAPE_MAP_OF(&shape_string)}, {0}};

static const struct shape_field variable_fields[] = {
    {"name", &shape_string}, {"value", &shape_string}, {0}};

static const struct shape_field exec_fields[] = {
    {"command", &shape_string},
    {"args", &shape_strings},
    {"env", SHAPE_LIST_OF(SHAPE_OBJECT_OF(variable_fields))},
    {"apiVersion", &shape_string},
    {"installHint", &shape_string},
    {"provideClusterInfo", &shape_bool},
    {"interactiveMode", &shape_string},
    {0},
};

static const struct shape_field user_fields[] = {
    {"client-certificate", &shape_string},
    {"client-certificate-data", &shape_base64},
    {"client-key", &shape_string},
    {"client-key-data", &shape_base64},
    {"token", &shape_string},
    {"tokenFile", &shape_string},
    {"as", &shape_string},
    {"as-uid", &shape_string},
    {"as-groups", &shape_strings},
    {"as-user-extra", SHAPE_MAP_OF(&shape_strings)},
    {"username", &shape_string},
    {"password", &shape_string},
    {"auth-provider", SHAPE_OBJECT_OF(provider_fields)},
    {"exec", SHAPE_OBJECT_OF(exec_fields)},
    {"extensions", &extensions},
    {0},
};

static const struct shape_field context_fields[] = {
    {"cluster", &shape_string},
    {"user", &shape_string},
    {"namespace", &shape_string},
    {"extensions", &extensions},
    {0},
};

static const struct shape_field named_cluster[] = {
    {"name", &shape_string}, {"cluster", SHAPE_OBJECT_OF(cluster_fields)}, {0}};
static const struct shape_field named_user[] = {
    {"name", &shape_string}, {"user", SHAPE_OBJECT_OF(user_fields)}, {0}};
static const struct shape_field named_context[] = {
    {"name", &shape_string}, {"context", SHAPE_OBJECT_OF(context_fields)}, {0}};

static const struct shape_field preference_fields[] = {
    {"colors", &shape_bool}, {"extensions", &extensions}, {0}};

static const struct shape_field config_fields[] = {
    {"kind", &shape_string},
    {"apiVersion", &shape_string},
    {"preferences", SHAPE_OBJECT_OF(preference_fields)},
    {"clusters", SHAPE_LIST_OF(SHAPE_OBJECT_OF(named_cluster))},
    {"users", SHAPE_LIST_OF(SHAPE_OBJECT_OF(named_user))},
    {"contexts", SHAPE_LIST_OF(SHAPE_OBJECT_OF(named_context))},
    {"current-context", &shape_string},
    {"extensions", &extensions},
    {0},
};
static const struct shape config_shape = {SHAPE_OBJECT, .fields = config_fields};

static const cJSON *entry_named(const cJSON *config, const char *list, const char *name)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(config, list))
    {
        if (str_eq(json_str(entry, "name"), name))
            return entry;
    }
    return NULL;
}

static void resolve_path(cJSON *object, const char *key, const char *folder)
{
    const char *path = json_str(object, key);
    if (path && *path && *path != '/') {
        AUTO_FREE char *joined = path_join(folder, path);
        json_set_str(object, key, joined);
    }
}

static const cJSON *extension_named(const cJSON *object, const char *name)
{
    const cJSON *extension;
    cJSON_ArrayForEach(extension, json_get(object, "extensions"))
    {
        if (str_eq(json_str(extension, "name"), name))
            return json_get(extension, "extension");
    }
    return NULL;
}

static const cJSON *registry_extension(const cJSON *object)
{
    return extension_named(object, "firesteel/registry");
}

// Whoever writes the extension means it, unless it says false.
static bool is_guarded(const cJSON *object)
{
    const cJSON *extension = extension_named(object, "firesteel/protected");
    return extension && !cJSON_IsFalse(extension) && json_bool_or(extension, "protected", true);
}

static bool is_pem(const char *text)
{
    return text && strstr(text, "-----BEGIN");
}

static void resolve_registry(const cJSON *object, const char *folder)
{
    cJSON *extension = (cJSON *)registry_extension(object);
    if (!is_pem(json_str(extension, "ca")))
        resolve_path(extension, "ca", folder);
}

static void resolve_paths(cJSON *config, const char *folder)
{
    cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(config, "clusters"))
    {
        resolve_path((cJSON *)json_get(entry, "cluster"), "certificate-authority", folder);
        resolve_registry(json_get(entry, "cluster"), folder);
    }
    cJSON_ArrayForEach(entry, json_get(config, "contexts"))
    {
        resolve_registry(json_get(entry, "context"), folder);
    }
    cJSON_ArrayForEach(entry, json_get(config, "users"))
    {
        cJSON *user = (cJSON *)json_get(entry, "user");
        resolve_path(user, "client-certificate", folder);
        resolve_path(user, "client-key", folder);
        resolve_path(user, "tokenFile", folder);
        cJSON *exec = (cJSON *)json_get(user, "exec");
        const char *command = json_str(exec, "command");
        if (command && strchr(command, '/'))
            resolve_path(exec, "command", folder);
    }
}

// What is missing, or empty, is taken for v1 and Config.
static bool is_config(const cJSON *config)
{
    const char *kind = json_str_or(config, "kind", ""),
               *version = json_str_or(config, "apiVersion", "");
    return (!*kind || str_eq(kind, "Config")) && (!*version || str_eq(version, "v1"));
}

cJSON *kubeconfig_parse(const char *path, const char *text, size_t n, err *e)
{
    AUTO_JSON *documents = yaml_parse(text, n, e);
    if (!documents) {
        err_wrap(e, "%s", path);
        return NULL;
    }
    if (cJSON_GetArraySize(documents) == 0)
        return cJSON_CreateObject();
    AUTO_JSON *config = cJSON_DetachItemFromArray(documents, 0);
    if (!cJSON_IsObject(config)) {
        err_set(e, ERR_INVALID, "%s: this is not a kubeconfig", path);
        return NULL;
    }
    if (shape_check(&config_shape, config, text, n, e) != 0) {
        err_wrap(e, "%s", path);
        return NULL;
    }
    if (!is_config(config)) {
        err_set(e, ERR_INVALID, "%s: this is no kubeconfig: it is of %s, kind %s", path,
            json_str_or(config, "apiVersion", "v1"), json_str_or(config, "kind", "Config"));
        return NULL;
    }
    AUTO_FREE char *folder = path_dirname(path);
    resolve_paths(config, folder);
    return STEAL(config);
}

void kubeconfig_merge(cJSON *merged, cJSON *config)
{
    const char *current = json_str(config, "current-context");
    if (current && *current && !json_str(merged, "current-context"))
        json_set_str(merged, "current-context", current);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        cJSON *from = (cJSON *)json_get(config, lists[i]), *to = json_array_at(merged, lists[i]);
        cJSON *entry;
        while (cJSON_IsArray(from) && (entry = cJSON_DetachItemFromArray(from, 0))) {
            const char *name = json_str(entry, "name");
            if (name && !entry_named(merged, lists[i], name))
                cJSON_AddItemToArray(to, entry);
            else
                cJSON_Delete(entry);
        }
    }
}

char *kubeconfig_contexts(const cJSON *merged)
{
    AUTO_BUF names = {0};
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(merged, "contexts"))
    {
        buf_fmt(&names, "%s%s", names.len ? ", " : "", json_str_or(entry, "name", "?"));
    }
    return mem_strdup(names.len ? buf_cstr(&names) : "none");
}

// That it is base64 was seen when the file was read.
static void copy_data(const cJSON *object, const char *key, char **data, size_t *n)
{
    const char *text = json_str(object, key);
    AUTO_BUF bytes = {0};
    if (!text || !*text || base64_decode(&bytes, text, strlen(text), NULL) != 0)
        return;
    *n = bytes.len;
    *data = buf_take(&bytes);
}

static char *copy_str(const cJSON *object, const char *key)
{
    const char *text = json_str(object, key);
    return text && *text ? mem_strdup(text) : NULL;
}

static char **copy_list(const cJSON *array)
{
    if (!cJSON_IsArray(array))
        return NULL;
    char **strings = mem_array(1, sizeof *strings);
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        strings = strv_add(strings, cJSON_IsString(item) ? item->valuestring : ""); // null
    }
    return strings;
}

static int take_registry(struct kube_registry *r, const cJSON *object, err *e)
{
    const cJSON *extension = registry_extension(object);
    if (r->host || !extension)
        return 0;
    if (shape_check(&registry_shape, extension, "", 0, e) != 0)
        return err_wrap(e, "the extension firesteel/registry");
    const char *ca = json_str(extension, "ca");
    r->host = copy_str(extension, "host");
    r->insecure = json_bool_or(extension, "insecure", false);
    if (!r->host)
        return err_set(e, ERR_INVALID, "the extension firesteel/registry has no host");
    copy_data(extension, "ca-data", &r->ca_data, &r->ca_data_n);
    if (is_pem(ca) && !r->ca_data) {
        r->ca_data = mem_strdup(ca);
        r->ca_data_n = strlen(ca);
    } else if (ca && *ca && !is_pem(ca))
        r->ca_file = mem_strdup(ca);
    return 0;
}

static int take_proxy(kubeconfig *k, const struct client_options *o, err *e)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};
    bool known = false;
    if (!k->proxy) {
        k->proxy = proxy_for(k->server, o->https_proxy, o->no_proxy);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        known = known || str_starts(k->proxy, schemes[i]);
    return known ? 0
                 : err_set(e, ERR_INVALID,
                       "its proxy-url must begin with http://, https:// or socks5://");
}

// An address without a scheme is plain HTTP, whatever the cluster says of certificates.
static int take_server(kubeconfig *k, const char *server, err *e)
{
    bool has_scheme =
        strncasecmp(server, "https://", 8) == 0 || strncasecmp(server, "http://", 7) == 0;
    AUTO_FREE char *url = str_fmt("%s%s", has_scheme ? "" : "http://", server);
    size_t n = strcspn(url, "?#");
    while (n && url[n - 1] == '/')
        n--;
    k->server = mem_strndup(url, n);
    AUTO_FREE char *host = url_host(k->server);
    return *host && (has_scheme || !strchr(server, '/'))
               ? 0
               : err_set(
                     e, ERR_INVALID, "its server is no http:// or https:// address, nor HOST:PORT");
}

static int take_cluster(kubeconfig *k, const cJSON *c, const struct client_options *o, err *e)
{
    const char *server = json_str(c, "server");
    k->ca_file = copy_str(c, "certificate-authority");
    k->server_name = copy_str(c, "tls-server-name");
    k->proxy = copy_str(c, "proxy-url");
    k->insecure = json_bool_or(c, "insecure-skip-tls-verify", false);
    k->no_compression = json_bool_or(c, "disable-compression", false);
    copy_data(c, "certificate-authority-data", &k->ca_data, &k->ca_data_n);
    if (!server || !*server)
        return err_set(e, ERR_INVALID, "it has no server");
    if (k->ca_file && k->ca_data)
        return err_set(e, ERR_INVALID,
            "certificate-authority and certificate-authority-data are both there: leave one out");
    if (take_server(k, server, e) != 0)
        return -1;
    if (k->insecure && (k->ca_file || k->ca_data) && kubeconfig_is_tls(k))
        return err_set(e, ERR_INVALID,
            "insecure-skip-tls-verify says that nobody is trusted, and certificate-authority%s who "
            "is: leave one out",
            k->ca_file ? "" : "-data");
    return take_proxy(k, o, e);
}

static int check_exec(const cJSON *exec, err *e)
{
    const char *version = json_str_or(exec, "apiVersion", ""),
               *mode = json_str_or(exec, "interactiveMode", "");
    const cJSON *pair;
    bool beta = str_eq(version, "client.authentication.k8s.io/v1beta1");
    if (!*json_str_or(exec, "command", "") || !*version)
        return err_set(e, ERR_INVALID, "exec needs apiVersion and command");
    if (!beta && !str_eq(version, "client.authentication.k8s.io/v1"))
        return err_set(e, ERR_INVALID, "exec has apiVersion %s; v1 and v1beta1 are known", version);
    if (str_eq(mode, "Always"))
        return err_set(e, ERR_INVALID,
            "exec has interactiveMode Always, and there is no terminal for it here");
    if (!str_eq(mode, "Never") && !str_eq(mode, "IfAvailable") && (*mode || !beta))
        return err_set(
            e, ERR_INVALID, "exec needs interactiveMode: Never, IfAvailable or Always (since v1)");
    cJSON_ArrayForEach(pair, json_get(exec, "env"))
    {
        if (!*json_str_or(pair, "name", ""))
            return err_set(e, ERR_INVALID, "exec has a variable in env without a name");
    }
    return 0;
}

static struct kube_exec *take_exec(const cJSON *exec, const cJSON *cluster)
{
    struct kube_exec *x = mem_alloc(sizeof *x);
    x->api_version = copy_str(exec, "apiVersion");
    x->command = copy_str(exec, "command");
    x->install_hint = copy_str(exec, "installHint");
    x->args = copy_list(json_get(exec, "args"));
    x->env = mem_array(1, sizeof *x->env);
    x->provide_cluster_info = json_bool_or(exec, "provideClusterInfo", false);
    x->config = cJSON_Duplicate(extension_named(cluster, "client.authentication.k8s.io/exec"), 1);
    const cJSON *pair;
    cJSON_ArrayForEach(pair, json_get(exec, "env"))
    {
        AUTO_FREE char *set =
            str_fmt("%s=%s", json_str_or(pair, "name", ""), json_str_or(pair, "value", ""));
        x->env = strv_add(x->env, set);
    }
    return x;
}

// What client-go refuses: validateAuthInfo, and its transport's HTTPWrappersForConfig.
static int check_user(const kubeconfig *k, const cJSON *u, err *e)
{
    bool has_basic = k->username || k->password, has_cert = k->cert_file || k->cert_data;
    const cJSON *exec = json_get(u, "exec");
    bool has_exec = cJSON_IsObject(exec),
         has_provider = cJSON_IsObject(json_get(u, "auth-provider"));
    if (has_basic && (k->token || (k->token_file && kubeconfig_is_tls(k))))
        return err_set(e, ERR_INVALID,
            "a token and a user name with a password are both there: leave one out");
    if (has_cert && k->cert_file && k->cert_data)
        return err_set(e, ERR_INVALID,
            "client-certificate and client-certificate-data are both there: leave one out");
    if (has_cert && k->key_file && k->key_data)
        return err_set(
            e, ERR_INVALID, "client-key and client-key-data are both there: leave one out");
    if (has_cert && !k->key_file && !k->key_data)
        return err_set(e, ERR_INVALID,
            "client-certificate has no key: client-key or client-key-data must be there, too");
    if (!k->as &&
        (k->as_uid || (k->as_groups && *k->as_groups) || (k->as_extra && k->as_extra->child)))
        return err_set(
            e, ERR_INVALID, "as-uid, as-groups and as-user-extra need `as`: whom they belong to");
    if (has_exec && has_provider)
        return err_set(e, ERR_INVALID, "exec and auth-provider are both there: leave one out");
    if (has_exec && check_exec(exec, e) != 0)
        return -1;
    return 0;
}

// Of the providers client-go has oidc alone. It stands back when there is a token.
static int take_provider(kubeconfig *k, const cJSON *provider, err *e)
{
    if (!cJSON_IsObject(provider) || k->token)
        return 0;
    if (!str_eq(json_str(provider, "name"), "oidc"))
        return err_set(e, ERR_INVALID,
            "auth-provider %s is no longer a part of Kubernetes: use an exec plugin",
            json_str_or(provider, "name", ""));
    if (!kubeconfig_is_tls(k)) // nothing is sent without TLS
        return 0;
    k->token = oidc_token(json_get(provider, "config"), clock_wall(), e);
    return k->token ? 0 : -1;
}

static int take_user(kubeconfig *k, const cJSON *u, const cJSON *cluster, err *e)
{
    k->cert_file = copy_str(u, "client-certificate");
    k->key_file = copy_str(u, "client-key");
    k->token = copy_str(u, "token");
    k->token_file = copy_str(u, "tokenFile");
    k->username = copy_str(u, "username");
    k->password = copy_str(u, "password");
    k->as = copy_str(u, "as");
    k->as_uid = copy_str(u, "as-uid");
    k->as_groups = copy_list(json_get(u, "as-groups"));
    k->as_extra = cJSON_Duplicate(json_get(u, "as-user-extra"), 1);
    copy_data(u, "client-certificate-data", &k->cert_data, &k->cert_data_n);
    copy_data(u, "client-key-data", &k->key_data, &k->key_data_n);
    if (check_user(k, u, e) != 0 || take_provider(k, json_get(u, "auth-provider"), e) != 0)
        return -1;
    k->anonymous = !kubeconfig_is_tls(k);
    bool has_own =
        k->token || k->token_file || k->username || k->password || k->cert_file || k->cert_data;
    if (cJSON_IsObject(json_get(u, "exec")) && !k->anonymous && !has_own)
        k->exec = take_exec(json_get(u, "exec"), cluster);
    return 0;
}

static int take_context(kubeconfig *k, const cJSON *merged, const struct client_options *o, err *e)
{
    const cJSON *entry = entry_named(merged, "contexts", k->context);
    if (!entry) {
        AUTO_FREE char *known = kubeconfig_contexts(merged);
        return err_set(e, ERR_NOT_FOUND, "%s: there is no context \"%s\"; there are: %s", k->source,
            k->context, known);
    }
    const cJSON *context = json_get(entry, "context");
    k->cluster = copy_str(context, "cluster");
    k->user = copy_str(context, "user");
    k->namespace_ = o->namespace_ && *o->namespace_ ? mem_strdup(o->namespace_)
                                                    : copy_str(context, "namespace");
    if (take_registry(&k->registry, context, e) != 0)
        return err_wrap(e, "%s: context \"%s\"", k->source, k->context);
    const cJSON *cluster = entry_named(merged, "clusters", k->cluster);
    if (!cluster)
        return err_set(e, ERR_INVALID,
            "%s: context \"%s\" names the cluster \"%s\", which does not exist", k->source,
            k->context, k->cluster ? k->cluster : "");
    if (take_registry(&k->registry, json_get(cluster, "cluster"), e) != 0 ||
        take_cluster(k, json_get(cluster, "cluster"), o, e) != 0)
        return err_wrap(e, "%s: cluster \"%s\"", k->source, k->cluster);
    k->guarded = is_guarded(context) || is_guarded(json_get(cluster, "cluster"));
    const cJSON *user = entry_named(merged, "users", k->user);
    if (k->user && !user)
        return err_set(e, ERR_INVALID,
            "%s: context \"%s\" names the user \"%s\", which does not exist", k->source, k->context,
            k->user);
    if (user && take_user(k, json_get(user, "user"), json_get(cluster, "cluster"), e) != 0)
        return err_wrap(e, "%s: user \"%s\"", k->source, k->user);
    return 0;
}

bool kubeconfig_is_tls(const kubeconfig *k)
{
    return strncasecmp(k->server, "https://", 8) == 0;
}

kubeconfig *kubeconfig_resolve(
    const cJSON *merged, const char *source, const struct client_options *o, err *e)
{
    const char *name = o->context && *o->context ? o->context : json_str(merged, "current-context");
    if (!name) {
        AUTO_FREE char *known = kubeconfig_contexts(merged);
        err_set(
            e, ERR_USAGE, "%s: no current-context; choose one with --context: %s", source, known);
        return NULL;
    }
    kubeconfig *k = mem_alloc(sizeof *k);
    k->source = mem_strdup(source);
    k->context = mem_strdup(name);
    if (take_context(k, merged, o, e) != 0) {
        kubeconfig_free(k);
        return NULL;
    }
    if (!k->namespace_)
        k->namespace_ = mem_strdup("default");
    return k;
}

static int add_file(cJSON *merged, buf *source, const char *path, err *e)
{
    AUTO_BUF text = {0};
    if (path_read(path, &text, FILE_LIMIT, e) != 0)
        return -1;
    AUTO_JSON *config = kubeconfig_parse(path, buf_cstr(&text), text.len, e);
    if (!config)
        return -1;
    kubeconfig_merge(merged, config);
    buf_fmt(source, "%s%s", source->len ? ":" : "", path);
    return 0;
}

static int add_list(cJSON *merged, buf *source, const char *list, err *e)
{
    char **paths = strv_split(list, ':');
    int result = 0;
    for (char **p = paths; *p && result == 0; p++) {
        err why = {0};
        if (**p && add_file(merged, source, *p, &why) != 0 && why.code != ERR_NOT_FOUND)
            result = err_set(e, why.code, "%s", why.text);
    }
    strv_free(paths);
    return result;
}

static char *read_word(const char *folder, const char *name)
{
    AUTO_FREE char *path = path_join(folder, name);
    AUTO_BUF text = {0};
    return path_read(path, &text, 4096, NULL) == 0 ? str_trim(buf_cstr(&text), text.len) : NULL;
}

static kubeconfig *in_cluster(const struct client_options *o)
{
    const char *folder =
        o->service_dir ? o->service_dir : "/var/run/secrets/kubernetes.io/serviceaccount";
    bool v6 = strchr(o->service_host, ':') != NULL;
    kubeconfig *k = mem_alloc(sizeof *k);
    k->source = mem_strdup(folder);
    k->context = mem_strdup("in-cluster");
    k->server = str_fmt("https://%s%s%s:%s", v6 ? "[" : "", o->service_host, v6 ? "]" : "",
        o->service_port ? o->service_port : "443");
    k->ca_file = path_join(folder, "ca.crt");
    k->token_file = path_join(folder, "token");
    k->namespace_ = o->namespace_ && *o->namespace_ ? mem_strdup(o->namespace_)
                                                    : read_word(folder, "namespace");
    if (!k->namespace_)
        k->namespace_ = mem_strdup("default");
    return k;
}

// usual: the file of those who have set nothing, or NULL.
static int read_files(
    const struct client_options *o, const char *usual, cJSON *merged, buf *source, err *e)
{
    if (o->kubeconfig && *o->kubeconfig)
        return add_file(merged, source, o->kubeconfig, e);
    if (o->kubeconfig_list && *o->kubeconfig_list)
        return add_list(merged, source, o->kubeconfig_list, e);
    return usual ? add_list(merged, source, usual, e) : 0;
}

// An entry of a list: {"name": name, "cluster": {…}}.
static cJSON *add_entry(cJSON *config, const char *list, const char *what, const char *name)
{
    cJSON *entry = cJSON_CreateObject(), *body = cJSON_CreateObject();
    json_set_str(entry, "name", name);
    json_put(entry, what, false, body);
    cJSON_AddItemToArray(json_array_at(config, list), entry);
    return body;
}

static void add_pod(cJSON *config, const struct client_options *o)
{
    kubeconfig *k = in_cluster(o);
    cJSON *cluster = add_entry(config, "clusters", "cluster", k->context),
          *user = add_entry(config, "users", "user", k->context),
          *context = add_entry(config, "contexts", "context", k->context);
    json_set_str(cluster, "server", k->server);
    json_set_str(cluster, "certificate-authority", k->ca_file);
    json_set_str(user, "tokenFile", k->token_file);
    json_set_str(context, "cluster", k->context);
    json_set_str(context, "user", k->context);
    json_set_str(context, "namespace", k->namespace_);
    json_set_str(config, "current-context", k->context);
    kubeconfig_free(k);
}

cJSON *kubeconfig_whole(const struct client_options *o, err *e)
{
    AUTO_JSON *config = cJSON_CreateObject();
    AUTO_BUF source = {0};
    AUTO_FREE char *usual = o->home ? path_join(o->home, ".kube/config") : NULL;
    if (read_files(o, usual, config, &source, e) != 0)
        return NULL;
    if (!source.len && !o->service_host) {
        err_set(e, ERR_NOT_FOUND, "there is no kubeconfig");
        return NULL;
    }
    if (!source.len)
        add_pod(config, o);
    json_set_str(config, "apiVersion", "v1");
    json_set_str(config, "kind", "Config");
    if (o->context && *o->context)
        json_set_str(config, "current-context", o->context);
    const char *current = json_str_or(config, "current-context", "");
    cJSON *context = (cJSON *)json_get(entry_named(config, "contexts", current), "context");
    if (context && o->namespace_ && *o->namespace_)
        json_set_str(context, "namespace", o->namespace_);
    return STEAL(config);
}

static cJSON *listed(const cJSON *merged, const cJSON *entry, const char *current)
{
    const cJSON *context = json_get(entry, "context");
    const char *cluster_name = json_str_or(context, "cluster", "");
    const cJSON *cluster = json_get(entry_named(merged, "clusters", cluster_name), "cluster");
    cJSON *one = cJSON_CreateObject();
    json_set_str(one, "name", json_str_or(entry, "name", ""));
    json_set_str(one, "cluster", cluster_name);
    json_set_str(one, "user", json_str_or(context, "user", ""));
    json_set_str(one, "namespace", json_str_or(context, "namespace", "default"));
    json_set_str(one, "server", json_str_or(cluster, "server", ""));
    json_set_bool(one, "current", str_eq(json_str(entry, "name"), current));
    json_set_bool(one, "guarded", is_guarded(context) || is_guarded(cluster));
    return one;
}

cJSON *kubeconfig_list(const struct client_options *o, err *e)
{
    AUTO_JSON *merged = cJSON_CreateObject();
    AUTO_BUF source = {0};
    AUTO_FREE char *usual = o->home ? path_join(o->home, ".kube/config") : NULL;
    if (read_files(o, usual, merged, &source, e) != 0)
        return NULL;
    const char *current =
        o->context && *o->context ? o->context : json_str(merged, "current-context");
    cJSON *all = cJSON_CreateArray();
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json_get(merged, "contexts"))
    {
        cJSON_AddItemToArray(all, listed(merged, entry, current));
    }
    return all;
}

kubeconfig *kubeconfig_load(const struct client_options *o, err *e)
{
    AUTO_JSON *merged = cJSON_CreateObject();
    AUTO_BUF source = {0};
    AUTO_FREE char *usual = o->home ? path_join(o->home, ".kube/config") : NULL;
    if (read_files(o, usual, merged, &source, e) != 0)
        return NULL;
    if (source.len)
        return kubeconfig_resolve(merged, buf_cstr(&source), o, e);
    if (o->service_host && *o->service_host)
        return in_cluster(o);
    err_set(e, ERR_NOT_FOUND,
        "there is no kubeconfig (%s): give one with --kubeconfig or KUBECONFIG, use --sandbox, or "
        "the "
        "sandbox that is up: eval \"$(firesteel sandbox status)\"",
        o->kubeconfig_list && *o->kubeconfig_list ? o->kubeconfig_list
        : usual                                   ? usual
                                                  : "no HOME");
    return NULL;
}

void kubeconfig_free(kubeconfig *k)
{
    if (!k)
        return;
    char *strings[] = {k->context, k->cluster, k->user, k->namespace_, k->source, k->server,
        k->ca_file, k->cert_file, k->key_file, k->token_file, k->ca_data, k->cert_data, k->key_data,
        k->token, k->username, k->password, k->server_name, k->proxy, k->as, k->as_uid,
        k->registry.host, k->registry.ca_file, k->registry.ca_data};
    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        free(strings[i]);
    strv_free(k->as_groups);
    cJSON_Delete(k->as_extra);
    if (k->exec) {
        free(k->exec->api_version);
        free(k->exec->command);
        free(k->exec->install_hint);
        strv_free(k->exec->args);
        strv_free(k->exec->env);
        cJSON_Delete(k->exec->config);
        free(k->exec);
    }
    free(k);
}
