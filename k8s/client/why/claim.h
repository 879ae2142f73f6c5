// SPDX-License-Identifier: MIT
// Why a claim has no volume. Private to why.c.
#pragma once
#include "k8s/client/why/why.h"

// Of the first claim of the facts that cannot get one. Returns false when none is in trouble.
bool whyclaim_say(const struct why_facts *f, struct why *w);
