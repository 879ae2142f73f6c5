// SPDX-License-Identifier: MIT
// firesteel bundle: hands over to firesteel-kernel, which writes archives.
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"

static int pack(struct cli *cli, const char *folder, const char *level)
{
    char **words = strv_add(strv_add(NULL, "--bundle"), folder);
    if (level)
        words = strv_add(strv_add(words, "--level"), level);
    return cli_become_kernel(cli, words);
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *level = NULL;
    const struct option options[] = {
        {"level", .value = "N", .help = "of compression by zstd, from 1 to 22 (19)",
            .text = &level},
        {0}};
    char **rest = NULL;
    int code;
    if (options_parse(cli, &bundle_verb, options, argc, argv, &rest, &code) == 0)
        code = rest && strv_len(rest) == 1 && *rest[0]
                   ? pack(cli, rest[0], level)
                   : cli_usage(cli, &bundle_verb, "into which folder?");
    if (rest)
        strv_free(rest);
    return code;
}

const struct verb bundle_verb = {
    .name = "bundle",
    .summary = "pack firesteel for machines where nothing can be installed",
    .usage =
        "DIR [OPTION]…\n\n"
        "Writes firesteel-VERSION-linux-ARCH.tar.zst into DIR: programs, libraries with their\n"
        "loader, recipes, pages and licences. Unpacked anywhere it runs there, without root, on\n"
        "Linux since 4.18, whatever C library that has. MPI and MNIST are archives of their own,\n"
        "which are unpacked in the same place. SHA256SUMS has the digests. The same files give\n"
        "the same bytes; times in the archives are SOURCE_DATE_EPOCH's (1970 without it).",
    .run = run,
};
