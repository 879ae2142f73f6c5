// SPDX-License-Identifier: MIT
// Argo's Workflow, whose steps stand in status.nodes; beyond 1 MiB its controller keeps them as
// status.compressedNodes, gzip in base64 (argo-workflows, workflow/packer).
#pragma once
#include "base/err.h"
#include "base/json/json.h"

// Puts status.nodes in the place of status.compressedNodes, of objects of the group argoproj.io and
// of those that do not tell their apiVersion.
// Returns 0, also where there is nothing to do; or -1 (ERR_INVALID: no gzip, no JSON object, beyond
// 32 MiB) with the object as it was.
int workflow_unpack(cJSON *object, err *e);
