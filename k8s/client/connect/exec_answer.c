// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/json/shape.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/credentials.h"

static const struct shape_field status_fields[] = {{"token", &shape_string},
    {"expirationTimestamp", &shape_string}, {"clientCertificateData", &shape_string},
    {"clientKeyData", &shape_string}, {0}};
static const struct shape_field answer_fields[] = {{"kind", &shape_string},
    {"apiVersion", &shape_string}, {"status", SHAPE_OBJECT_OF(status_fields)}, {0}};
static const struct shape answer_shape = {SHAPE_OBJECT, .fields = answer_fields};

int exec_answer_parse(
    const char *text, size_t n, const char *api_version, struct exec_answer *out, err *e)
{
    *out = (struct exec_answer){0};
    AUTO_JSON *answer = json_parse(text, n, NULL);
    if (!answer || !str_eq(json_str(answer, "kind"), "ExecCredential"))
        return err_set(e, ERR_INVALID, "its output is not an ExecCredential");
    if (shape_check(&answer_shape, answer, text, n, e) != 0)
        return err_wrap(e, "in its output");
    const char *version = json_str(answer, "apiVersion");
    if (!str_eq(version, api_version))
        return err_set(e, ERR_INVALID, "it answers in %s, the kubeconfig asks for %s",
            version ? version : "no apiVersion", api_version);
    const cJSON *status = json_get(answer, "status");
    const char *token = json_str(status, "token"),
               *expires = json_str(status, "expirationTimestamp");
    const char *cert = json_str(status, "clientCertificateData");
    const char *key = json_str(status, "clientKeyData");
    if (!token && !(cert && key))
        return err_set(e, ERR_INVALID, "its answer has neither a token nor a certificate and key");
    if (expires && clock_parse_rfc3339(expires, &out->expires, NULL) != 0)
        return err_set(e, ERR_INVALID, "its expirationTimestamp is not a time");
    out->token = mem_strdup(token);
    out->cert = mem_strdup(key ? cert : NULL);
    out->key = mem_strdup(cert ? key : NULL);
    return 0;
}
