// SPDX-License-Identifier: MIT
// firesteel cp: hands over to firesteel-kernel, which has the client.
#include "base/str.h"
#include "cli/podoptions.h"

static int run(struct cli *cli, int argc, char **argv)
{
    struct pod_options pod = {0};
    const struct option options[] = {
        {"container", 'c', "NAME", "of the pod; else its first", .text = &pod.container},
        POD_OPTIONS(pod),
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &cp_verb, options, argc, argv, &rest, &code) == 0)
        code = strv_len(rest) == 2
                   ? pod_become(cli,
                         pod_words(pod_words(NULL, "--copy-from", rest[0]), "--copy-to", rest[1]),
                         &pod)
                   : cli_usage(cli, &cp_verb, "from where to where? As in: data web-0:/tmp/data");
    pod_options_done(&pod);
    strv_free(rest);
    return code;
}

const struct verb cp_verb = {
    .name = "cp",
    .summary = "copy files and folders into a container, or out of it",
    .usage = "FROM TO [-c CONTAINER]\n\n"
             "As kubectl cp: one of the two is [NAMESPACE/]POD:PATH, the other a path here. The "
             "container needs tar.\n"
             "That it was done is in acts.jsonl of the state folder.",
    .run = run,
};
