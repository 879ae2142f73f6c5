// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/options.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// The name for the parameters in a refusal's Status, by verb.
static const struct kind list_options = {.group = "meta.k8s.io", .kind = "ListOptions"};
static const struct kind create_options = {.group = "meta.k8s.io", .kind = "CreateOptions"};
static const struct kind update_options = {.group = "meta.k8s.io", .kind = "UpdateOptions"};
static const struct kind patch_options = {.group = "meta.k8s.io", .kind = "PatchOptions"};
static const struct kind delete_options = {.group = "meta.k8s.io", .kind = "DeleteOptions"};

static bool are_numbers(struct request *r)
{
    static const char *const names[] = {"limit", "timeoutSeconds", "gracePeriodSeconds"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = http_query(r->x, names[i]);
        int64_t n;
        if (!value || !*value || str_to_int(value, &n))
            continue;
        reply_failure(r, 400, NULL, "strconv.ParseInt: parsing \"%s\": invalid syntax", value);
        return false;
    }
    return true;
}

static void forbid(cJSON **causes, const char *field, const char *why)
{
    causes_add(causes, "FieldValueForbidden", field, "Forbidden: %s", why);
}

static const char *given(const struct request *r, const char *name)
{
    const char *value = http_query(r->x, name);
    return value && *value ? value : NULL;
}

static void check_match(const struct request *r, bool watches, bool initial, cJSON **causes)
{
    const char *match = given(r, "resourceVersionMatch"), *version = given(r, "resourceVersion");
    static const char field[] = "resourceVersionMatch";
    bool exact = str_eq(match, "Exact");
    if (initial && !str_eq(match, "NotOlderThan"))
        forbid(causes, field,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    else if (match && watches && !initial)
        forbid(causes, field,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    else if (match && !version && !watches)
        forbid(
            causes, field, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    else if (match && !exact && !str_eq(match, "NotOlderThan"))
        causes_add(causes, "FieldValueNotSupported", field,
            "Unsupported value: \"%s\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
            match);
    else if (exact && str_eq(version, "0"))
        forbid(
            causes, field, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
}

static void check_list(const struct request *r, cJSON **causes)
{
    bool watches = request_flag(r, "watch"), initial = given(r, "sendInitialEvents");
    if (initial && !watches)
        forbid(causes, "sendInitialEvents", "sendInitialEvents is forbidden for list");
    else
        check_match(r, watches, initial, causes);
}

static void check_write(const struct request *r, cJSON **causes)
{
    static const char *const modes[] = {"Ignore", "Strict", "Warn"};
    const char *dry = given(r, "dryRun"), *mode = given(r, "fieldValidation");
    bool known = !mode;
    for (size_t i = 0; mode && i < ARRAY_LEN(modes); i++)
        known = known || str_eq(mode, modes[i]);
    if (dry && !str_eq(dry, "All"))
        causes_add(causes, "FieldValueNotSupported", "dryRun",
            "Unsupported value: [\"%s\"]: supported values: \"All\"", dry);
    if (!known)
        causes_add(causes, "FieldValueNotSupported", "fieldValidation",
            "Unsupported value: \"%s\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
            mode);
}

static void check_patch(const struct request *r, cJSON **causes)
{
    const char *type = http_request_header(r->x, "Content-Type");
    bool applies = type && str_starts(type, "application/apply-patch");
    check_write(r, causes);
    if (applies && !given(r, "fieldManager"))
        causes_add(causes, "FieldValueRequired", "fieldManager",
            "Required value: is required for apply patch");
    if (!applies && given(r, "force"))
        forbid(causes, "force", "may not be specified for non-apply patch");
}

static void check_delete(const struct request *r, cJSON **causes)
{
    static const char *const policies[] = {"Foreground", "Background", "Orphan"};
    const char *policy = given(r, "propagationPolicy"), *dry = given(r, "dryRun");
    bool known = !policy;
    for (size_t i = 0; policy && i < ARRAY_LEN(policies); i++)
        known = known || str_eq(policy, policies[i]);
    if (!known)
        causes_add(causes, "FieldValueNotSupported", "propagationPolicy",
            "Unsupported value: \"%s\": supported values: \"Foreground\", \"Background\", "
            "\"Orphan\", \"nil\"",
            policy);
    if (dry && !str_eq(dry, "All"))
        causes_add(causes, "FieldValueNotSupported", "dryRun",
            "Unsupported value: [\"%s\"]: supported values: \"All\"", dry);
}

static bool is_form_known(struct request *r)
{
    const char *include = given(r, "includeObject");
    if (r->render.form != FORM_TABLE || !include || str_eq(include, "Metadata") ||
        str_eq(include, "Object") || str_eq(include, "None"))
        return true;
    reply_failure(r, 400, NULL,
        "Unable to convert to Table as requested: includeObject: Invalid value: \"%s\": must be "
        "'Metadata', 'Object', 'None', or empty",
        include);
    return false;
}

bool options_check(struct request *r, const char *method)
{
    static const struct {
        const char *method;
        const struct kind *kind;
        void (*check)(const struct request *r, cJSON **causes);
    } checks[] = {
        {"GET", &list_options, check_list},
        {"POST", &create_options, check_write},
        {"PUT", &update_options, check_write},
        {"PATCH", &patch_options, check_patch},
        {"DELETE", &delete_options, check_delete},
    };
    bool reads_one = str_eq(method, "GET") && *r->name;
    cJSON *causes = NULL;
    if (!are_numbers(r) || !is_form_known(r))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(checks) && !reads_one; i++) {
        if (!str_eq(method, checks[i].method))
            continue;
        checks[i].check(r, &causes);
        if (causes)
            reply_json(r, 422, status_invalid(checks[i].kind, "", causes));
    }
    return !causes;
}
