// SPDX-License-Identifier: MIT
#include "cli/kernel/acts.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEDGER "acts.jsonl"

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

// Reads one line of the terminal and not more, since the rest is for the command.
static bool person_agrees(const char *where, const char *context)
{
    char piece[16], first = '\0';
    say(stderr, "firesteel: %s: the context %s is protected. Do it? [y/N] ", where, context);
    fflush(stderr);
    ssize_t n;
    do {
        n = read(STDIN_FILENO, piece, sizeof piece);
        first = first ? first : n > 0 ? *piece : 'n';
    } while (n == sizeof piece && piece[n - 1] != '\n');
    return first == 'y' || first == 'Y';
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

// Appends to the ledger. When the ledger is new, its name in the folder is synced, too.
static int append(const struct act *a, const buf *text, err *e)
{
    struct stat st;
    AUTO_FD dir = folder_open_path(a->folder, 1, true, e);
    if (dir < 0)
        return -1;
    AUTO_FD fd = folder_file(dir, LEDGER, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (fd < 0 || fstat(fd, &st) != 0 || (st.st_size == 0 && fd_sync_folder(dir) != 0))
        return err_errno(e, errno, "cannot write %s/%s", a->folder, LEDGER);
    if (fd_write_all(fd, text->data, text->len, e) != 0)
        return -1;
    if (fdatasync(fd) != 0 && errno != EINVAL)
        return err_errno(e, errno, "cannot write %s/%s", a->folder, LEDGER);
    return 0;
}

static int write_line(const struct act *a, cJSON *line, err *e)
{
    AUTO_BUF text = {0}, now = {0};
    clock_rfc3339(&now, clock_wall(), CLOCK_SECONDS);
    mask_json(a->mask, line);
    json_set_str(line, "time", buf_cstr(&now));
    json_set_str(line, "id", a->id);
    json_print(&text, line);
    buf_char(&text, '\n');
    cJSON_Delete(line);
    return append(a, &text, e);
}

static int find_folder(struct act *a, const struct kernel_options *options, err *e)
{
    struct cli cli = {.env = options->env, .cwd = (char *)options->cwd};
    a->folder = cli_state_dir(&cli, e);
    return a->folder ? 0 : -1;
}

static void hide(const struct act *a)
{
    AUTO_BUF told = {0};
    if (a->error->code != ERR_NONE &&
        mask_text(a->mask, a->error->text, strlen(a->error->text), &told))
        err_set(a->error, a->error->code, "%s", buf_cstr(&told));
}

void act_done(struct act *a)
{
    if (a->mask)
        hide(a);
    free(STEAL(a->folder));
    mask_free(STEAL(a->mask));
}

void act_mask(struct act *a, const struct kernel_options *options, char *const *words)
{
    a->mask = mask_new();
    mask_add_env(a->mask, options->env);
    mask_add_env(a->mask, (const char *const *)words);
    for (char *const *word = words; word && *word; word++) {
        size_t n;
        for (const char *p = *word; (p = secret_of_header(p, &n)); p += n)
            mask_add(a->mask, p, n);
    }
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
    if (find_folder(a, options, e) == 0 && write_line(a, line, e) == 0)
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
