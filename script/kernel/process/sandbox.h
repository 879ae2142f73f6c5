// SPDX-License-Identifier: MIT
// The private sandbox of a kernel: a firesteel-sandbox as a child, which dies with it. The caller
// that starts it owns it; it belongs to the loop's thread.
#pragma once
#include "base/loop/loop.h"

struct sandbox;
struct sandbox_spec { // borrowed during the call
    loop *loop;
    const char *program, *images; // paths: firesteel-sandbox; the local image store
    const char *runtime;          // a folder in which it makes its own folder
    const char *const *env;
    bool processes; // its pods are plain processes
};
struct sandbox_ops {
    // it could not start; why says the reason
    void (*ready)(void *arg, const char *kubeconfig, const err *why);
    void (*died)(void *arg, const err *why); // it ended after it was ready, without being stopped
};
// Starts it, in a folder of its own below spec->runtime.
struct sandbox *sandbox_start(
    const struct sandbox_spec *spec, const struct sandbox_ops *ops, void *arg, err *e);
// Ends it, waits until it is gone, and calls stopped(arg). NULL: calls it at once.
void sandbox_stop(struct sandbox *s, void (*stopped)(void *arg), void *arg);
