// SPDX-License-Identifier: MIT
#include "k8s/client/connect/credentials.h"

#include "base/clock.h"
#include "base/json/secret.h"
#include "base/loop/child.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <signal.h>
#include <string.h>

enum { OUTPUT_LIMIT = 1 << 20, WORDS_LIMIT = 400, PLUGIN_MS = 60000, FILE_LIMIT = 1 << 20 };
static const int64_t file_age = 10 * CLOCK_SEC; // a token file is read again after this time

struct credentials {
    loop *loop;
    http *http;
    const kubeconfig *k;
    char **env;
    struct access access; // access.tls survives a change of token; NULL: still to be made
    bool valid;           // are the headers valid?
    int64_t read_at;      // mono: when the token file was read
    struct exec_answer plugin;
    bool plugin_valid;

    struct access_wait *waiting;
    child *child; // the plugin, while it runs
    loop_timer *timer;
    buf output, words; // its standard output; the end of its error output
    bool overdue;
    struct secret_sink secrets;
};

static void add_secret(credentials *c, const char *text)
{
    if (text && *text && c->secrets.fn)
        c->secrets.fn(c->secrets.arg, text);
}

// The password in "http://user:password@host".
static void add_url(credentials *c, const char *url)
{
    AUTO_FREE char *password = url ? secret_of_url(url) : NULL;
    add_secret(c, password);
}

// Most variables of a plugin hold its credentials. Those with these names only hold a path or a
// choice.
static bool is_setting(const char *name)
{
    static const char *const ends[] = {
        "_PROFILE", "_REGION", "_ENDPOINTS", "_FILE", "_DIR", "_PATH", "_HOME", "_CONFIG"};
    bool found = str_eq(name, "HOME") || str_eq(name, "PATH");
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        found = found || str_ends(name, ends[i]);
    return found;
}

static void add_plugin(credentials *c, const struct kube_exec *x)
{
    for (char **v = x->env; v && *v; v++) {
        size_t n = strcspn(*v, "=");
        AUTO_FREE char *name = mem_strndup(*v, n);
        if (secret_name(name) || !is_setting(name))
            add_secret(c, *v + n + 1);
        add_url(c, *v + n + 1);
    }
    // "--token=VALUE" and "--token VALUE"
    for (char **a = x->args; a && *a; a++) {
        size_t n = strcspn(*a, "=");
        AUTO_FREE char *name = mem_strndup(*a, n);
        if (**a == '-' && secret_name(name))
            add_secret(c, (*a)[n] ? *a + n + 1 : a[1]);
        add_url(c, *a);
    }
}

credentials *credentials_new(loop *l, http *h, const kubeconfig *k, const char *const *env,
    const struct secret_sink *secrets)
{
    credentials *c = mem_alloc(sizeof *c);
    c->loop = l;
    c->http = h;
    c->k = k;
    c->env = env ? strv_dup(env) : NULL;
    c->secrets = *secrets;
    add_secret(c, k->token);
    add_secret(c, k->password);
    add_secret(c, k->key_data);
    add_url(c, k->server);
    add_url(c, k->proxy);
    if (k->exec)
        add_plugin(c, k->exec);
    return c;
}

static void drop_answer(credentials *c)
{
    free(c->plugin.token);
    free(c->plugin.cert);
    free(c->plugin.key);
    c->plugin = (struct exec_answer){0};
    c->plugin_valid = false;
}

static void drop_headers(credentials *c)
{
    strv_free(c->access.headers);
    c->access.headers = NULL;
    c->valid = false;
}

void credentials_free(credentials *c)
{
    if (!c)
        return;
    child_free(c->child);
    loop_timer_free(c->timer);
    drop_answer(c);
    drop_headers(c);
    buf_done(&c->output);
    buf_done(&c->words);
    strv_free(c->env);
    free(c);
}

static int pem(
    const char *file, const char *data, size_t data_n, const char *what, buf *out, err *e)
{
    if (data)
        buf_add(out, data, data_n);
    else if (file && path_read(file, out, FILE_LIMIT, e) != 0)
        return err_wrap(e, "%s", what);
    return 0;
}

static int make_tls(credentials *c, err *e)
{
    const kubeconfig *k = c->k;
    if (c->access.tls)
        return 0;
    AUTO_BUF ca = {0}, cert = {0}, key = {0};
    if (pem(k->ca_file, k->ca_data, k->ca_data_n, "certificate-authority", &ca, e) != 0)
        return -1;
    if (!k->anonymous &&
        (pem(k->cert_file, k->cert_data, k->cert_data_n, "client-certificate", &cert, e) != 0 ||
            pem(k->key_file, k->key_data, k->key_data_n, "client-key", &key, e) != 0))
        return -1;
    if (c->plugin.cert) {
        buf_clear(&cert);
        buf_clear(&key);
        buf_str(&cert, c->plugin.cert);
        buf_str(&key, c->plugin.key);
    }
    add_secret(c, key.len ? buf_cstr(&key) : NULL);
    c->access.tls = http_tls_new(c->http,
        &(struct http_tls_options){.ca = ca.data,
            .ca_n = ca.len,
            .cert = cert.data,
            .cert_n = cert.len,
            .key = key.data,
            .key_n = key.len,
            .server_name = k->server_name,
            .insecure = k->insecure},
        e);
    return c->access.tls ? 0 : -1;
}

// A header has one line: what follows a line break would be another one.
static int add_header(credentials *c, const char *name, const char *value, err *e)
{
    if (strpbrk(value, "\r\n"))
        return err_set(e, ERR_INVALID,
            "what the kubeconfig says for the header %s has a line break in it; write it in one "
            "line",
            name);
    AUTO_FREE char *header = str_fmt("%s: %s", name, value);
    c->access.headers = strv_add(c->access.headers, header);
    return 0;
}

// The file wins, as long as it has a token.
static char *file_token(credentials *c, err *e)
{
    AUTO_BUF text = {0};
    if (path_read(c->k->token_file, &text, FILE_LIMIT, e) != 0)
        return NULL;
    AUTO_FREE char *token = str_trim(buf_cstr(&text), text.len);
    if (*token)
        return STEAL(token);
    err_set(e, ERR_INVALID, "%s is empty", c->k->token_file);
    return NULL;
}

static char *find_token(credentials *c, err *e)
{
    const kubeconfig *k = c->k;
    if (c->plugin.token)
        return mem_strdup(c->plugin.token);
    if (!k->token_file)
        return mem_strdup(k->token);
    err why = {0};
    char *token = file_token(c, &why);
    c->read_at = clock_mono();
    if (!token && !(token = mem_strdup(k->token)))
        err_set(e, why.code, "tokenFile: %s", why.text);
    return token;
}

static int add_token(credentials *c, err *e)
{
    AUTO_FREE char *token = find_token(c, e);
    if (!token)
        return c->k->token_file && !c->plugin.token ? -1 : 0;
    if (strpbrk(token, "\r\n"))
        return err_set(e, ERR_INVALID, "the token has a line break in it");
    add_secret(c, token);
    AUTO_FREE char *bearer = str_fmt("Bearer %s", token);
    return add_header(c, "Authorization", bearer, e);
}

static int add_basic(credentials *c, err *e)
{
    const kubeconfig *k = c->k;
    AUTO_FREE char *pair =
        str_fmt("%s:%s", k->username ? k->username : "", k->password ? k->password : "");
    AUTO_BUF text = {0};
    base64_encode(&text, pair, strlen(pair));
    add_secret(c, k->password);
    add_secret(c, buf_cstr(&text));
    AUTO_FREE char *basic = str_fmt("Basic %s", buf_cstr(&text));
    return add_header(c, "Authorization", basic, e);
}

static int add_impersonation(credentials *c, err *e)
{
    const kubeconfig *k = c->k;
    int status = k->as ? add_header(c, "Impersonate-User", k->as, e) : 0;
    if (status == 0 && k->as_uid)
        status = add_header(c, "Impersonate-Uid", k->as_uid, e);
    for (char **g = k->as_groups; status == 0 && g && *g; g++)
        status = add_header(c, "Impersonate-Group", *g, e);
    const cJSON *extra, *value;
    cJSON_ArrayForEach(extra, k->as_extra)
    {
        cJSON_ArrayForEach(value, extra)
        {
            AUTO_BUF name = {0};
            buf_str(&name, "Impersonate-Extra-");
            url_escape(&name, extra->string);
            if (status == 0 && cJSON_IsString(value))
                status = add_header(c, buf_cstr(&name), value->valuestring, e);
        }
    }
    return status;
}

static int make_access(credentials *c, err *e)
{
    drop_headers(c);
    c->access.headers = mem_array(1, sizeof *c->access.headers);
    const kubeconfig *k = c->k;
    int status = make_tls(c, e);
    if (status == 0 && !k->anonymous)
        status = k->username || k->password ? add_basic(c, e) : add_token(c, e);
    if (status == 0)
        status = add_impersonation(c, e);
    c->valid = status == 0;
    return status == 0 ? 0
           : k->user   ? err_wrap(e, "context %s, user %s", k->context, k->user)
                       : err_wrap(e, "context %s", k->context);
}

static void answer_all(credentials *c, const err *e)
{
    struct access_wait *w;
    while ((w = c->waiting)) {
        c->waiting = w->next;
        w->waiting = false;
        w->fn(w->arg, e ? NULL : &c->access, e);
    }
}

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    credentials *c = arg;
    buf *to = fd == 1 ? &c->output : &c->words;
    buf_add(to, bytes, n);
    if (fd == 1 && to->len > OUTPUT_LIMIT)
        child_kill(c->child, SIGKILL);
    if (fd != 1 && to->len > WORDS_LIMIT) { // cut at a space: a part of a token would not be masked
        size_t from = to->len - WORDS_LIMIT;
        while (from < to->len && !strchr(" \t\n", to->data[from]))
            from++;
        buf_consume(to, from);
    }
}

static int judge_plugin(credentials *c, int code, int signal, err *e)
{
    if (c->overdue)
        return err_set(e, ERR_UNAUTHORIZED, "it did not end within %d s", PLUGIN_MS / 1000);
    if (code != 0) {
        AUTO_BUF clean = {0};
        utf8_clean(&clean, buf_cstr(&c->words), c->words.len);
        AUTO_FREE char *words = str_trim(buf_cstr(&clean), clean.len);
        return err_set(e, ERR_UNAUTHORIZED, "it ended with %s %d%s%s",
            signal ? "signal" : "exit code", signal ? signal : code, *words ? ": " : "", words);
    }
    return exec_answer_parse(
        buf_cstr(&c->output), c->output.len, c->k->exec->api_version, &c->plugin, e);
}

static void on_exited(void *arg, int code, int signal)
{
    credentials *c = arg;
    err e = {0};
    int result = judge_plugin(c, code, signal, &e);
    if (result != 0)
        err_wrap(&e, "context %s: the exec plugin %s", c->k->context, c->k->exec->command);
    loop_timer_stop(c->timer);
    child *ended = STEAL(c->child);
    child_free(ended);
    if (c->output.data) // it contained the secret
        explicit_bzero(c->output.data, c->output.len);
    buf_clear(&c->output);
    buf_clear(&c->words);
    if (result == 0) {
        c->plugin_valid = true;
        if (c->plugin.cert)
            c->access.tls = NULL;
        result = make_access(c, &e);
    }
    answer_all(c, result == 0 ? NULL : &e);
}

static const struct child_ops plugin_ops = {.output = on_output, .exited = on_exited};

static void on_overdue(void *arg)
{
    credentials *c = arg;
    c->overdue = true;
    child_kill(c->child, SIGKILL);
}

// The ExecCredential for the plugin: {"spec": {"interactive": false, "cluster": {…}}}.
static char *exec_info(const kubeconfig *k)
{
    AUTO_JSON *info = cJSON_CreateObject();
    json_set_str(info, "apiVersion", k->exec->api_version);
    json_set_str(info, "kind", "ExecCredential");
    cJSON *spec = json_object_at(info, "spec");
    json_set_bool(spec, "interactive", false);
    if (k->exec->provide_cluster_info) {
        cJSON *cluster = json_object_at(spec, "cluster");
        json_set_str(cluster, "server", k->server);
        json_set_str(cluster, "tls-server-name", k->server_name);
        json_set_str(cluster, "proxy-url", k->proxy);
        json_set_bool(cluster, "insecure-skip-tls-verify", k->insecure);
        json_set_bool(cluster, "disable-compression", k->no_compression);
        json_set(cluster, "config", cJSON_Duplicate(k->exec->config, true));
        AUTO_BUF ca = {0}, text = {0};
        if (pem(k->ca_file, k->ca_data, k->ca_data_n, "", &ca, NULL) == 0 && ca.len) {
            base64_encode(&text, ca.data, ca.len);
            json_set_str(cluster, "certificate-authority-data", buf_cstr(&text));
        }
    }
    AUTO_FREE char *json = json_to_str(info);
    return str_fmt("KUBERNETES_EXEC_INFO=%s", json);
}

static bool sets_same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return n == strcspn(b, "=") && strncmp(a, b, n) == 0;
}

// Our environment, with the plugin's own settings over it.
static char **plugin_env(const credentials *c, const char *info)
{
    char **env = mem_array(1, sizeof *env);
    for (char *const *v = c->env; v && *v; v++) {
        bool overridden = sets_same_name(*v, info);
        for (char **own = c->k->exec->env; *own; own++)
            overridden = overridden || sets_same_name(*v, *own);
        if (!overridden)
            env = strv_add(env, *v);
    }
    for (char **own = c->k->exec->env; *own; own++)
        env = strv_add(env, *own);
    return strv_add(env, info);
}

static int start_plugin(credentials *c, err *e)
{
    const struct kube_exec *x = c->k->exec;
    AUTO_FREE char *info = exec_info(c->k);
    char **env = plugin_env(c, info);
    char **argv = mem_array(1, sizeof *argv);
    argv = strv_add(argv, x->command);
    for (char **a = x->args; a && *a; a++)
        argv = strv_add(argv, *a);
    c->overdue = false;
    c->child = child_spawn(c->loop,
        &(struct child_spec){.argv = (const char *const *)argv, .env = (const char *const *)env},
        &plugin_ops, c, e);
    strv_free(argv);
    strv_free(env);
    if (!c->child)
        return err_wrap(e, "context %s: the exec plugin does not start%s%s", c->k->context,
            x->install_hint ? "; its hint: " : "", x->install_hint ? x->install_hint : "");
    if (!c->timer)
        c->timer = loop_timer_new(c->loop, on_overdue, c);
    loop_timer_start(c->timer, PLUGIN_MS, 0);
    return 0;
}

// A token must still be valid when its request arrives.
static bool plugin_ends(const credentials *c)
{
    return c->plugin.expires && clock_wall() > c->plugin.expires - 5 * CLOCK_SEC;
}

static bool still_good(const credentials *c)
{
    if (!c->valid || plugin_ends(c))
        return false;
    return c->k->anonymous || !c->k->token_file || clock_mono() - c->read_at < file_age;
}

void credentials_get(credentials *c, struct access_wait *w)
{
    err e = {0};
    if (still_good(c)) {
        w->fn(w->arg, &c->access, NULL);
        return;
    }
    if (c->k->exec && (!c->plugin_valid || plugin_ends(c))) {
        if (!c->child) {
            drop_answer(c);
            if (start_plugin(c, &e) != 0) {
                w->fn(w->arg, NULL, &e);
                return;
            }
        }
        w->next = c->waiting;
        w->waiting = true;
        c->waiting = w;
        return;
    }
    int result = make_access(c, &e);
    w->fn(w->arg, result == 0 ? &c->access : NULL, result == 0 ? NULL : &e);
}

const char *credentials_plugin(const credentials *c)
{
    return c->child ? c->k->exec->command : NULL;
}

void credentials_forget(credentials *c, struct access_wait *w)
{
    if (!w->waiting)
        return;
    struct access_wait **p = &c->waiting;
    while (*p != w)
        p = &(*p)->next;
    *p = w->next;
    w->waiting = false;
}

bool credentials_expire(credentials *c)
{
    c->valid = false;
    if (c->k->exec && !c->child)
        c->plugin_valid = false;
    if (c->k->cert_file)
        c->access.tls = NULL; // its file may have been renewed
    return c->k->exec || c->k->token_file || c->k->cert_file;
}
