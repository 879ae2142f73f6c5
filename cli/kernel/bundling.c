// SPDX-License-Identifier: MIT
#include "cli/kernel/bundling.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/bar.h"
#include "cli/places.h"
#include "cli/say.h"
#include "k8s/image/programs/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

// The folders of an installed tree, by meson's names. NULL as a name: it may be missing.
static const struct {
    enum bundle_kind kind;
    enum bundle_part part;
    const char *place;
    bool optional;
    const char *to; // NULL: to the same place
} own[] = {
    {BUNDLE_PROGRAM, BUNDLE_MAIN, BINDIR "/firesteel"},
    {BUNDLE_PROGRAM, BUNDLE_MAIN, LIBEXECDIR "/firesteel-kernel"},
    {BUNDLE_PROGRAM, BUNDLE_MAIN, LIBEXECDIR "/firesteel-sandbox"},
    {BUNDLE_PROGRAM, BUNDLE_MAIN, BINDIR "/firesteel-worker"},
    {BUNDLE_PLUGIN, BUNDLE_MAIN, LIBEXECDIR "/firesteel-dnn.so", true},
    {BUNDLE_PROGRAM, BUNDLE_JUPYTER, LIBEXECDIR "/firesteel-jupyter", true},
    {BUNDLE_PLUGIN, BUNDLE_MPI, LIBEXECDIR "/firesteel-mpi.so", true},
    {BUNDLE_TREE, BUNDLE_MAIN, DATADIR "/recipes"},
    {BUNDLE_TREE, BUNDLE_MAIN, DATADIR "/spark.py"},
    {BUNDLE_TREE, BUNDLE_MAIN, DATADIR "/python"},
    {BUNDLE_TREE, BUNDLE_MAIN, DATADIR "/data/sales"},
    {BUNDLE_TREE, BUNDLE_MNIST, DATADIR "/data/mnist"},
    {BUNDLE_TREE, BUNDLE_MAIN, SHAREDIR "/man/man1/firesteel.1"},
    {BUNDLE_TREE, BUNDLE_MAIN, SHAREDIR "/bash-completion/completions/firesteel"},
    {BUNDLE_TREE, BUNDLE_MAIN, SHAREDIR "/zsh/vendor-completions/_firesteel"},
    {BUNDLE_TREE, BUNDLE_MAIN, SHAREDIR "/fish/vendor_completions.d/firesteel.fish"},
    {BUNDLE_TREE, BUNDLE_MAIN, SHAREDIR "/doc/firesteel/LICENSE"},
    {BUNDLE_TREE, BUNDLE_MAIN, SHAREDIR "/doc/firesteel/CHANGELOG.md"},
    {BUNDLE_TREE, BUNDLE_MAIN, SHAREDIR "/doc/firesteel/bundle.txt"},
    {BUNDLE_TREE, BUNDLE_MAIN, SHAREDIR "/doc/firesteel/bundle.txt", .to = "README.txt"},
};

// Common terminals, for hosts whose terminfo does not have them.
static const char *const terminals[] = {"alacritty", "ansi", "cygwin", "dumb", "foot", "ghostty",
    "konsole-256color", "linux", "putty", "putty-256color", "rxvt", "rxvt-256color",
    "rxvt-unicode-256color", "screen", "screen-256color", "st-256color", "tmux", "tmux-256color",
    "vt100", "vt102", "vt220", "vte-256color", "wezterm", "xterm", "xterm-256color", "xterm-direct",
    "xterm-ghostty", "xterm-kitty"};

enum { LEVEL = 19, LEVEL_MOST = 22 }; // packed once, fetched often

struct files {
    struct bundle_file *list;
    size_t n;
};

// Takes the names.
static void add(struct files *f, enum bundle_kind kind, enum bundle_part part, char *from, char *to)
{
    f->list = mem_resize(f->list, f->n + 1, sizeof *f->list);
    f->list[f->n++] = (struct bundle_file){kind, part, from, to};
}

static void free_files(struct files *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->list[i].from);
        free(f->list[i].to);
    }
    free(f->list);
}

static const char *below_prefix(const char *place)
{
    return place + strlen(PREFIX "/");
}

static int add_own(struct files *f, err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        AUTO_FREE char *from = place_installed(own[i].place);
        if (path_exists(from))
            add(f, own[i].kind, own[i].part, STEAL(from),
                mem_strdup(own[i].to ? own[i].to : below_prefix(own[i].place)));
        else if (!own[i].optional)
            return err_set(e, ERR_NOT_FOUND,
                "%s is missing: `firesteel bundle` packs an installed tree; in a build folder it "
                "is `ninja bundle`",
                from);
    }
    return 0;
}

static void add_terminal(struct files *f, const char *name)
{
    AUTO_FREE char *mine = place_beside_loader("../share/terminfo");
    const char *const folders[] = {
        mine ? mine : "", "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        AUTO_FREE char *entry = str_fmt("%s/%c/%s", folders[i], *name, name);
        if (path_exists(entry)) {
            add(f, BUNDLE_TREE, BUNDLE_MAIN, path_absolute(entry, NULL),
                str_fmt("share/terminfo/%c/%s", *name, name));
            return;
        }
    }
}

// Adds what the host may lack: bubblewrap, a UTF-8 locale, terminals. Returns what was not found.
static const char *add_others(struct cli *cli, struct files *f)
{
    static const char *const bwraps[] = {"bwrap", LIBEXECDIR "/bwrap", NULL};
    AUTO_FREE char *bwrap = cli_find(cli, bwraps), *locale = place_beside_loader("locale/C.utf8");
    if (!locale)
        locale = mem_strdup("/usr/lib/locale/C.utf8");
    for (size_t i = 0; i < ARRAY_LEN(terminals); i++)
        add_terminal(f, terminals[i]);
    bool has_locale = path_exists(locale), has_bwrap = bwrap;
    if (has_locale)
        add(f, BUNDLE_TREE, BUNDLE_MAIN, STEAL(locale), mem_strdup("lib/locale/C.utf8"));
    if (has_bwrap)
        add(f, BUNDLE_FOREIGN, BUNDLE_MAIN, STEAL(bwrap),
            mem_strdup(below_prefix(LIBEXECDIR "/bwrap")));
    return !has_bwrap ? "bubblewrap is not installed, so that pods of images will need the host's"
           : !has_locale
               ? "/usr/lib/locale/C.utf8 is missing, so that UTF-8 will need the host's locale"
               : NULL;
}

// For a bundle that runs: the licences of its libraries are in it, and the system on which it was
// made is elsewhere.
static void add_licenses(struct files *f)
{
    AUTO_FREE char *folder = place_beside_loader("../share/doc/firesteel/licenses");
    if (folder)
        add(f, BUNDLE_TREE, BUNDLE_MAIN, STEAL(folder), mem_strdup("share/doc/firesteel/licenses"));
}

static int64_t entry_time(struct cli *cli, err *e)
{
    const char *text = cli_getenv(cli, "SOURCE_DATE_EPOCH");
    int64_t seconds = 0;
    if (text && (!str_to_int(text, &seconds) || seconds < 0))
        return err_set(e, ERR_USAGE, "SOURCE_DATE_EPOCH is no number of seconds: %s", text);
    return seconds;
}

static void tell(const char *folder, const char *missing, char *const *unknown)
{
    AUTO_FREE char *sums = path_join(folder, "SHA256SUMS");
    AUTO_BUF text = {0};
    if (missing)
        say(stderr, "firesteel: %s\n", missing);
    AUTO_FREE char *licenses = place_beside_loader("../share/doc/firesteel/licenses");
    for (; *unknown && !licenses; unknown++)
        say(stderr, "firesteel: no licence is known of %s\n", *unknown);
    if (path_read(sums, &text, 0, NULL) == 0)
        say(stdout, "%s", buf_cstr(&text));
}

static int pack(struct cli *cli, struct files *f, const char *folder, int level, err *e)
{
    struct utsname machine;
    uname(&machine);
    int64_t seconds = entry_time(cli, e);
    if (level > LEVEL_MOST)
        return err_set(
            e, ERR_USAGE, "--level %d: levels of compression go from 1 to %d", level, LEVEL_MOST);
    if (seconds < 0 || add_own(f, e))
        return -1;
    const char *missing = add_others(cli, f);
    add_licenses(f);
    AUTO_FREE char *name = str_fmt("firesteel-" FIRESTEEL_VERSION "-linux-%s", machine.machine);
    char **unknown = NULL;
    own_work *work = own_work_begin(cli, "bundle", WORK_BYTES, "archives");
    own_work_survives(work);
    int status = bundle_write(&(struct bundle_spec){name, f->list, f->n, seconds,
                                  level ? level : LEVEL, own_work_watch(work)},
        folder, &unknown, e);
    own_work_end(work);
    if (status == 0)
        tell(folder, missing, unknown);
    strv_free(unknown);
    return status;
}

int bundling_run(struct cli *cli, const char *folder, int level)
{
    struct files f = {0};
    err e = {0};
    int status = pack(cli, &f, folder, level, &e);
    free_files(&f);
    return status ? cli_error(cli, &e) : 0;
}
