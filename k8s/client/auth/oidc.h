// SPDX-License-Identifier: MIT
// The auth-provider "oidc" of a kubeconfig, as client-go's plugin of that name takes it.
#pragma once
#include "base/err.h"
#include "base/json/json.h"

// The id-token of the provider's config, new, if it is still valid at `now` (wall ns).
// ERR_UNAUTHORIZED: it has expired, or there is none: the words say who renews it. ERR_INVALID: the
// config lacks something, or the token is none.
char *oidc_token(const cJSON *config, int64_t now, err *e);
