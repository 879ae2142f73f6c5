// SPDX-License-Identifier: MIT
#include "cli/cli.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/loop/stream.h"
#include "base/mem.h"
#include "base/os/available.h"
#include "base/os/folder.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/places.h"
#include "cli/say.h"
#include "script/journal/file/reader.h"
#include "script/journal/file/writer.h"
#include "script/journal/runs/runs.h"

#include <dirent.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cli_getenv(const struct cli *cli, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *v = cli->env; v && *v; v++)
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
            return (*v)[n + 1] ? *v + n + 1 : NULL;
    return NULL;
}

static void print_error(struct cli *cli, const char *text)
{
    fflush(stdout);
    say_program(cli);
    say(stderr, "%s\n", text);
}

int cli_error(struct cli *cli, const err *e)
{
    print_error(cli, e->text);
    return err_exit_code(e->code);
}

int cli_usage(struct cli *cli, const struct verb *verb, const char *fmt, ...)
{
    AUTO_BUF text = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    print_error(cli, text.data);
    say(stderr, "Usage: firesteel %s %.*s\n`firesteel %s --help` tells more.\n", verb->name,
        (int)strcspn(verb->usage, "\n"), verb->usage, verb->name);
    return 2;
}

char *cli_program(struct cli *cli, const char *name, err *e)
{
    char *program = place_program(name);
    if (!program) {
        AUTO_FREE char *own = place_own();
        err_set(e, ERR_NOT_FOUND, "%s is missing: it is not in %s, %s or %s", name, own, LIBEXECDIR,
            BINDIR);
    }
    return program;
}

char *cli_data_dir(struct cli *cli)
{
    static const char *const places[] = {DATADIR "/data", NULL};
    const char *given = cli_getenv(cli, "FIRESTEEL_DATA");
    return given ? mem_strdup(given) : cli_find(cli, places);
}

char *cli_find(struct cli *cli, const char *const *places)
{
    AUTO_FREE char *folder = place_own();
    for (; *places; places++) {
        AUTO_FREE char *file = **places == '/' ? place_installed(*places)
                               : strchr(*places, '/')
                                   ? path_join(folder, *places)
                                   : place_in_path(cli_getenv(cli, "PATH"), *places);
        if (file && path_exists(file))
            return STEAL(file);
    }
    return NULL;
}

static char *runtime_path(struct cli *cli)
{
    const char *chosen = cli_getenv(cli, "FIRESTEEL_RUNTIME_DIR");
    return chosen ? path_join(cli->cwd, chosen) : str_fmt("/tmp/firesteel-%u", (unsigned)geteuid());
}

// How much of the digest of a run's name is in a socket's name that is too short for the whole
// name.
enum { SOCKET_DIGEST = 12, SOCKET_LEAST = 1 + SOCKET_DIGEST + sizeof ".sock" - 1 };

static int check_room(const char *runtime, err *e)
{
    size_t most = STREAM_PATH_MOST - SOCKET_LEAST, n = strlen(runtime);
    if (n > most)
        return err_set(e, ERR_USAGE,
            "%s: a path of %zu bytes is too long for the sockets in it, %zu are the most; set "
            "FIRESTEEL_RUNTIME_DIR to a shorter one",
            runtime, n, most);
    return 0;
}

char *cli_socket(const char *runtime, const char *run)
{
    char hex[SHA256_HEX];
    char *whole = str_fmt("%s/%s.sock", runtime, run);
    if (strlen(whole) <= STREAM_PATH_MOST)
        return whole;
    free(whole);
    sha256_hex(run, strlen(run), hex);
    int room = STREAM_PATH_MOST - SOCKET_LEAST - (int)strlen(runtime) - 1;
    return str_fmt("%s/%.*s%s%.*s.sock", runtime, room > 0 ? room : 0, run, room > 0 ? "-" : "",
        SOCKET_DIGEST, hex);
}

char *cli_runtime_dir(struct cli *cli, err *e)
{
    AUTO_FREE char *path = runtime_path(cli);
    if (check_room(path, e) < 0)
        return NULL;
    AUTO_FD dir = folder_open_path(path, 1, true, e); // anybody can write to /tmp: the folder may
                                                      // already be another user's
    struct stat st;
    if (dir < 0)
        return NULL;
    if (fstat(dir, &st) < 0 || (st.st_mode & 077)) {
        err_set(e, ERR_FORBIDDEN, "%s may be entered by others; chmod 700 it", path);
        return NULL;
    }
    return STEAL(path);
}

char *cli_new_run(const char *runtime, const char *folder, const char *name, char **socket)
{
    enum { TRIES = 16 };
    for (int i = 1;; i++) {
        AUTO_FREE char *run = journal_run_name(name, clock_wall());
        AUTO_FREE char *at = cli_socket(runtime, run), *file = journal_file(folder, run);
        // A kernel that has ended has left its journal, and no claim.
        if (i == TRIES || (owner_claim(at) && !path_exists(file))) {
            *socket = STEAL(at);
            return STEAL(run);
        }
    }
}

void cli_sweep(struct cli *cli)
{
    AUTO_FREE char *path = runtime_path(cli);
    AUTO_FD dir = folder_open_path(path, 1, false, NULL);
    if (dir >= 0)
        owner_sweep(path);
}

// Is it a folder that has our folder, or in which we can make it? A container's arbitrary user has
// HOME=/.
static bool is_home(const char *path, const char *below)
{
    if (!path || *path != '/' || !path_is_dir(path))
        return false;
    AUTO_FREE char *parent = path_join(path, below), *ours = path_join(parent, "firesteel");
    return path_exists(ours) || place_takes(parent);
}

// $HOME, or the home folder in the user database; if neither can be written, our folder in /tmp, to
// which nobody else can write.
static char *home(struct cli *cli, const char *below, err *e)
{
    const char *said = cli_getenv(cli, "HOME");
    if (is_home(said, below))
        return mem_strdup(said);
    const struct passwd *user = getpwuid(geteuid());
    if (user && is_home(user->pw_dir, below))
        return mem_strdup(user->pw_dir);
    return cli_runtime_dir(cli, e);
}

// $VARIABLE/firesteel, or ~/FALLBACK/firesteel; it may not exist yet.
static char *xdg(struct cli *cli, const char *variable, const char *fallback, err *e)
{
    const char *said = cli_getenv(cli, variable);
    AUTO_FREE char *below = said && *said == '/' ? NULL : home(cli, fallback, e);
    if (!below && !(said && *said == '/'))
        return NULL;
    AUTO_FREE char *parent = below ? path_join(below, fallback) : mem_strdup(said);
    AUTO_FREE char *path = path_join(parent, "firesteel");
    err why = {0};
    AUTO_FD dir = folder_open_path(path, 1, false, &why);
    if (dir >= 0 || why.code == ERR_NOT_FOUND)
        return STEAL(path);
    err_set(e, why.code, "%s (or set %s)", why.text, variable);
    return NULL;
}

char *cli_images_dir(struct cli *cli, err *e)
{
    AUTO_FREE char *data = xdg(cli, "XDG_DATA_HOME", ".local/share", e);
    return data ? path_join(data, "images") : NULL;
}

char *cli_config_dir(struct cli *cli, err *e)
{
    return xdg(cli, "XDG_CONFIG_HOME", ".config", e);
}

char *cli_state_dir(struct cli *cli, err *e)
{
    return xdg(cli, "XDG_STATE_HOME", ".local/state", e);
}

char *cli_notebook_name(const char *file)
{
    char *name = path_basename(file);
    char *dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = '\0';
    return name;
}

// The folder that replaces that of a notebook whose folder cannot be written; path: absolute. New.
static char *folder_in_state(struct cli *cli, const char *path, err *e)
{
    char hex[SHA256_HEX];
    sha256_hex(path, strlen(path), hex);
    AUTO_FREE char *state = cli_state_dir(cli, e), *name = cli_notebook_name(path);
    return state ? str_fmt("%s/%s-%.8s", state, name, hex) : NULL;
}

char *cli_work_folder(struct cli *cli, const char *cwd, const char *file, bool *moved, err *e)
{
    *moved = false;
    if (cwd) {
        if (path_make_dirs(cwd, 0777, e) < 0)
            return NULL;
        return path_absolute(cwd, e);
    }
    AUTO_FREE char *path = path_absolute(file, e);
    if (!path)
        return NULL;
    AUTO_FREE char *folder = path_dirname(path);
    if (access(folder, W_OK) == 0)
        return STEAL(folder);
    AUTO_FREE char *own = folder_in_state(cli, path, e);
    AUTO_FD dir = own ? folder_open_path(own, 2, true, e) : -1;
    *moved = true;
    if (dir < 0) {
        err_wrap(
            e, "%s cannot be written, nor can the folder that replaces it; give --cwd", folder);
        return NULL;
    }
    return STEAL(own);
}

static bool has_runs(const char *folder)
{
    AUTO_FREE char *hidden = folder ? path_join(folder, ".firesteel") : NULL;
    return hidden && path_exists(hidden);
}

// The folders below the state folder with runs of notebooks of this folder; a strv, NULL: none.
static char **replaced_folders(struct cli *cli)
{
    char **found = NULL;
    DIR *dir = opendir(".");
    for (struct dirent *d; dir && (d = readdir(dir));) {
        if (!str_ends(d->d_name, ".lua") && !str_ends(d->d_name, ".ipynb"))
            continue;
        AUTO_FREE char *path = path_absolute(d->d_name, NULL);
        AUTO_FREE char *own = path ? folder_in_state(cli, path, NULL) : NULL;
        if (has_runs(own))
            found = strv_add(found, own);
    }
    if (dir)
        closedir(dir);
    return found;
}

// The folder of a notebook's file elsewhere, or the folder that replaces it, new; NULL: it has no
// runs, or this folder has some of the notebook.
static char *folder_of_notebook(struct cli *cli, const char *word)
{
    AUTO_FREE char *folder = path_dirname(word), *path = path_absolute(word, NULL);
    bool beside = has_runs(folder), closed = path && !beside && access(folder, W_OK) < 0;
    AUTO_FREE char *own = closed ? folder_in_state(cli, path, NULL) : NULL;
    if (!beside && !has_runs(own))
        return NULL;
    AUTO_FREE char *here = runs_pick(".", NULL, word, NULL);
    if (here || beside)
        return here ? NULL : STEAL(folder);
    say(stderr, "firesteel: %s cannot be written; its runs are in %s\n", folder, own);
    return STEAL(own);
}

char *cli_runs_folder(struct cli *cli, const char *cwd, const char *word)
{
    bool elsewhere = !cwd && word && strchr(word, '/') && runs_is_notebook(word);
    char *beside = elsewhere ? folder_of_notebook(cli, word) : NULL;
    if (beside)
        return beside;
    if (cwd || access(".", W_OK) == 0 || path_exists(".firesteel"))
        return mem_strdup(cwd ? cwd : ".");
    char **found = replaced_folders(cli), *folder = mem_strdup(".");
    if (found && !found[1]) {
        free(folder);
        folder = mem_strdup(found[0]);
        say(stderr, "firesteel: this folder cannot be written; its runs are in %s\n", folder);
    } else if (found) {
        AUTO_BUF all = {0};
        for (char **f = found; *f; f++)
            buf_fmt(&all, "%s%s", f == found ? "" : ", ", *f);
        say(stderr,
            "firesteel: this folder cannot be written; the runs of its notebooks are in %s: --cwd "
            "says which\n",
            buf_cstr(&all));
    }
    strv_free(found);
    return folder;
}

int cli_size(const char *text, size_t *size, err *e)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    unsigned shift = *end == 'G' ? 30 : *end == 'M' ? 20 : 0;
    if (!shift || end[1] || n == 0 || n > SIZE_MAX >> shift || end == text)
        return err_set(e, ERR_USAGE, "%s: a size is written like 512M or 4G", text);
    *size = (size_t)n << shift;
    return 0;
}

static char *home_kubeconfig(struct cli *cli)
{
    const char *home = cli_getenv(cli, "HOME");
    char *path = home ? path_join(home, ".kube/config") : NULL;
    if (path && !path_exists(path))
        free(STEAL(path));
    return path;
}

char *cli_kubeconfig_list(const char *list, const char *here)
{
    AUTO_BUF all = {0};
    for (const char *name = list;; name++) {
        size_t n = strcspn(name, ":");
        if (n && *name != '/')
            buf_fmt(&all, "%s/", here);
        buf_add(&all, name, n);
        name += n;
        if (!*name)
            return mem_strdup(buf_cstr(&all));
        buf_char(&all, ':');
    }
}

char *cli_kubeconfig(struct cli *cli, const char *here)
{
    const char *usual = cli_getenv(cli, "KUBECONFIG");
    return usual ? cli_kubeconfig_list(usual, here) : home_kubeconfig(cli);
}

int64_t cli_kept_memory(struct cli *cli)
{
    const char *text = cli_getenv(cli, "FIRESTEEL_KEPT_MEMORY");
    size_t bytes = memory_most("/") / 4;
    if (text)
        cli_size(text, &bytes, NULL);
    return (int64_t)bytes;
}
