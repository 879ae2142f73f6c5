// SPDX-License-Identifier: MIT
#include "cli/acts.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_guarded(const struct kernel_options *options, const kubeconfig *k)
{
    bool guarded = k->guarded;
    for (const char *const *p = options->protect; p && *p; p++)
        guarded = guarded || (k->context && fnmatch(*p, k->context, 0) == 0);
    return guarded;
}

static bool is_named(const struct kernel_options *options, const kubeconfig *k)
{
    const char *const *c = options->allow_protected;
    while (c && *c && !str_eq(*c, k->context))
        c++;
    return c && *c;
}

// Reads a line of the terminal and no more, since the rest is the command's.
static bool person_agrees(const char *where, const char *context)
{
    char answer[16] = "";
    say(stderr, "firesteel: %s: the context %s is protected. Do it? [y/N] ", where, context);
    fflush(stderr);
    ssize_t n = read(STDIN_FILENO, answer, sizeof answer - 1);
    return n > 0 && (*answer == 'y' || *answer == 'Y');
}

int act_allow(const struct act *a, const struct kernel_options *options, const kubeconfig *k,
    const char *where, err *e)
{
    if (str_eq(a->effect, "local"))
        return 0;
    if (options->read_only)
        return err_set(
            e, ERR_REFUSED, "%s: the effect is %s, and this is read-only", where, a->effect);
    if (!is_guarded(options, k) || is_named(options, k))
        return 0;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return err_set(e, ERR_REFUSED, "%s: the context %s is protected; add --allow-protected %s",
            where, k->context, k->context);
    return person_agrees(where, k->context) ? 0 : err_set(e, ERR_REFUSED, "%s: you said no", where);
}

static int write_line(const struct act *a, cJSON *line, err *e)
{
    AUTO_BUF text = {0}, now = {0};
    clock_rfc3339(&now, clock_wall(), CLOCK_SECONDS);
    json_set_str(line, "time", buf_cstr(&now));
    json_set_str(line, "id", a->id);
    json_print(&text, line);
    buf_char(&text, '\n');
    cJSON_Delete(line);
    int fd = open(a->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int done = fd < 0 ? err_errno(e, errno, "cannot write %s", a->path)
                      : fd_write_all(fd, text.data, text.len, e);
    if (done == 0 && fdatasync(fd) != 0 && errno != EINVAL)
        done = err_errno(e, errno, "cannot write %s", a->path);
    if (fd >= 0)
        close(fd);
    return done;
}

static int find_path(struct act *a, const struct kernel_options *options, err *e)
{
    struct cli cli = {.env = options->env, .cwd = (char *)options->cwd};
    AUTO_FREE char *folder = cli_state_dir(&cli, e);
    if (!folder || path_make_dirs(folder, 0700, e) != 0)
        return -1;
    int n = snprintf(a->path, sizeof a->path, "%s/acts.jsonl", folder);
    return n < (int)sizeof a->path ? 0 : err_set(e, ERR_LIMIT, "%s is too long", folder);
}

int act_begin(struct act *a, const struct kernel_options *options, const struct pod_choice *p,
    const char *what, err *e)
{
    uint8_t bytes[8];
    random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(a->id + 2 * i, 3, "%02x", bytes[i]);
    cJSON *line = cJSON_CreateObject();
    json_set_str(line, "verb", a->verb);
    json_set_str(line, "effect", a->effect);
    json_set_str(line, "what", what);
    json_set_str(line, "context", client_config(p->target.client)->context);
    json_set_str(line, "namespace", p->ns);
    json_set_str(line, "pod", p->name);
    json_set_str(line, "container", p->container);
    if (find_path(a, options, e) == 0 && write_line(a, line, e) == 0)
        return 0;
    return err_wrap(e, "what is done is written down first (XDG_STATE_HOME names another folder)");
}

void act_end(const struct act *a, int code, const err *e)
{
    err why = {0};
    cJSON *line = cJSON_CreateObject();
    if (e->code == ERR_NONE)
        json_set_int(line, "code", code);
    else
        json_set_str(line, "error", e->text);
    if (write_line(a, line, &why) != 0)
        say(stderr, "firesteel: %s\n", why.text);
}
