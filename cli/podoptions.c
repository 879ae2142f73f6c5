// SPDX-License-Identifier: MIT
#include "cli/podoptions.h"

#include "base/str.h"

#include <string.h>

bool pod_is_named(const char *word)
{
    const char *slash = strchr(word, '/');
    return *word && (!slash || (slash > word && slash[1]));
}

char **pod_words(char **words, const char *option, const char *value)
{
    return value ? strv_add(strv_add(words, option), value) : words;
}

void pod_options_done(struct pod_options *o)
{
    strv_free(o->allowed);
    strv_free(o->protect);
}

int pod_become(struct cli *cli, char **words, struct pod_options *o)
{
    words = pod_words(words, "--container", o->container);
    words = pod_words(words, "--namespace", o->ns);
    words = pod_words(words, "--context", o->context);
    words = pod_words(words, "--kubeconfig", o->kubeconfig);
    for (char **one = o->allowed; one && *one; one++)
        words = pod_words(words, "--allow-protected", *one);
    for (char **one = o->protect; one && *one; one++)
        words = pod_words(words, "--protect", *one);
    if (o->read_only)
        words = strv_add(words, "--read-only");
    return cli_become_kernel(cli, words);
}
