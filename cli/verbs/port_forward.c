// SPDX-License-Identifier: MIT
// firesteel port-forward: hands over to firesteel-kernel, which has the client.
#include "base/str.h"
#include "cli/podoptions.h"

static int run(struct cli *cli, int argc, char **argv)
{
    struct pod_options pod = {0};
    const char *address = NULL;
    const struct option options[] = {
        {"address", 0, "ADDRESS", "to listen on (127.0.0.1); others let others in",
            .text = &address},
        POD_OPTIONS(pod),
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &port_forward_verb, options, argc, argv, &rest, &code) != 0)
        goto done;
    if (strv_len(rest) < 2 || !pod_is_named(rest[0])) {
        code =
            cli_usage(cli, &port_forward_verb, "which pod, and which port? As in: web-0 8080:80");
        goto done;
    }
    char **words = pod_words(pod_words(NULL, "--forward", rest[0]), "--address", address);
    for (size_t i = 1; rest[i]; i++)
        words = pod_words(words, "--port", rest[i]);
    code = pod_become(cli, words, &pod);
done:
    pod_options_done(&pod);
    strv_free(rest);
    return code;
}

const struct verb port_forward_verb = {
    .name = "port-forward",
    .summary = "lead ports of this machine into a pod, until it is interrupted",
    .usage = "POD [HERE:]THERE…\n\n"
             "As kubectl port-forward: `firesteel port-forward svc/web 8080:80`. POD is a pod's "
             "name, or TYPE/NAME\n"
             "for a pod of it; a port is a number or the name of one; :80 takes a free one here.",
    .run = run,
};
