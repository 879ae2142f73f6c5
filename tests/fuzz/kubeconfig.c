// SPDX-License-Identifier: MIT
#include "k8s/client/connect/kubeconfig.h"
#include "k8s/client/connect/credentials.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

// An accepted config can be used: it has a server, a context, a namespace.
static void use(cJSON *config)
{
    err e;
    cJSON *merged = cJSON_CreateObject();
    kubeconfig_merge(merged, config);
    free(kubeconfig_contexts(merged));
    kubeconfig *k = kubeconfig_resolve(merged, "fuzz", &(struct client_options){0}, &e);
    if (k && (!k->server || !strstr(k->server, "://") || !k->context || !k->namespace_))
        abort();
    kubeconfig_free(k);
    cJSON_Delete(merged);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    err e;
    struct exec_answer answer;
    cJSON *config = kubeconfig_parse("/etc/fuzz", (const char *)bytes, n, &e);
    if (config)
        use(config);
    cJSON_Delete(config);
    if (exec_answer_parse((const char *)bytes, n, "client.authentication.k8s.io/v1", &answer, &e) ==
        0) {
        free(answer.token);
        free(answer.cert);
        free(answer.key);
    }
    return 0;
}
