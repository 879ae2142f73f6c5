// SPDX-License-Identifier: MIT
#include "cli/config/config.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/terminal/editor.h"

#include <string.h>

enum { MOST = 1 << 20 };

char *config_path(struct cli *cli)
{
    const char *named = cli_getenv(cli, "FIRESTEEL_CONFIG");
    if (str_eq(named, "off"))
        return NULL;
    if (named)
        return mem_strdup(named);
    AUTO_FREE char *folder = cli_config_dir(cli, NULL);
    return folder ? path_join(folder, "config.yaml") : NULL;
}

static void add_fault(struct settings *s, const char *words)
{
    cJSON *one = cJSON_CreateObject();
    json_set_int(one, "line", 0);
    json_set_str(one, "text", words);
    cJSON_AddItemToArray(s->faults, one);
}

struct settings *config_read(struct cli *cli)
{
    err e = {0};
    AUTO_BUF text = {0};
    AUTO_FREE char *path = config_path(cli);
    bool there = path && path_read(path, &text, MOST, &e) == 0;
    struct settings *s = settings_new(there ? buf_cstr(&text) : NULL, text.len);
    if (e.code && e.code != ERR_NOT_FOUND)
        add_fault(s, e.text);
    return s;
}

bool config_fault(const struct settings *s, buf *out)
{
    int n = cJSON_GetArraySize(s->faults);
    const cJSON *first = cJSON_GetArrayItem(s->faults, 0);
    if (!n)
        return false;
    buf_str(out, "config.yaml");
    if (json_int_or(first, "line", 0))
        buf_fmt(out, " line %lld", (long long)json_int_or(first, "line", 0));
    buf_fmt(out, ": %s", json_str_or(first, "text", ""));
    if (n > 1)
        buf_fmt(out, "; %d more fault%s", n - 1, n > 2 ? "s" : "");
    buf_str(out, "; :config opens it");
    return true;
}

static int make(const char *path, err *e)
{
    AUTO_BUF text = {0};
    AUTO_FREE char *folder = path_dirname(path);
    settings_template(&text);
    if (path_make_dirs(folder, 0700, e) < 0)
        return -1;
    return path_write(path, text.data, text.len, 0600, e);
}

int config_edit(struct cli *cli, err *e)
{
    AUTO_FREE char *path = config_path(cli);
    if (!path)
        return err_set(e, ERR_UNAVAILABLE, "settings are off, as FIRESTEEL_CONFIG says");
    if (!path_exists(path) && make(path, e) < 0)
        return err_wrap(e, "no file for settings can be made");
    return editor_run(cli, path, e);
}
