// SPDX-License-Identifier: MIT
#include "cli/options.h"
#include "cli/say.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// "--name VALUE   help" lines.
static void options_help(const struct option *options, buf *out)
{
    for (const struct option *o = options; o->name; o++) {
        AUTO_FREE char *left =
            str_fmt("%s%c%s--%s%s%s%s%s%s", o->letter ? "-" : " ", o->letter ? o->letter : ' ',
                o->letter ? ", " : "  ", o->name, o->value ? " " : "", o->value ? o->value : "",
                o->word ? "[=" : "", o->word ? o->word : "", o->word ? "]" : "");
        int blank = 34 - text_width(left, strlen(left), 0);
        buf_fmt(out, "  %s%*s %s\n", left, blank > 0 ? blank : 0, "", o->help);
    }
    buf_fmt(out, "  %-34s %s\n", "-h, --help", "print this");
}

static void print_help(const struct verb *verb, const struct option *options)
{
    AUTO_BUF help = {0};
    options_help(options, &help);
    say(stdout, "firesteel %s: %s\n\nUsage: firesteel %s %s\n\nOptions:\n%s", verb->name,
        verb->summary, verb->name, verb->usage, help.data);
}

static int unknown_option(
    struct cli *cli, const struct verb *verb, const struct option *options, const char *argument)
{
    AUTO_FREE char *given = mem_strndup(argument, strcspn(argument, "="));
    const char *names[64] = {0};
    for (size_t i = 0; options[i].name && i + 1 < ARRAY_LEN(names); i++)
        names[i] = options[i].name;
    const char *best = str_nearest(given + strspn(given, "-"), names);
    if (best)
        return cli_usage(cli, verb, "unknown option %s; did you mean --%s?", given, best);
    return cli_usage(cli, verb, "unknown option %s", given);
}

static const struct option *find(
    const struct option *options, const char *argument, const char **value)
{
    *value = NULL;
    bool is_long = argument[1] == '-';
    size_t n = is_long ? strcspn(argument + 2, "=") : 1;
    for (const struct option *o = options; o->name; o++) {
        if (is_long && (strlen(o->name) != n || strncmp(argument + 2, o->name, n) != 0))
            continue;
        if (!is_long && (!o->letter || argument[1] != o->letter))
            continue;
        if (is_long && argument[2 + n] == '=')
            *value = argument + 2 + n + 1;
        if (!is_long && argument[2])
            *value = argument + 2 + (argument[2] == '=');
        return o;
    }
    return NULL;
}

static void take(const struct option *o, const char *value)
{
    if (o->given)
        *o->given = true;
    if (o->text)
        *o->text = value;
    if (o->list)
        *o->list = strv_add(*o->list, value);
}

// "-it": several switches in one word. false: not all letters are switches, and none is set.
static bool take_switches(const struct option *options, const char *letters)
{
    const struct option *found[16];
    size_t n = 0;
    for (const char *c = letters; *c; c++, n++) {
        const char word[] = {'-', *c, '\0'}, *value;
        found[n % ARRAY_LEN(found)] = find(options, word, &value);
        if (n == ARRAY_LEN(found) || *c == '-' || !found[n] || found[n]->value)
            return false;
    }
    for (size_t i = 0; i < n; i++)
        take(found[i], NULL);
    return true;
}

int options_parse(struct cli *cli, const struct verb *verb, const struct option *options, int argc,
    char **argv, char ***rest, int *code)
{
    bool ended = false;
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i], *value;
        bool place = verb->takes_runs && isdigit((unsigned char)argument[1]);
        if (ended || argument[0] != '-' || !argument[1] || place) {
            *rest = strv_add(*rest, argument);
            continue;
        }
        if (str_eq(argument, "--")) {
            ended = true;
            continue;
        }
        if (str_eq(argument, "--help") || str_eq(argument, "-h")) {
            print_help(verb, options);
            *code = 0;
            return 1;
        }
        if (argument[1] != '-' && argument[2] && take_switches(options, argument + 1))
            continue;
        const struct option *o = find(options, argument, &value);
        if (!o)
            *code = unknown_option(cli, verb, options, argument);
        else if (!o->value && value && o->word && !str_eq(value, o->word))
            *code = cli_usage(cli, verb, "--%s=%s: it is --%s or --%s=%s", o->name, value, o->name,
                o->name, o->word);
        else if (!o->value && value && !o->word)
            *code = cli_usage(cli, verb, "--%s takes no value", o->name);
        else if (o->value && !value && i + 1 == argc)
            *code = cli_usage(cli, verb, "--%s needs a value: %s", o->name, o->value);
        else {
            take(o, o->value && !value ? argv[++i] : value);
            continue;
        }
        return 1;
    }
    return 0;
}
