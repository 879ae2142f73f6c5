// SPDX-License-Identifier: MIT
// k8s.cp: files into and out of a container.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/pods/copying.h"
#include "script/kernel/effects/binding.h"

#include <string.h>

typedef int copy_fn(const struct copying *w, struct treetar_told *told, err *e);

static int copy_with(
    call *c, const cJSON *args, const struct pod_choice *p, copy_fn *fn, cJSON **result, err *e)
{
    ERR_GUARD(e);
    AUTO_FREE char *here = path_join(call_cwd(c), json_str_or(args, "here", ""));
    struct patience patience = p->target.patience;
    struct treetar_told told = {0};
    struct work work;
    if (k8s_deadline(c, args, &patience, e) != 0)
        return -1;
    const struct copying w = {.loop = call_loop(c),
        .pod = p,
        .patience = &patience,
        .here = here,
        .there = json_str_or(args, "there", "."),
        .work = &work};
    AUTO_FREE char *what =
        str_fmt("copy %s", fn == copying_up ? json_str_or(args, "here", "") : w.there);
    call_work(c, &work, what, WORK_BYTES, NULL);
    int copied = fn(&w, &told, e);
    call_work_end(c, &work);
    if (copied != 0)
        return e->code == ERR_NOT_FOUND ? err_wrap(e, "k8s.cp") : -1;
    *result = cJSON_CreateObject();
    json_set_int(*result, "files", told.files);
    json_set_int(*result, "bytes", told.bytes);
    AUTO_FREE char *line = copying_left_out(&told);
    if (line)
        call_output(c, "stderr", line, strlen(line));
    return 0;
}

static int copy(call *c, const cJSON *args, copy_fn *fn, cJSON **result, err *e)
{
    struct pod_choice p;
    if (k8s_pod_of(c, args, &p, e) != 0)
        return -1;
    int done = copy_with(c, args, &p, fn, result, e);
    k8s_pod_done(&p);
    return done;
}

static int start_up(call *c, const cJSON *args, cJSON **result, err *e)
{
    return copy(c, args, copying_up, result, e);
}

static int start_down(call *c, const cJSON *args, cJSON **result, err *e)
{
    return copy(c, args, copying_down, result, e);
}

// Copied once more it is as it was, so that needs nobody's leave.
static int verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    return VERDICT_AGAIN;
}

static void about_up(call *c, const cJSON *args, struct about *about)
{
    AUTO_FREE char *verb = str_fmt(
        "copy %s to %s in", json_str_or(args, "here", "?"), json_str_or(args, "there", "?"));
    k8s_about_call(c, args, verb, "", about);
}

static void about_down(call *c, const cJSON *args, struct about *about)
{
    AUTO_FREE char *verb = str_fmt(
        "copy to %s here %s of", json_str_or(args, "here", "?"), json_str_or(args, "there", "?"));
    k8s_about_call(c, args, verb, "", about);
}

const struct binding k8s_copy_bindings[] = {
    {.name = "k8s.cp_to",
        .effect = EFFECT_CLUSTER,
        .start = start_up,
        .verify = verify,
        .describe = about_up},
    {.name = "k8s.cp_from",
        .effect = EFFECT_LOCAL,
        .start = start_down,
        .verify = verify,
        .describe = about_down},
    {0},
};
