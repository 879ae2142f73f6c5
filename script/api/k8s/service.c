// SPDX-License-Identifier: MIT
// k8s.service: a request to a Service, through the API server.
#include "k8s/client/connect/service.h"
#include "base/str.h"
#include "script/api/k8s/k8s.h"

// {service, namespace, port, path, body?, timeout?} -> the body of the answer. A body is for what
// may be asked twice, as a prediction: the call is no effect.
int k8s_service(call *c, const cJSON *args, cJSON **result, err *e)
{
    client *k = bind_client(c, e);
    struct patience p = bind_patience(c);
    if (!k || k8s_deadline(c, args, &p, e) < 0)
        return -1;
    AUTO_BUF out = {0};
    struct service_request r = {
        .ns = json_str_or(args, "namespace", client_config(k)->namespace_),
        .service = json_str_or(args, "service", ""),
        .port = (int)json_int_or(args, "port", 80),
        .path = json_str_or(args, "path", "/"),
        .body = json_str(args, "body"),
        .repeatable = true,
    };
    if (client_service(k, &p, &r, &out, e) < 0)
        return -1;
    if (!utf8_valid(buf_cstr(&out), out.len))
        return err_set(e, ERR_INVALID, "service %s answers what is no text", r.service);
    *result = cJSON_CreateString(buf_cstr(&out));
    return 0;
}
