// SPDX-License-Identifier: MIT
// An object and a patch of it, on two lines: all the API's patches, the checks of fields, and the
// changed fields.
#include "k8s/sandbox/api/objects/patch.h"
#include "base/mem.h"
#include "k8s/sandbox/api/objects/fieldset.h"
#include "k8s/sandbox/api/objects/managed.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void apply(const cJSON *object, const cJSON *patch)
{
    err e;
    cJSON *conflicts = NULL;
    struct managed_writer w = {"fuzz", "", 1};
    cJSON_Delete(patch_json(object, patch, &e));
    cJSON_Delete(patch_merge(object, patch));
    cJSON_Delete(patch_strategic(KIND(PODS), object, patch, &e));
    if (cJSON_IsObject(object) && cJSON_IsObject(patch))
        cJSON_Delete(managed_apply(KIND(PODS), object, patch, w, false, &conflicts));
    cJSON_Delete(conflicts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data, *line = n ? memchr(text, '\n', n) : NULL;
    if (!line)
        return 0;
    AUTO_JSON *object = json_parse(text, (size_t)(line - text), NULL);
    AUTO_JSON *patch = json_parse(line + 1, n - (size_t)(line + 1 - text), NULL);
    if (!object || !patch)
        return 0;
    apply(object, patch);
    struct schema_report report;
    if (cJSON_IsObject(object))
        schema_check(schema_of(KIND(PODS)), object, true, &report), schema_report_done(&report);
    return 0;
}
