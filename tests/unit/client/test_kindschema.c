// SPDX-License-Identifier: MIT
// Objects by the schemas of OpenAPI documents as servers write them, of built-in kinds and CRDs.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/schema/kindschema.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <string.h>

static const char document[] =
    "components: {schemas: {io.acme.v1.Thing: {type: object, required: [spec], "
    "x-kubernetes-group-version-kind: [{group: acme.io, version: v1, kind: Thing}], "
    "properties: {metadata: {allOf: [{$ref: '#/components/schemas/Meta'}], default: {}}, "
    "spec: {description: own words, allOf: [{$ref: '#/components/schemas/Spec'}]}}}, "
    "Meta: {type: object, properties: {name: {type: string}, labels: {type: object, "
    "additionalProperties: {type: string}}}}, "
    "Spec: {type: object, description: What it wants., required: [size, held], properties: {"
    "size: {type: integer, minimum: 1}, mode: {type: string, enum: [Fast, Slow]}, "
    "held: {type: boolean, default: false}, port: {x-kubernetes-int-or-string: true}, "
    "memory: {oneOf: [{type: string}, {type: number}]}, open: {type: object, "
    "x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}, "
    "template: {type: object, x-kubernetes-embedded-resource: true, properties: {x: {type: "
    "string}}}, "
    "steps: {type: array, items: {$ref: '#/components/schemas/Spec'}}}}, Other: {type: object}}}";

static void note(void *arg, const cJSON *at, bool key, const char *text)
{
    buf_fmt(arg, "%s%s%s", ((buf *)arg)->len ? "; " : "", key ? "key: " : "", text);
}

static bool later(const char *text)
{
    return strchr(text, '$') != NULL;
}

static char *check(const char *object, bool partial)
{
    AUTO_JSON *all = tap_yaml(document), *value = tap_yaml(object);
    AUTO_JSON *picked = kindschema_pick(all, "acme.io/v1", "Thing");
    AUTO_BUF out = {0};
    const struct kindschema_ask ask = {later, partial, note, &out};
    kindschema_check(picked, value, &ask);
    return mem_strdup(buf_cstr(&out));
}

#define CHECK_FOUND(object, partial, said)                                                         \
    do {                                                                                           \
        AUTO_FREE char *found_ = check(object, partial);                                           \
        CHECK_STR(found_, said);                                                                   \
    } while (0)

TEST(a_kind_is_picked_with_what_it_refers_to)
{
    AUTO_JSON *all = tap_yaml(document);
    AUTO_JSON *picked = kindschema_pick(all, "acme.io/v1", "Thing");
    CHECK_STR(json_str(picked, "root"), "io.acme.v1.Thing");
    CHECK_INT(cJSON_GetArraySize(json_get(picked, "schemas")), 3);
    CHECK(!kindschema_pick(all, "acme.io/v2", "Thing") && !kindschema_pick(all, "v1", "Thing"));
    CHECK(!kindschema_pick(NULL, "v1", "Pod"));
    AUTO_JSON *kinds = kindschema_kinds(all);
    AUTO_FREE char *list = json_to_str(kinds);
    CHECK_STR(list, "[{\"apiVersion\":\"acme.io/v1\",\"kind\":\"Thing\"}]");
}

TEST(what_does_not_fit_is_told)
{
    CHECK_FOUND(
        "{apiVersion: a, kind: b, metadata: {name: x}, spec: {size: 1}, status: {}}", false, "");
    CHECK_FOUND("{spec: {size: 1, mod: Fast}}", false,
        "key: unknown field \"mod\" in spec; did you mean \"mode\"?");
    CHECK_FOUND("{spec: {size: '1'}}", false, "spec.size must be an integer, and is a string");
    CHECK_FOUND("{metadata: {labels: {a: 1}}, spec: {size: 1}}", false,
        "metadata.labels.a must be a string, and is an integer: put it in quotes");
    CHECK_FOUND("{spec: {size: 1, mode: Fats}}", false,
        "spec.mode is none of Fast, Slow; did you mean Fast?");
    CHECK_FOUND("{spec: {size: 0}}", false, "spec.size must be at least 1");
    CHECK_FOUND("{spec: {}}", false, "key: spec.size is missing");
    CHECK_FOUND("{metadata: {name: x}}", false, "spec is missing");
    CHECK_FOUND("{spec: {size: 1, steps: [{size: 1}, {mode: Slow}, 3]}}", false,
        "spec.steps[1].size is missing; spec.steps[2] must be a map of fields, and is an integer");
}

TEST(what_may_be_several_things_or_is_unknown_fits)
{
    CHECK_FOUND("{spec: {size: 1, port: 80, memory: 1.5}}", false, "");
    CHECK_FOUND("{spec: {size: 1, port: http, memory: 1Gi}}", false, "");
    CHECK_FOUND("{spec: {size: 1, port: true}}", false,
        "spec.port must be a string or an integer, and is true or false: put it in quotes");
    CHECK_FOUND("{spec: {size: 1, open: {b: 1}, mode: null}}", false, "");
    CHECK_FOUND("{spec: {size: 1, template: {kind: Pod, metadata: {}, y: 1}}}", false,
        "key: unknown field \"y\" in spec.template");
    CHECK_FOUND("{spec: {size: $n, mode: $m, $more: 1}}", false, "");
    CHECK_FOUND("{spec: {mode: Fast}}", true, "");
}

static void add(void *arg, const char *name, const cJSON *field, bool required)
{
    buf_fmt(arg, "%s%s ", name, required ? "!" : "");
}

TEST(fields_of_a_place_are_listed)
{
    const char *const path[] = {"spec", "steps", "[]", NULL}, *const labels[] = {
                                                                  "metadata", "labels", "x", NULL};
    const char *const wrong[] = {"spec", "nothing", NULL};
    AUTO_JSON *all = tap_yaml(document), *picked = kindschema_pick(all, "acme.io/v1", "Thing");
    const cJSON *schema = kindschema_at(picked, path);
    AUTO_BUF out = {0};
    kindschema_fields(picked, schema, add, &out);
    CHECK_STR(buf_cstr(&out), "size! mode held! port memory open template steps ");
    CHECK_STR(kindschema_words(picked, schema), "What it wants.");
    AUTO_FREE char *type = kindschema_type(picked, schema);
    CHECK_STR(type, "Spec");
    AUTO_FREE char *text = kindschema_type(picked, kindschema_at(picked, labels));
    CHECK_STR(text, "string");
    CHECK(!kindschema_at(picked, wrong));
    const cJSON *mode = json_path(all, "components.schemas.Spec.properties.mode");
    CHECK_INT(cJSON_GetArraySize(kindschema_values(picked, mode)), 2);
}

int main(void)
{
    return tap_run();
}
