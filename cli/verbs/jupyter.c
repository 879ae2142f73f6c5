// SPDX-License-Identifier: MIT
// firesteel jupyter: what Jupyter starts as a kernel (kernelspec.c writes how).
#include "base/str.h"
#include "cli/jupyter/kerneloptions.h"
#include "cli/jupyter/serve.h"

static int run(struct cli *cli, int argc, char **argv)
{
    struct serve_options o = {0};
    const struct option options[] = {
        {"connection-file", 'f', "FILE", "where Jupyter's sockets are to be, and their key",
            .text = &o.connection},
        KERNEL_OPTIONS(o),
        {0},
    };
    char **rest = NULL;
    int code;
    if (options_parse(cli, &jupyter_verb, options, argc, argv, &rest, &code) == 0) {
        if (rest)
            code = cli_usage(cli, &jupyter_verb, "%s is no option", rest[0]);
        else if (!o.connection)
            code = cli_usage(cli, &jupyter_verb,
                "-f FILE is missing; Jupyter starts this verb, once `firesteel kernelspec install` "
                "has told it how");
        else
            code = serve_jupyter(cli, &o);
    }
    strv_free(rest);
    strv_free(o.protect);
    return code;
}

const struct verb jupyter_verb = {
    .name = "jupyter",
    .summary = "be a kernel of Jupyter: JupyterLab starts it",
    .usage = "-f FILE [OPTION]…\n\nJupyter starts it by the kernelspec that `firesteel kernelspec "
             "install` writes.",
    .run = run,
};
