// SPDX-License-Identifier: MIT
// The schemas of kinds, for manifests that are typed: those of the cluster in use, by its OpenAPI
// documents, else those that a sandbox has, which need no server. What was fetched is kept as long
// as the server says that it is the same; only the kinds that were asked for are kept, the last
// ones. From any thread.
#pragma once
#include "k8s/client/connect/client.h"
#include "script/api/language/language.h"

typedef struct language_kinds language_kinds;
// sandbox: the path of firesteel-sandbox, which prints the built-in schemas; NULL: there are none.
language_kinds *language_kinds_new(const char *sandbox);
void language_kinds_free(language_kinds *k);

struct language_asking {
    language_kinds *kinds;
    client *client; // NULL: no cluster is in use
    struct patience patience;
    const struct language_world *world; // for the program that prints the built-in ones
};
// A language_kind; arg: a struct language_asking.
const cJSON *language_kinds_find(
    void *arg, const char *api_version, const char *kind, bool *absent);
// [{"apiVersion", "kind"}] of those that there are; new. Of a cluster: as its discovery tells.
cJSON *language_kinds_list(struct language_asking *a);
// The path of firesteel-sandbox beside the kernel's own program; new; NULL: it is not there.
char *language_sandbox(const char *kernel);
