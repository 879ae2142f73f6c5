// SPDX-License-Identifier: MIT
// firesteel exec: hands over to firesteel-kernel, which has the client.
#include "base/str.h"
#include "cli/podoptions.h"

static int run(struct cli *cli, int argc, char **argv)
{
    bool input = false, tty = false;
    struct pod_options pod = {0};
    const struct option options[] = {
        {"stdin", 'i', NULL, "the command gets this input", .given = &input},
        {"tty", 't', NULL, "the command gets a terminal", .given = &tty},
        {"container", 'c', "NAME", "of the pod; else its first", .text = &pod.container},
        POD_OPTIONS(pod),
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &exec_verb, options, argc, argv, &rest, &code) != 0)
        goto done;
    if (strv_len(rest) < 2 || !pod_is_named(rest[0])) {
        code = cli_usage(cli, &exec_verb, "which pod, and which command? As in: web-0 -- ls -l");
        goto done;
    }
    char **words = pod_words(NULL, "--exec", rest[0]);
    if (input)
        words = strv_add(words, "--stdin");
    if (tty)
        words = strv_add(words, "--tty");
    for (size_t i = 1; rest[i]; i++)
        words = pod_words(words, "--word", rest[i]);
    code = pod_become(cli, words, &pod);
done:
    pod_options_done(&pod);
    strv_free(rest);
    return code;
}

const struct verb exec_verb = {
    .name = "exec",
    .summary = "run a command in a container, or a shell on this terminal",
    .usage = "[-it] POD [-c CONTAINER] -- COMMAND [ARGUMENT…]\n\n"
             "As kubectl exec: `firesteel exec -it web-0 -- sh`. POD is a pod's name, or TYPE/NAME "
             "for a pod\n"
             "of it, as deploy/web. The exit code is the command's. In a protected context a "
             "terminal is asked.\n"
             "That it was done is in acts.jsonl of the state folder.",
    .run = run,
};
