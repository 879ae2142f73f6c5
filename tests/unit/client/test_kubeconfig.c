// SPDX-License-Identifier: MIT
// kubeconfigs are read as kubectl reads them; the expected values are those of client-go's
// clientcmd.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/connect/credentials.h"
#include "k8s/client/connect/kubeconfig.h"
#include "k8s/client/connect/proxy.h"
#include "tests/support/tap.h"

static const char first[] =
    "current-context: a\n"
    "clusters:\n"
    "- {name: one, cluster: {server: 'https://one.example:6443/', certificate-authority: "
    "pki/ca.crt}}\n"
    "users:\n"
    "- {name: admin, user: {client-certificate: admin.crt, client-key: /abs/admin.key}}\n"
    "contexts:\n"
    "- {name: a, context: {cluster: one, user: admin, namespace: team}}\n";

static const char second[] =
    "current-context: b\n"
    "clusters:\n"
    "- {name: one, cluster: {server: 'https://impostor.example'}}\n"
    "- name: two\n"
    "  cluster:\n"
    "    server: https://two.example:443\n"
    "    tls-server-name: api.internal\n"
    "    extensions: [{name: firesteel/registry, extension: {host: '127.0.0.1:5000', ca: "
    "pki/r.crt, insecure: true}}]\n"
    "users:\n"
    "- {name: dev, user: {token: abc, as: bob, as-groups: [x, z]}}\n"
    "- name: cloud\n"
    "  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/plugin, args: [get, "
    "token],\n"
    "    env: [{name: A, value: b}], installHint: apt install plugin, interactiveMode: Never}}\n"
    "contexts:\n"
    "- {name: b, context: {cluster: two, user: dev}}\n"
    "- {name: c, context: {cluster: two, user: cloud}}\n";

static char *write_file(const char *name, const char *text)
{
    char *path = path_join(tap_dir(), name);
    err e = {0};
    CHECK_OK(path_write(path, text, strlen(text), 0600, &e) == 0, e);
    return path;
}

static kubeconfig *load_both(const char *context, err *e)
{
    AUTO_FREE char *a = write_file("first", first);
    AUTO_FREE char *b = write_file("second", second);
    AUTO_FREE char *list = str_fmt("%s/absent:%s:%s", tap_dir(), a, b);
    return kubeconfig_load(
        &(struct client_options){.kubeconfig_list = list, .context = context}, e);
}

TEST(the_first_file_wins_and_paths_follow_their_file)
{
    err e = {0};
    kubeconfig *k = load_both(NULL, &e);
    CHECK_OK(k, e);
    CHECK_STR(k->context, "a");
    CHECK_STR(k->server, "https://one.example:6443");
    CHECK_STR(k->namespace_, "team");
    AUTO_FREE char *ca = path_join(tap_dir(), "pki/ca.crt");
    AUTO_FREE char *cert = path_join(tap_dir(), "admin.crt");
    CHECK_STR(k->ca_file, ca);
    CHECK_STR(k->cert_file, cert);
    CHECK_STR(k->key_file, "/abs/admin.key");
    kubeconfig_free(k);
}

TEST(another_context_comes_from_another_file)
{
    err e = {0};
    kubeconfig *k = load_both("b", &e);
    CHECK_OK(k, e);
    CHECK_STR(k->server, "https://two.example:443");
    CHECK_STR(k->token, "abc");
    CHECK_STR(k->as, "bob");
    CHECK_STR(k->as_groups[1], "z");
    CHECK_STR(k->server_name, "api.internal");
    CHECK_STR(k->registry.host, "127.0.0.1:5000");
    AUTO_FREE char *ca = path_join(tap_dir(), "pki/r.crt");
    CHECK_STR(k->registry.ca_file, ca);
    CHECK(k->registry.insecure);
    CHECK_STR(k->namespace_, "default");
    kubeconfig_free(k);
}

TEST(exec_plugins_are_read)
{
    err e = {0};
    kubeconfig *k = load_both("c", &e);
    CHECK_OK(k, e);
    AUTO_FREE char *command = path_join(tap_dir(), "bin/plugin");
    CHECK_STR(k->exec->command, command);
    CHECK_STR(k->exec->args[1], "token");
    CHECK_STR(k->exec->env[0], "A=b");
    CHECK_STR(k->exec->install_hint, "apt install plugin");
    kubeconfig_free(k);
}

TEST(what_is_not_there_is_named_with_what_is)
{
    err e = {0};
    CHECK(!load_both("z", &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_HAS(e.text, "there is no context \"z\"; there are: a, b, c");
    CHECK(!kubeconfig_load(&(struct client_options){.kubeconfig = "/nowhere"}, &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK(!kubeconfig_load(&(struct client_options){.home = tap_dir()}, &e));
    CHECK_HAS(e.text, "--kubeconfig or KUBECONFIG");
    CHECK_HAS(e.text, "firesteel sandbox status"); // which prints the one that is up
}

TEST(errors_have_a_place_and_no_secrets)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"users:\n- {name: a\n  user", "line "},
        {"- 1", "this is not a kubeconfig"},
        {"clusters: {}", "/bad: line 1, column 11: clusters must be a list, and is a mapping"},
        {"users:\n- name: u\n  user:\n    token: 987654321\n",
            "/bad: line 4, column 12: users[0].user.token must be a text, and is a number"},
        {"users:\n- {name: 987654321}\n", "users[0].name must be a text"},
        {"kind: Pod\napiVersion: v1\n", "this is no kubeconfig: it is of v1, kind Pod"},
        {"current-context: a\ncontexts: [{name: a, context: {cluster: x}}]",
            "names the cluster \"x\""},
        {"current-context: a\nclusters: [{name: x, cluster: {}}]\ncontexts: [{name: a, context: "
         "{cluster: x}}]",
            "it has no server"},
        {"current-context: a\nclusters: [{name: x, cluster: {server: s}}]\nusers: [{name: u, user: "
         "{client-key-data: '!hunter2'}}]\ncontexts: [{name: a, context: {cluster: x, user: u}}]",
            "users[0].user.client-key-data is not base64"},
        {"contexts: [{name: a}]", "no current-context; choose one with --context: a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        AUTO_FREE char *path = write_file("bad", cases[i].text);
        CHECK(!kubeconfig_load(&(struct client_options){.kubeconfig = path}, &e));
        CHECK_HAS(e.text, cases[i].error);
        CHECK(!strstr(e.text, "hunter2") && !strstr(e.text, "987654321"));
    }
}

TEST(inside_a_pod_the_service_account_is_used)
{
    err e = {0};
    free(write_file("namespace", "jobs\n"));
    kubeconfig *k = kubeconfig_load(&(struct client_options){.home = "/nowhere",
                                        .service_host = "fd00::1",
                                        .service_port = "443",
                                        .service_dir = tap_dir()},
        &e);
    CHECK_OK(k, e);
    CHECK_STR(k->server, "https://[fd00::1]:443");
    CHECK_STR(k->namespace_, "jobs");
    CHECK(str_ends(k->token_file, "/token"));
    kubeconfig_free(k);
}

TEST(proxies_follow_go_s_rules)
{
    static const struct {
        const char *url, *no_proxy;
        bool proxied;
    } cases[] = {
        {"https://api.example", "", true},
        {"https://api.example", "example", false},
        {"https://api.example", ".example", false},
        {"https://example", ".example", true},
        {"https://badexample", "example", true},
        {"https://api.example:6443", "api.example:443", true},
        {"https://api.example:6443", "x, api.example:6443", false},
        {"https://10.1.2.3", "10.0.0.0/8", false},
        {"https://11.1.2.3", "10.0.0.0/8", true},
        {"https://[fd00::5]:1", "fd00::/16", false},
        {"https://api.example", "*", false},
        {"https://127.0.0.1:1", "", false},
        {"https://localhost", "", false},
        {"http://api.example", "", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *proxy = proxy_for(cases[i].url, "http://proxy:3128", cases[i].no_proxy);
        if (!!proxy != cases[i].proxied)
            tap_fail(__FILE__, __LINE__, "%s with NO_PROXY=%s", cases[i].url, cases[i].no_proxy);
    }
}

TEST(what_plugins_print_is_checked)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "is not an ExecCredential"},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"v0\"}", "it answers in v0"},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"v1\",\"status\":{\"clientCertificateData\":"
         "\"x\"}}",
            "neither a token nor a certificate"},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"v1\",\"status\":{\"token\":\"t\","
         "\"expirationTimestamp\":\"soon\"}}",
            "expirationTimestamp is not a time"},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"v1\",\"status\":{\"token\":987654321}}",
            "in its output: line 1, column 62: status.token must be a text, and is a number"},
    };
    struct exec_answer a;
    err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK(exec_answer_parse(cases[i].text, strlen(cases[i].text), "v1", &a, &e) != 0);
        CHECK_HAS(e.text, cases[i].error);
    }
    const char *good =
        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"v1\",\"status\":{\"token\":\"t\","
        "\"expirationTimestamp\":\"1970-01-01T00:00:01Z\"}}";
    CHECK_OK(exec_answer_parse(good, strlen(good), "v1", &a, &e) == 0, e);
    CHECK_INT(a.expires, 1000000000);
    free(a.token);
}

static void note_access(void *arg, const struct access *access, const err *e)
{
    buf *said = arg;
    for (char **h = access ? access->headers : NULL; h && *h; h++)
        buf_fmt(said, "%s,", *h);
    buf_str(said, access ? "" : e->text);
}

// A line break in a value would begin another header.
TEST(headers_of_a_kubeconfig_have_one_line)
{
    static const char *const users[][2] = {
        {"{token: t, as: bob, as-uid: '7', as-groups: [x, z], as-user-extra: {k v: [w]}}",
            "Authorization: Bearer t,Impersonate-User: bob,Impersonate-Uid: 7,Impersonate-Group: x,"
            "Impersonate-Group: z,Impersonate-Extra-k%20v: w,"},
        {"{as: \"bob\\nX: y\"}", "header Impersonate-User has a line break"},
        {"{as: bob, as-uid: \"7\\r\"}", "header Impersonate-Uid has a line break"},
        {"{as: bob, as-groups: [x, \"y\\n\"]}", "header Impersonate-Group has a line break"},
        {"{as: bob, as-user-extra: {k: [\"\\nw\"]}}",
            "header Impersonate-Extra-k has a line break"},
        {"{token: \"t\\nX: y\"}", "the token has a line break"},
    };
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        err e = {0};
        AUTO_BUF said = {0};
        AUTO_FREE char *text = str_fmt("current-context: a\nclusters: [{name: c, cluster: {server: "
                                       "'https://h'}}]\nusers: [{name: u, user: %s}]\ncontexts: "
                                       "[{name: a, context: {cluster: c, user: u}}]\n",
            users[i][0]);
        AUTO_FREE char *path = write_file("headers", text);
        kubeconfig *k = kubeconfig_load(&(struct client_options){.kubeconfig = path}, &e);
        CHECK_OK(k, e);
        loop *l = loop_new(&e);
        http *h = http_new(l, "test", &e);
        CHECK_OK(l && h, e);
        credentials *c = credentials_new(l, h, k, NULL, &(struct secret_sink){0});
        credentials_get(c, &(struct access_wait){.fn = note_access, .arg = &said});
        CHECK_HAS(buf_cstr(&said), users[i][1]);
        credentials_free(c);
        http_free(h);
        loop_free(l);
        kubeconfig_free(k);
    }
}

int main(void)
{
    return tap_run();
}
