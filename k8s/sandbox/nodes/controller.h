// SPDX-License-Identifier: MIT
// A controller: a queue of objects of one kind, and one function that looks at each of them. A
// change only names an object. The function decides from the store's present state, so a lost or
// merged event does no harm.
//
//   store change ──> which objects does it concern? ──> queue of (namespace, name), each at most
//   once
//                      itself, its controller owner                │ due now, later, or after
//                      back-off
//                                                                  ▼
//                                        reconcile(namespace, name): 0 settled, -1 again later
#pragma once
#include "base/loop/loop.h"
#include "k8s/sandbox/store/store.h"

typedef struct controller controller;
struct controller_ops {
    const struct kind *kind;
    // Makes the world agree with the object in the store (the object may be gone). It must not
    // wait. -1: try again, at once after ERR_CONFLICT, else after a back-off of 5 ms that doubles
    // up to 30 s.
    int (*reconcile)(void *arg, const char *ns, const char *name, err *e);
    // Optional: passes other objects that are concerned by a change of any kind to controller_add.
    void (*changed)(void *arg, const struct store_event *ev);
};
controller *controller_new(loop *l, store *s, const struct controller_ops *ops, void *arg);
void controller_free(controller *c); // NULL is fine
void controller_add(controller *c, const char *ns, const char *name);
// Looks at the object after `delay` ns at the latest.
void controller_add_after(controller *c, const char *ns, const char *name, int64_t delay);
