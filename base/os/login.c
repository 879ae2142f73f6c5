// SPDX-License-Identifier: MIT
#include "base/os/login.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <dirent.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT = 1 << 20 };

// Settings of logind; a file that is read later wins.
struct settings {
    char *kills, *only, *except;
};

static void settings_done(struct settings *s)
{
    free(s->kills);
    free(s->only);
    free(s->except);
}

static void take_line(struct settings *s, const char *line)
{
    const struct {
        const char *name;
        char **value;
    } known[] = {
        {"KillUserProcesses=", &s->kills},
        {"KillOnlyUsers=", &s->only},
        {"KillExcludeUsers=", &s->except},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (!str_starts(line, known[i].name))
            continue;
        const char *value = line + strlen(known[i].name);
        free(*known[i].value);
        *known[i].value = str_trim(value, strlen(value));
    }
}

static void read_settings(struct settings *s, const char *path)
{
    AUTO_BUF text = {0};
    if (path_read(path, &text, LIMIT, NULL) < 0)
        return;
    char **lines = strv_split(buf_cstr(&text), '\n');
    for (char **line = lines; *line; line++)
        take_line(s, *line);
    strv_free(lines);
}

static int is_setting(const struct dirent *entry)
{
    return str_ends(entry->d_name, ".conf");
}

static void read_folder(struct settings *s, const char *root, const char *folder)
{
    AUTO_FREE char *path = str_fmt("%s%s/systemd/logind.conf.d", root, folder);
    struct dirent **names = NULL;
    int n = scandir(path, &names, is_setting, alphasort);
    for (int i = 0; i < n; i++) {
        AUTO_FREE char *file = path_join(path, names[i]->d_name);
        read_settings(s, file);
        free(names[i]);
    }
    free(names);
}

static void read_all(struct settings *s, const char *root)
{
    static const char *const folders[] = {"/usr/lib", "/usr/local/lib", "/run", "/etc"};
    AUTO_FREE char *vendor = str_fmt("%s/usr/lib/systemd/logind.conf", root);
    AUTO_FREE char *own = str_fmt("%s/etc/systemd/logind.conf", root);
    read_settings(s, path_exists(own) ? own : vendor);
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        read_folder(s, root, folders[i]);
}

static bool lists(const char *names, const char *user)
{
    char **all = strv_split(names ? names : "", ' ');
    bool found = false;
    for (char **name = all; *name; name++)
        found |= str_eq(*name, user);
    strv_free(all);
    return found;
}

static bool is_on(const char *value)
{
    return str_eq(value, "yes") || str_eq(value, "true") || str_eq(value, "on") ||
           str_eq(value, "1");
}

// Root is not killed unless the settings say so.
static bool kills(const char *root, const char *user)
{
    struct settings s = {0};
    read_all(&s, root);
    bool all = is_on(s.kills) && (!s.only || !*s.only || lists(s.only, user));
    bool yes = all && !lists(s.except ? s.except : "root", user);
    settings_done(&s);
    return yes;
}

enum login_end login_end_of(const char *root, const char *cgroup, const char *user, buf *remedy)
{
    AUTO_FREE char *systemd = str_fmt("%s/run/systemd/system", root);
    AUTO_FREE char *linger = str_fmt("%s/var/lib/systemd/linger/%s", root, user ? user : "");
    const char *session = strstr(cgroup, "/session-");
    bool manager = strstr(cgroup, "/user@") != NULL, lingers = user && path_exists(linger);
    if (!path_exists(systemd))
        return LOGIN_NO_SYSTEMD;
    if (manager && lingers)
        return LOGIN_LINGERS;
    if (manager) {
        buf_fmt(remedy, "loginctl enable-linger %s", user ? user : "");
        return LOGIN_LAST;
    }
    if (!session || !kills(root, user))
        return LOGIN_LEAVES;
    if (!lingers)
        buf_fmt(remedy, "loginctl enable-linger %s; ", user ? user : "");
    buf_str(remedy, "systemd-run --user --scope firesteel NOTEBOOK");
    return LOGIN_KILLS;
}

enum login_end login_end_here(buf *remedy)
{
    const struct passwd *user = getpwuid(geteuid());
    AUTO_BUF cgroup = {0};
    path_read("/proc/self/cgroup", &cgroup, LIMIT, NULL);
    return login_end_of("", buf_cstr(&cgroup), user ? user->pw_name : NULL, remedy);
}

const char *login_end_reason(enum login_end end)
{
    return end == LOGIN_KILLS  ? "logind has KillUserProcesses: at a logout it ends all that was "
                                 "started in the session"
           : end == LOGIN_LAST ? "the user's systemd, which started this, ends with the last login"
                               : NULL;
}
