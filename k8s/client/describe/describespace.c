// SPDX-License-Identifier: MIT
// Namespaces with their quotas and limits, and ServiceAccounts.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/describeparts.h"

#include <stdlib.h>
#include <string.h>

static void conditions(buf *out, const cJSON *list)
{
    const cJSON *c;
    if (list && list->child)
        buf_str(out, "Conditions:\n  Type\tStatus\tLastTransitionTime\tReason\tMessage\n"
                     "  ----\t------\t------------------\t------\t-------\n");
    cJSON_ArrayForEach(c, list)
    {
        buf_fmt(out, "  %s\t%s\t", json_str_or(c, "type", ""), json_str_or(c, "status", ""));
        describe_time(out, NULL, json_str(c, "lastTransitionTime"));
        buf_fmt(out, "\t%s\t%s\n", json_str_or(c, "reason", ""), json_str_or(c, "message", ""));
    }
}

static void scopes(buf *out, const cJSON *list)
{
    static const char *const help[][2] = {
        {"Terminating",
            "Matches all pods that have an active deadline. These pods have a limited lifespan on "
            "a node before being actively terminated by the system."},
        {"NotTerminating",
            "Matches all pods that do not have an active deadline. These pods usually include long "
            "running pods whose container command is not expected to terminate."},
        {"BestEffort",
            "Matches all pods that do not have resource requirements set. These pods have a best "
            "effort quality of service."},
        {"NotBestEffort",
            "Matches all pods that have at least one resource requirement set. These pods have a "
            "burstable or guaranteed quality of service."},
    };
    AUTO_JSON *set = cJSON_CreateObject();
    const cJSON *scope;
    cJSON_ArrayForEach(scope, list)
    {
        if (cJSON_IsString(scope))
            json_set_bool(set, scope->valuestring, true);
    }
    AUTO_FREE const cJSON **sorted = json_sorted(set);
    buf_str(out, *sorted ? "  Scopes:\t" : "");
    for (const cJSON **s = sorted; *s; s++)
        buf_fmt(out, "%s%s%s", s == sorted ? "" : ", ", (*s)->string, s[1] ? "" : "\n");
    for (const cJSON **s = sorted; *s; s++)
        for (size_t i = 0; i < ARRAY_LEN(help); i++)
            if (str_eq((*s)->string, help[i][0]))
                buf_fmt(out, "  * %s\n", help[i][1]);
}

static void quota(buf *out, const cJSON *q)
{
    AUTO_FREE const cJSON **hard = json_sorted(json_path(q, "status.hard"));
    const cJSON *used = json_path(q, "status.used");
    buf_fmt(out, "  Name:\t%s\n", describe_name_of(q));
    scopes(out, json_path(q, "spec.scopes"));
    buf_str(out, "  Resource\tUsed\tHard\n  --------\t---\t---\n");
    for (const cJSON **h = hard; *h; h++)
        buf_fmt(out, "  %s\t%s\t%s\n", (*h)->string, json_str_or(used, (*h)->string, "0"),
            cJSON_IsString(*h) ? (*h)->valuestring : "");
}

// Lists come in the order of names.
static void quotas(buf *out, const cJSON *list)
{
    const cJSON *q;
    buf_str(out, list->child ? "\nResource Quotas\n" : "\nNo resource quota.\n");
    cJSON_ArrayForEach(q, list)
    {
        quota(out, q);
    }
}

static void limit(buf *out, const cJSON *item)
{
    static const char *const kinds[] = {
        "min", "max", "defaultRequest", "default", "maxLimitRequestRatio"};
    AUTO_JSON *names = cJSON_CreateObject();
    const cJSON *member;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        cJSON_ArrayForEach(member, json_get(item, kinds[i]))
        {
            if (member->string)
                json_set_bool(names, member->string, true);
        }
    AUTO_FREE const cJSON **sorted = json_sorted(names);
    for (const cJSON **n = sorted; *n; n++) {
        buf_fmt(out, " %s\t%s", json_str_or(item, "type", ""), (*n)->string);
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
            buf_fmt(out, "\t%s", json_str_or(json_get(item, kinds[i]), (*n)->string, "-"));
        buf_char(out, '\n');
    }
}

static void limits(buf *out, const cJSON *ranges)
{
    const cJSON *range, *item;
    if (!ranges->child) {
        buf_str(out, "\nNo LimitRange resource.\n");
        return;
    }
    buf_str(out, "\nResource Limits\n Type\tResource\tMin\tMax\tDefault Request\tDefault "
                 "Limit\tMax Limit/Request Ratio\n ----\t--------\t---\t---\t---------------\t"
                 "-------------\t-----------------------\n");
    cJSON_ArrayForEach(range, ranges)
    {
        cJSON_ArrayForEach(item, json_path(range, "spec.limits"))
        {
            limit(out, item);
        }
    }
}

void describe_namespace(buf *out, const cJSON *ns, const struct describe_more *more, int64_t now)
{
    const char *phase = json_path_str(ns, "status.phase");
    buf_fmt(out, "Name:\t%s\n", describe_name_of(ns));
    describe_meta(out, ns);
    buf_fmt(out, "Status:\t%s\n", phase ? phase : "");
    conditions(out, json_path(ns, "status.conditions"));
    if (more->related)
        quotas(out, more->related);
    if (more->also)
        limits(out, more->also);
}

static bool is_there(const cJSON *secrets, const char *name)
{
    const cJSON *s;
    cJSON_ArrayForEach(s, secrets)
    {
        if (str_eq(describe_name_of(s), name))
            return true;
    }
    return false;
}

static bool is_token_of(const cJSON *secret, const cJSON *account)
{
    const cJSON *notes = json_path(secret, "metadata.annotations");
    return str_eq(json_str(secret, "type"), "kubernetes.io/service-account-token") &&
           str_eq(
               json_str(notes, "kubernetes.io/service-account.name"), describe_name_of(account)) &&
           str_eq(json_str(notes, "kubernetes.io/service-account.uid"),
               json_path_str(account, "metadata.uid"));
}

// References to Secrets. secrets: those that are there; NULL: not known.
static void references(buf *out, const char *heading, const cJSON *list, const cJSON *secrets)
{
    const cJSON *r;
    if (!list || !list->child)
        buf_fmt(out, "%s\t<none>\n", heading);
    cJSON_ArrayForEach(r, list)
    {
        const char *name = json_str_or(r, "name", "");
        buf_fmt(out, "%s\t%s%s\n", r == list->child ? heading : "                   ", name,
            secrets && !is_there(secrets, name) ? " (not found)" : "");
    }
}

void describe_serviceaccount(
    buf *out, const cJSON *account, const struct describe_more *more, int64_t now)
{
    AUTO_JSON *tokens = cJSON_CreateArray();
    const cJSON *s;
    cJSON_ArrayForEach(s, more->related)
    {
        if (is_token_of(s, account)) {
            cJSON *token = cJSON_CreateObject();
            json_set_str(token, "name", describe_name_of(s));
            cJSON_AddItemToArray(tokens, token);
        }
    }
    describe_name(out, account);
    describe_meta(out, account);
    references(out, "Image pull secrets:", json_get(account, "imagePullSecrets"), more->related);
    references(out, "Mountable secrets: ", json_get(account, "secrets"), more->related);
    references(out, "Tokens:            ", tokens, NULL);
}
