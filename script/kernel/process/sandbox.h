// SPDX-License-Identifier: MIT
// The private sandbox of a kernel: a firesteel-sandbox as a child, which dies with it. The kernel
// owns it.
#pragma once
#include "script/kernel/session/state.h"

struct sandbox;
// Starts it. ready(k, kubeconfig, NULL) follows, or ready(k, NULL, why). If it ends after that,
// what uses it says so.
struct sandbox *sandbox_start(
    kernel *k, void (*ready)(kernel *k, const char *kubeconfig, const err *why), err *e);
// Ends it and waits until it is gone; then stopped(k). NULL: at once.
void sandbox_stop(struct sandbox *s, void (*stopped)(kernel *k), kernel *k);
