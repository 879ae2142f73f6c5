// SPDX-License-Identifier: MIT
// kubeconfig files: reads them, merges them as kubectl does, and takes one context out of them.
// Nothing here uses the network or the environment. A `kubeconfig` owns its strings.
#pragma once
#include "base/err.h"
#include "base/json/json.h"

#include <stdbool.h>

// Receives bytes that must not be shown, each as soon as it is known and before it is used. It is
// called on any thread as long as the client lives. fn may be NULL.
struct secret_sink {
    void (*fn)(void *arg, const char *secret);
    void *arg;
};

// Where to look, from the command line and the environment. Strings are borrowed; NULL: not given.
struct client_options {
    const char *kubeconfig;      // --kubeconfig: only this file, which must exist
    const char *kubeconfig_list; // $KUBECONFIG: a list separated by ':'; missing files are skipped
    const char *home;            // $HOME: ~/.kube/config is read when there is no list
    const char *context;         // --context
    const char *namespace_;      // -n
    const char *service_host;    // $KUBERNETES_SERVICE_HOST and _PORT: inside a pod, used when no
    const char *service_port;    //   file was found
    const char *service_dir;     // NULL: /var/run/secrets/kubernetes.io/serviceaccount
    const char *https_proxy;     // $HTTPS_PROXY and $NO_PROXY, for clusters without a proxy-url
    const char *no_proxy;
    const char *const *env; // for exec plugins; NULL: none
    struct secret_sink secrets;
};

// An exec credential plugin, as configured.
struct kube_exec {
    char *api_version;  // client.authentication.k8s.io/v1 or v1beta1
    char *command;      // absolute, or a name that is looked up in PATH
    char **args, **env; // env: "NAME=value"
    char *install_hint;
    bool provide_cluster_info;
    cJSON *config; // the cluster's extension for it, which goes with that; NULL: none
};

// The registry in the extension "firesteel/registry" of a context, else of its cluster:
// {host: "HOST[:PORT][/PREFIX]", insecure, ca (a file, or PEM), ca-data (base64)}.
struct kube_registry {
    char *host;              // NULL: none
    char *ca_file, *ca_data; // data wins
    size_t ca_data_n;
    bool insecure; // plain HTTP, or a certificate that nobody vouches for
};

// One context: a cluster, a user, a namespace. Files named in it are kept as paths, resolved
// against the kubeconfig's folder, and read when they are needed.
typedef struct kubeconfig {
    char *context, *cluster, *user; // names of the entries
    char *namespace_;               // never NULL; "default" if nothing else is set
    char *source;                   // the file(s), for messages
    char *server;                   // "https://host:port[/path]" without a final slash
    char *ca_file, *cert_file, *key_file, *token_file; // NULL: none
    char *ca_data, *cert_data, *key_data;              // PEM; wins over the file
    size_t ca_data_n, cert_data_n, key_data_n;
    char *token, *username, *password; // token: where token_file cannot be read
    char *server_name, *proxy;
    bool insecure, no_compression;
    bool anonymous; // without TLS nobody is told who we are, but for whom we act
    bool guarded;   // "firesteel/protected": what changes anything there is asked for every time
    char *as, *as_uid, **as_groups; // impersonation
    cJSON *as_extra;                // {"key": ["value", …]}
    struct kube_exec *exec;         // NULL: none, or other credentials come before it
    struct kube_registry registry;
} kubeconfig;

// Reads, merges and resolves. Errors: ERR_NOT_FOUND (no file; or no such context: lists the known
// ones), ERR_INVALID (file, line and column), ERR_USAGE.
kubeconfig *kubeconfig_load(const struct client_options *options, err *e);
void kubeconfig_free(kubeconfig *k);
bool kubeconfig_is_tls(const kubeconfig *k);
// All contexts, in the order of the files: [{"name", "cluster", "user", "namespace", "server",
// "current", "guarded"}]; new. In a pod without a file there are none.
cJSON *kubeconfig_list(const struct client_options *options, err *e);
// All that the files say, merged and with absolute paths, for programs: the chosen context and
// namespace are its own. In a pod without a file it is the pod's account. ERR_NOT_FOUND: neither is
// there.
cJSON *kubeconfig_whole(const struct client_options *options, err *e);
// The parts of load. First: parses one file's text, in which every field has the type that
// client-go gives it, and makes its relative paths relative to its folder. Second: merges one more
// file below those merged so far, which win; empties `config`.
cJSON *kubeconfig_parse(const char *path, const char *text, size_t n, err *e);
void kubeconfig_merge(cJSON *merged, cJSON *config);
kubeconfig *kubeconfig_resolve(
    const cJSON *merged, const char *source, const struct client_options *options, err *e);
// The names of the contexts in a merged config: "a, b, c"; new.
char *kubeconfig_contexts(const cJSON *merged);
