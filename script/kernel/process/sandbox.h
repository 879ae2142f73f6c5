// SPDX-License-Identifier: MIT
// The private sandbox of a kernel: a firesteel-sandbox as a child, which dies with it. Whoever
// starts it owns it; it belongs to the loop's thread.
#pragma once
#include "base/loop/loop.h"

struct sandbox;
struct sandbox_spec { // borrowed for the time of the call
    loop *loop;
    const char *program, *images; // firesteel-sandbox; the local image store
    const char *const *env;
};
// Starts it. ready(arg, kubeconfig, NULL) follows, or ready(arg, NULL, why). If it ends after that,
// what uses it says so.
struct sandbox *sandbox_start(const struct sandbox_spec *spec,
    void (*ready)(void *arg, const char *kubeconfig, const err *why), void *arg, err *e);
// Ends it and waits until it is gone; then stopped(arg). NULL: at once.
void sandbox_stop(struct sandbox *s, void (*stopped)(void *arg), void *arg);
