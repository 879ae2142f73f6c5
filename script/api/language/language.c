// SPDX-License-Identifier: MIT
// The bindings of the language service, which the kernel calls for its clients, and no cell does.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/api/k8s/cluster.h"
#include "script/api/language/complete.h"

#include <string.h>

static void *make_kinds(call *c, err *e)
{
    AUTO_FREE char *sandbox = language_sandbox(call_paths(c)->kernel);
    return language_kinds_new(sandbox);
}

static void drop_kinds(void *kinds)
{
    language_kinds_free(kinds);
}

// Typing alone asks no server: one is asked when the run has used it, or when it was chosen for the
// run.
static bool uses_cluster(call *c, const cJSON *args)
{
    const struct call_cluster *chosen = call_cluster(c);
    return call_knows_cluster(c) || json_bool_or(args, "cluster", false) ||
           (chosen && chosen->context);
}

static int begin(
    call *c, const cJSON *args, struct language_world *w, struct language_asking *a, err *e)
{
    *w = (struct language_world){
        .kind = language_kinds_find, .arg = a, .env = call_env(c), .deadline = call_deadline(c)};
    *a = (struct language_asking){
        .kinds = call_shared(c, "kinds' schemas", make_kinds, drop_kinds, e), .world = w};
    if (!a->kinds)
        return -1;
    if (uses_cluster(c, args)) {
        a->client = bind_client(c, NULL);
        a->patience = bind_patience(c);
        a->patience.retry_ns = -1;
        a->patience.deadline = clock_mono() + 3 * CLOCK_SEC; // then what is built in has to do
        a->patience.away = NULL;
    }
    return 0;
}

static int check(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct language_world w;
    struct language_asking a;
    if (begin(c, args, &w, &a, e) < 0)
        return -1;
    *result = cJSON_CreateArray();
    language_check_all(json_get(args, "texts"), &w, *result);
    return 0;
}

static int place(call *c, const cJSON *args, bool inspects, cJSON **result, err *e)
{
    struct language_world w;
    struct language_asking a;
    const char *text = json_str_or(args, "text", "");
    int64_t cursor = json_int_or(args, "cursor", 0);
    if (begin(c, args, &w, &a, e) < 0)
        return -1;
    size_t at = cursor < 0 ? 0 : (size_t)cursor;
    at = at < strlen(text) ? at : strlen(text);
    *result = inspects ? language_inspect(&a, text, at) : language_complete(&a, text, at);
    return 0;
}

static int complete(call *c, const cJSON *args, cJSON **result, err *e)
{
    return place(c, args, false, result, e);
}

static int inspect(call *c, const cJSON *args, cJSON **result, err *e)
{
    return place(c, args, true, result, e);
}

const struct binding language_bindings[] = {
    {.name = "language.check", .effect = EFFECT_PURE, .start = check},
    {.name = "language.complete", .effect = EFFECT_PURE, .start = complete},
    {.name = "language.inspect", .effect = EFFECT_PURE, .start = inspect},
    {0},
};
