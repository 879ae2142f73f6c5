// SPDX-License-Identifier: MIT
// firesteel exec: hands over to firesteel-kernel, which has the client.
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"

static char **add(char **argv, const char *option, const char *value)
{
    return value ? strv_add(strv_add(argv, option), value) : argv;
}

static int run(struct cli *cli, int argc, char **argv)
{
    bool input = false, tty = false;
    char **allowed = NULL;
    const char *container = NULL, *context = NULL, *kubeconfig = NULL, *ns = NULL;
    const struct option options[] = {
        {"stdin", 'i', NULL, "the command gets this input", .given = &input},
        {"tty", 't', NULL, "the command gets a terminal", .given = &tty},
        {"container", 'c', "NAME", "of the pod; else its first", .text = &container},
        {"namespace", 'n', "NAME", "else the context's", .text = &ns},
        {"context", 0, "NAME", "of the kubeconfig", .text = &context},
        {"kubeconfig", 0, "FILE", "else $KUBECONFIG", .text = &kubeconfig},
        {"allow-protected", 0, "CONTEXT", "also where the kubeconfig protects it; any number",
            .list = &allowed},
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &exec_verb, options, argc, argv, &rest, &code) != 0)
        goto done;
    if (strv_len(rest) < 2) {
        code = cli_usage(cli, &exec_verb, "which pod, and which command? As in: web-0 -- ls -l");
        goto done;
    }
    char **words = add(NULL, "--exec", rest[0]);
    words = add(add(words, "--container", container), "--namespace", ns);
    words = add(add(words, "--context", context), "--kubeconfig", kubeconfig);
    if (input)
        words = strv_add(words, "--stdin");
    if (tty)
        words = strv_add(words, "--tty");
    for (char **one = allowed; one && *one; one++)
        words = add(words, "--allow-protected", *one);
    for (size_t i = 1; rest[i]; i++)
        words = add(words, "--word", rest[i]);
    code = cli_become_kernel(cli, words);
done:
    strv_free(allowed);
    strv_free(rest);
    return code;
}

const struct verb exec_verb = {
    .name = "exec",
    .summary = "run a command in a container, or a shell on this terminal",
    .usage = "[-it] POD [-c CONTAINER] -- COMMAND [ARGUMENT…]\n\n"
             "As kubectl exec: `firesteel exec -it web-0 -- sh`. POD is a pod's name, or TYPE/NAME "
             "for a pod\n"
             "of it, as deploy/web. The exit code is the command's. It is no part of a run: no "
             "journal has it.",
    .run = run,
};
