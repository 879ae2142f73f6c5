// SPDX-License-Identifier: MIT
// The three patches of the API: RFC 6902, RFC 7386, and Kubernetes's strategic merge.
// Each returns a new object and leaves its arguments alone.
#pragma once
#include "k8s/sandbox/store/kind.h"

// Errors: ERR_INVALID for an operation that fails, ERR_USAGE for text that is not a JSON patch.
cJSON *patch_json(const cJSON *object, const cJSON *operations, err *e);
cJSON *patch_merge(const cJSON *object, const cJSON *patch);
// Lists with a merge key (k8s/sandbox/api/objects/schema.def) are merged by it; $patch:
// delete|replace|merge, $deleteFromPrimitiveList/X, $setElementOrder/X and $retainKeys are known.
cJSON *patch_strategic(const struct kind *k, const cJSON *object, const cJSON *patch, err *e);
